//! A stateful in-memory Kubernetes API with a snapshot controller, a csi-snapshotter and a storage of programmable latency.
//!
//! [`KubeApi`] is one cluster. It is a [`tower::Service`], so it goes under `kube::Client::new` and then runs on tokio's (pausable) clock;
//! [`KubeApi::serve`] puts the same cluster on loopback HTTP. [`seed`] makes the objects that tests start from, [`Fault`] says what goes
//! wrong, [`KubeApi::requests`] what was asked. Unknown paths and query parameters are recorded failures, [`KubeApi::unexpected_requests`].

mod api;
mod body;
mod clock;
mod controller;
mod discovery;
mod fault;
mod json;
mod record;
mod request;
mod resources;
pub mod seed;
mod selector;
mod serve;
mod service;
mod status;
mod storage;
mod store;
mod validate;
mod verbs;
mod watching;

pub use api::KubeApi;
pub use body::ApiBody;
pub use clock::Clock;
pub use controller::{ControllerOptions, Limit, SnapshotController};
pub use fault::{Answer, Fault, FaultId, Matcher, When};
pub use json::go_json;
pub use record::Recorded;
pub use resources::{RESOURCES, Resource};
pub use serve::{Served, kubeconfig_yaml};
pub use status::Status;
pub use storage::{DriverError, Storage, StorageCall, StoredSnapshot};

/// The user whom [`Fault::forbidden`] names.
pub const USER: &str = "system:serviceaccount:velero:velero";
