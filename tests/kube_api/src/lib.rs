//! A stateful in-memory Kubernetes API with a snapshot controller, a csi-snapshotter and a storage of programmable latency.
//!
//! [`KubeApi`] is one cluster. It is a [`tower::Service`], so it goes under `kube::Client::new` and then runs on tokio's (pausable) clock;
//! [`KubeApi::serve`] puts the same cluster on loopback HTTP. [`seed`] makes the objects that tests start from, [`Fault`] says what goes
//! wrong, [`KubeApi::requests`] what was asked. Unknown paths and query parameters are recorded failures, [`KubeApi::unexpected_requests`].
//!
//! Under the client, on the paused clock:
//!
//! ```
//! # use std::time::Duration;
//! # use kube_api::{ControllerOptions, Fault, KubeApi, Matcher, When, seed};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let api = KubeApi::new();
//! seed::csi_volume(&api, "app", "data", "csi.test", "1Gi");
//! seed::snapshot_class(&api, "snap", "csi.test", "Delete", &[], &[]);
//! let controller = api.with_snapshot_controller(ControllerOptions::default());
//! controller.storage.latency(Duration::from_millis(1200));
//! api.fault(Matcher::on("get", "volumesnapshots"), Fault::internal("etcdserver: leader changed"), When::once());
//! let client = kube::Client::new(api.clone(), "default");
//! # let _ = client;
//! # }
//! ```
//!
//! On loopback, for a process that reads `KUBECONFIG`:
//!
//! ```
//! # use kube_api::KubeApi;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let api = KubeApi::new();
//! let mut served = api.serve().await?;
//! let kubeconfig = served.kubeconfig();
//! served.stop().await; // refuses and kills connections
//! served.start().await // the same port again
//! # }
//! ```

mod api;
mod body;
mod clock;
mod controller;
mod discovery;
mod fault;
mod fault_rules;
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
pub use fault::{Answer, Fault};
pub use fault_rules::{FaultId, Matcher, When};
pub use json::go_json;
pub use record::Recorded;
pub use resources::{RESOURCES, Resource};
pub use serve::{Served, kubeconfig_yaml};
pub use status::Status;
pub use storage::{DriverError, Storage, StorageCall, StoredSnapshot};

/// The user whom [`Fault::forbidden`] names.
pub const USER: &str = "system:serviceaccount:velero:velero";
