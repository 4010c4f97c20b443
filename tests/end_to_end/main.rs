//! The real binary as Velero's child, with a real kubeconfig, against a cluster on loopback.

#![cfg(feature = "demo")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::unchecked_time_subtraction,
    reason = "a test ends at the first thing that is not as expected"
)]

#[path = "../support/mod.rs"]
mod support;

mod answer;
mod configuration;
mod ending;
mod faults;
mod install;
mod proxy;
mod tls;
mod world;
