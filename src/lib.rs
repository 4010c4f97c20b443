//! placeholder
pub mod wait;
