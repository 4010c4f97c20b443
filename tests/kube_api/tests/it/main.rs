//! The API as the real Kubernetes client sees it.

mod faults;
mod loopback;
mod rest;
mod snapshots;
mod support;
