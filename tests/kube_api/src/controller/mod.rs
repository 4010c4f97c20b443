//! A model of external-snapshotter 8.6: the snapshot-controller and the csi-snapshotter sidecar, driven by changes of objects.
//!
//! Read from its sources; what is left out: pre-provisioned contents, groups, secrets, leader election. Work of these two goes past
//! the record and the faults of the API.

mod common;
mod content;
mod limit;
mod marks;
mod queue;
mod sidecar;

use std::{future::Future, sync::Arc, time::Duration};

pub use limit::Limit;
use tokio::task::{JoinHandle, JoinSet};

use crate::{
    api::KubeApi,
    resources::{CONTENTS, SNAPSHOTS},
    storage::Storage,
    store::{Change, Key},
};

/// How the two controllers behave. The default is quick and faithful: no delays, no limits.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// The content is made this long after the VolumeSnapshot has been seen, unless it is deleted before.
    pub bind_delay: Duration,
    /// The first finalizer comes this long after the VolumeSnapshot has been seen; one that is deleted before goes at once.
    pub finalizer_delay: Duration,
    /// The controller has decided at once to make the content, and makes it after this long, whatever has been deleted meanwhile.
    pub late_bind: Option<Duration>,
    /// The content's finalizer comes this long after the content.
    pub content_finalizer_delay: Duration,
    /// The snapshot-controller acts on the deletion policy as it was this long ago.
    pub stale_cache: Duration,
    /// Request limit of the snapshot-controller.
    pub controller_limit: Option<Limit>,
    /// Request limit of the sidecar.
    pub sidecar_limit: Option<Limit>,
    /// The sidecar's `--timeout`: how long it waits for one call of the driver.
    pub csi_timeout: Duration,
    /// Workers of each of the two.
    pub workers: usize,
    /// All objects are looked at again this often.
    pub resync: Duration,
    /// A deletion that came while the driver was at work is not seen before the next change from outside or the resync: the
    /// sidecar's second look meets a cache that is behind, and it does not look a third time.
    pub lost_requeue: bool,
    /// The sidecar serves only these drivers; all when empty.
    pub drivers: Vec<String>,
}

impl Default for ControllerOptions {
    fn default() -> Self {
        Self {
            bind_delay: Duration::ZERO,
            finalizer_delay: Duration::ZERO,
            late_bind: None,
            content_finalizer_delay: Duration::ZERO,
            stale_cache: Duration::ZERO,
            controller_limit: None,
            sidecar_limit: None,
            csi_timeout: Duration::from_mins(1),
            workers: 10,
            resync: Duration::from_mins(15),
            lost_requeue: false,
            drivers: Vec::new(),
        }
    }
}

/// The running controllers and their storage. They run on when this is dropped.
#[derive(Debug)]
pub struct SnapshotController {
    /// The storage behind the sidecar.
    pub storage: Storage,
    common: JoinHandle<()>,
    sidecar: JoinHandle<()>,
}

impl SnapshotController {
    /// Both controllers die; the storage goes on with what it has begun.
    pub fn stop(&self) {
        self.common.abort();
        self.sidecar.abort();
    }

    /// Only the sidecar dies.
    pub fn stop_sidecar(&self) {
        self.sidecar.abort();
    }
}

impl KubeApi {
    /// Starts a snapshot-controller, a sidecar and their storage, which takes no time until it is told otherwise.
    pub fn with_snapshot_controller(&self, options: ControllerOptions) -> SnapshotController {
        self.with_snapshot_controller_on(Storage::new(self.clock()), options)
    }

    /// The same in front of a storage that is there already: controllers that come back after [`SnapshotController::stop`].
    pub fn with_snapshot_controller_on(
        &self,
        storage: Storage,
        options: ControllerOptions,
    ) -> SnapshotController {
        let options = Arc::new(options);
        let common = Arc::new(common::Common::new(self.clone(), Arc::clone(&options)));
        let sidecar = Arc::new(sidecar::Sidecar::new(
            self.clone(),
            storage.clone(),
            options,
        ));
        SnapshotController {
            storage,
            common: tokio::spawn(common.run()),
            sidecar: tokio::spawn(sidecar.run()),
        }
    }
}

/// Runs so many workers, a feed of changes and a resync, until it is aborted.
async fn run_all<W, F>(
    workers: usize,
    work: impl Fn() -> W,
    feed: F,
    resync: Duration,
    again: impl Fn(),
) where
    W: Future<Output = ()> + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    tasks.spawn(feed);
    for _ in 0..workers.max(1) {
        tasks.spawn(work());
    }
    loop {
        tokio::time::sleep(resync).await;
        again();
    }
}

/// Calls `each` with every change from the beginning on.
async fn follow(api: KubeApi, mut each: impl FnMut(&Change)) {
    let mut changed = api.store(|store| store.subscribe());
    let mut seen = 0;
    loop {
        changed.mark_unchanged();
        for change in api
            .store(|store| store.changes_since(seen))
            .unwrap_or_default()
        {
            seen = change.version;
            each(&change);
        }
        seen = seen.max(*changed.borrow());
        // The sender lives as long as this handle does.
        let _ = changed.changed().await;
    }
}

fn keys(api: &KubeApi, plural: &str) -> Vec<Key> {
    api.store(|store| {
        store
            .list(plural, "")
            .into_iter()
            .map(|(key, _)| key.clone())
            .collect()
    })
}

fn snapshot_key(namespace: &str, name: &str) -> Key {
    Key::new(&SNAPSHOTS, namespace, name)
}

fn content_key(name: &str) -> Key {
    Key::new(&CONTENTS, "", name)
}
