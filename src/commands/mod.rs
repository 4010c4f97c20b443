//! What a person runs by hand, beside the wire.
//!
//! May use: proto, story, rules, cluster, model, wait.

#[cfg(feature = "demo")]
pub mod demo;
#[cfg(feature = "demo")]
pub mod launch;
