//! What we ask Kubernetes: requests, their limits and what their answers mean.
//!
//! Everything above sees objects and [`ApiError`]s; only this layer knows the client. May use: model,
//! wait.

mod answer;
mod call;
mod client;
mod error;
mod grace;
mod request;
mod snapshots;
mod volumes;

pub use call::{Cluster, Limits};
pub use client::ClientSource;
pub use error::{ApiError, Fault};
pub use grace::Grace;
pub use request::{Call, Kind, Verb};
pub use snapshots::Deleted;
