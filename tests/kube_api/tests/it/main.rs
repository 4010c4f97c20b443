//! The API as the real Kubernetes client sees it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod faults;
mod loopback;
mod rest;
mod snapshots;
mod support;
