//! What the demo has measured, as data: the JSON document, and what the tables are made of.
//!
//! Times are whole microseconds in JSON, so that nothing is rounded away. Pure.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::arguments::Arguments;

/// Windows VSS thaws the guest by itself after this time, whether the snapshots are there or not.
pub const THAW: Duration = Duration::from_secs(10);

/// The whole demo.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The plugin's version.
    pub version: &'static str,
    /// Volumes of the virtual machine.
    pub volumes: u32,
    /// What the storage needs for a snapshot.
    #[serde(rename = "latency_us", serialize_with = "micros")]
    pub latency: Duration,
    /// What the snapshot controller needs before that.
    #[serde(rename = "bind_latency_us", serialize_with = "micros")]
    pub bind_latency: Duration,
    /// See [`THAW`].
    #[serde(rename = "thaw_us", serialize_with = "micros")]
    pub thaw: Duration,
    /// One backup each.
    pub strategies: Vec<Outcome>,
}

/// One backup with one strategy.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The strategy.
    pub strategy: &'static str,
    /// When the plugin looks, in its own words.
    pub looks_at: String,
    /// From the first Execute's start to the last one's answer: the guest is frozen.
    #[serde(rename = "window_us", serialize_with = "micros")]
    pub window: Duration,
    /// The guest was still frozen when the last snapshot was known to be cut.
    pub in_time: bool,
    /// From the plugin's start to its handshake line.
    #[serde(rename = "handshake_us", serialize_with = "micros")]
    pub handshake: Duration,
    /// API requests before the freeze.
    pub warm_up_requests: usize,
    /// API requests in the window.
    pub requests: usize,
    /// The plugin's exit status.
    pub exit_status: Option<i32>,
    /// In the order in which they were backed up.
    pub volumes: Vec<Volume>,
}

/// One PVC of one backup. Times after `created_at` count from there.
#[derive(Clone, Debug, Serialize)]
pub struct Volume {
    /// The PVC.
    pub pvc: String,
    /// Its VolumeSnapshot.
    #[serde(rename = "volume_snapshot")]
    pub snapshot: String,
    /// Its content.
    pub content: String,
    /// The storage's name for the snapshot.
    pub handle: String,
    /// The API got the VolumeSnapshot, since the start of the window.
    #[serde(rename = "created_at_us", serialize_with = "micros")]
    pub created_at: Duration,
    /// The storage had cut the snapshot.
    #[serde(rename = "cut_after_us", serialize_with = "micros")]
    pub cut_after: Duration,
    /// The plugin saw the VolumeSnapshot bound, by its log.
    #[serde(rename = "bound_after_us", serialize_with = "micros")]
    pub bound_after: Duration,
    /// The plugin saw the handle, by its log.
    #[serde(rename = "handle_after_us", serialize_with = "micros")]
    pub handle_after: Duration,
    /// Execute, from the call to the answer.
    #[serde(rename = "execute_us", serialize_with = "micros")]
    pub execute: Duration,
    /// How often the plugin looked, by its log.
    pub looks: u64,
    /// API requests during its Execute.
    pub requests: usize,
}

impl Report {
    /// Nothing measured yet.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            volumes: arguments.volumes,
            latency: arguments.latency,
            bind_latency: arguments.bind_latency,
            thaw: THAW,
            strategies: Vec::new(),
        }
    }

    /// What no strategy can go below: one volume after the other, each as long as its storage needs.
    pub fn storage_time(&self) -> Duration {
        self.latency
            .saturating_add(self.bind_latency)
            .saturating_mul(self.volumes)
    }
}

impl Outcome {
    /// How long snapshots were cut already while the plugin had not seen it, in all.
    pub fn unseen(&self) -> Duration {
        self.volumes
            .iter()
            .map(|volume| volume.handle_after.saturating_sub(volume.cut_after))
            .sum()
    }
}

fn micros<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
