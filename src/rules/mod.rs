//! What we decide: pure functions over what was read.
//!
//! May use: model. No async, no client, no clock, no environment, no log.

pub mod cadence;
pub mod readiness;
