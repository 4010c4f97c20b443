//! A storage with a CSI driver in front: snapshots that take as long as the test says, fail, hang, or come late.
//!
//! As with a real storage, giving up a call does not stop the work: the snapshot is there when it is done, and the next call of
//! the same name finds it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use crate::clock::Clock;

/// Restore size of a volume that nobody gave one: 1 GiB.
const DEFAULT_SIZE: i64 = 1 << 30;

/// The handle on the storage. Clones are the same storage.
#[derive(Clone, Debug)]
pub struct Storage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    state: Mutex<State>,
    /// Counts changes, so that waiting work looks again.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    latency: Duration,
    delete_latency: Duration,
    ready_after: Duration,
    latencies: HashMap<String, Duration>,
    sizes: HashMap<String, i64>,
    hanging: bool,
    hanging_volumes: HashSet<String>,
    failures: Vec<Failure>,
    delete_failures: Vec<Failure>,
    snapshots: Vec<StoredSnapshot>,
    made: usize,
    working: HashSet<String>,
    calls: Vec<StorageCall>,
}

/// A snapshot in the storage.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSnapshot {
    /// `snap-<number>`, numbered from 1.
    pub handle: String,
    /// The name that the sidecar asked for, `snapshot-<UID of the VolumeSnapshot>`.
    pub name: String,
    /// Handle of the volume.
    pub volume: String,
    /// Bytes.
    pub size: i64,
    /// When the storage made the cut, since the cluster's start.
    pub cut_at: Duration,
    /// The same as nanoseconds since 1970.
    pub creation_time: i64,
    /// From when on it can be restored from.
    pub ready_at: Duration,
}

/// One call of the driver.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageCall {
    /// When it came, since the cluster's start.
    pub at: Duration,
    /// `CreateSnapshot` or `DeleteSnapshot`.
    pub what: &'static str,
    /// The snapshot's name, or its handle when it is deleted.
    pub snapshot: String,
}

/// What a driver answers when it fails.
#[derive(Clone, Debug, PartialEq)]
pub struct DriverError {
    /// gRPC code as Go prints it, such as `Internal` or `DeadlineExceeded`.
    pub code: &'static str,
    /// Its text.
    pub message: String,
}

impl DriverError {
    /// An error of a code.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Whether the sidecar takes the call for over; after the other codes the work may still go on.
    pub fn is_final(&self) -> bool {
        !matches!(
            self.code,
            "Canceled" | "DeadlineExceeded" | "Unavailable" | "ResourceExhausted" | "Aborted"
        )
    }
}

impl std::fmt::Display for DriverError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "rpc error: code = {} desc = {}",
            self.code, self.message
        )
    }
}

#[derive(Clone, Debug)]
struct Failure {
    /// Empty: any.
    volume: String,
    times: usize,
    error: DriverError,
    /// The snapshot is made all the same, this long after the call.
    cut_after: Option<Duration>,
}

impl Storage {
    pub(crate) fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner {
            clock,
            state: Mutex::default(),
            changed: watch::Sender::new(0),
        }))
    }

    /// How long a snapshot takes; also of those being made when nothing has been said about their volume. Zero from the start.
    pub fn latency(&self, latency: Duration) {
        self.set(|state| state.latency = latency);
    }

    /// How long a snapshot of this volume takes; a PVC's volume has the handle [`crate::seed::volume_handle`].
    pub fn latency_of(&self, volume: &str, latency: Duration) {
        self.set(|state| state.latencies.insert(volume.to_owned(), latency));
    }

    /// How long a deletion takes.
    pub fn delete_latency(&self, latency: Duration) {
        self.set(|state| state.delete_latency = latency);
    }

    /// How long after the cut a snapshot becomes ready to use (an upload, say); the handle is there at once.
    pub fn ready_after(&self, time: Duration) {
        self.set(|state| state.ready_after = time);
    }

    /// Restore size of a volume, in bytes.
    pub fn restore_size(&self, volume: &str, bytes: i64) {
        self.set(|state| state.sizes.insert(volume.to_owned(), bytes));
    }

    /// The next `times` calls fail with `Internal`, after the latency, without a snapshot.
    pub fn fail(&self, times: usize, message: &str) {
        self.fail_with("", times, DriverError::new("Internal", message));
    }

    /// The next `times` calls for this volume (empty: any) fail.
    pub fn fail_with(&self, volume: &str, times: usize, error: DriverError) {
        self.add_failure(volume, times, error, None);
    }

    /// The next call for this volume (empty: any) fails after the latency, but its snapshot appears `cut_after` the call came.
    pub fn late_cut(&self, volume: &str, error: DriverError, cut_after: Duration) {
        self.add_failure(volume, 1, error, Some(cut_after));
    }

    /// The next `times` deletions fail.
    pub fn fail_deletes(&self, times: usize, message: &str) {
        let failure = Failure {
            volume: String::new(),
            times,
            error: DriverError::new("Internal", message),
            cut_after: None,
        };
        self.set(|state| state.delete_failures.push(failure));
    }

    /// No snapshot gets done until [`Storage::release`].
    pub fn hang(&self) {
        self.set(|state| state.hanging = true);
    }

    /// No snapshot of this volume gets done until [`Storage::release`].
    pub fn hang_volume(&self, volume: &str) {
        self.set(|state| state.hanging_volumes.insert(volume.to_owned()));
    }

    /// Hanging work is done at once, if its latency is over.
    pub fn release(&self) {
        self.set(|state| {
            state.hanging = false;
            state.hanging_volumes.clear();
        });
    }

    /// The snapshots that are there now, in the order they were made.
    pub fn snapshots(&self) -> Vec<StoredSnapshot> {
        self.state().snapshots.clone()
    }

    /// Handles of [`Storage::snapshots`].
    pub fn handles(&self) -> Vec<String> {
        self.state()
            .snapshots
            .iter()
            .map(|snapshot| snapshot.handle.clone())
            .collect()
    }

    /// All calls so far.
    pub fn calls(&self) -> Vec<StorageCall> {
        self.state().calls.clone()
    }

    /// Whether a snapshot is still being made, given up by its caller or not.
    pub fn is_working(&self) -> bool {
        !self.state().working.is_empty()
    }

    /// `CreateSnapshot`: makes a snapshot, or finds the one of that name. Dropping the call does not stop the work.
    pub(crate) async fn create(
        &self,
        name: &str,
        volume: &str,
    ) -> Result<StoredSnapshot, DriverError> {
        let failure = {
            let mut state = self.state();
            let at = self.0.clock.elapsed();
            state.calls.push(StorageCall {
                at,
                what: "CreateSnapshot",
                snapshot: name.to_owned(),
            });
            match state.find(name) {
                Some(found) => return Ok(found),
                None if state.working.contains(name) => None,
                None => take(&mut state.failures, volume),
            }
        };
        let Some(failure) = failure else {
            self.start(name, volume, None);
            return Ok(self.wait_for(|state| state.find(name)).await);
        };
        if let Some(after) = failure.cut_after {
            self.start(name, volume, Some(after));
        }
        self.wait_until_due(volume, None).await;
        Err(failure.error)
    }

    /// `DeleteSnapshot`; what is not there is deleted.
    pub(crate) async fn delete(&self, handle: &str) -> Result<(), DriverError> {
        let (latency, failure) = {
            let mut state = self.state();
            let at = self.0.clock.elapsed();
            state.calls.push(StorageCall {
                at,
                what: "DeleteSnapshot",
                snapshot: handle.to_owned(),
            });
            (state.delete_latency, take(&mut state.delete_failures, ""))
        };
        tokio::time::sleep(latency).await;
        if let Some(failure) = failure {
            return Err(failure.error);
        }
        self.set(|state| {
            state.snapshots.retain(|snapshot| snapshot.handle != handle);
        });
        Ok(())
    }

    /// Whether a snapshot can be restored from by now.
    pub(crate) fn is_ready(&self, snapshot: &StoredSnapshot) -> bool {
        self.0.clock.elapsed() >= snapshot.ready_at
    }

    /// Starts the work, unless it is under way. `after` is instead of the latency, and such work does not hang.
    fn start(&self, name: &str, volume: &str, after: Option<Duration>) {
        if !self.state().working.insert(name.to_owned()) {
            return;
        }
        let (storage, name, volume) = (self.clone(), name.to_owned(), volume.to_owned());
        tokio::spawn(async move {
            storage.wait_until_due(&volume, after).await;
            let cut_at = storage.0.clock.elapsed();
            let creation_time = storage.0.clock.unix_nanos();
            storage.set(|state| {
                state.working.remove(&name);
                state.made += 1;
                let size = state.sizes.get(&volume).copied().unwrap_or(DEFAULT_SIZE);
                let ready_at = cut_at + state.ready_after;
                let handle = format!("snap-{}", state.made);
                state.snapshots.push(StoredSnapshot {
                    handle,
                    name,
                    volume,
                    size,
                    cut_at,
                    creation_time,
                    ready_at,
                });
            });
        });
    }

    /// Ends when a snapshot that is begun now is due: after the volume's latency as it is then, and not while it hangs.
    async fn wait_until_due(&self, volume: &str, after: Option<Duration>) {
        let begun = self.0.clock.elapsed();
        let mut changed = self.0.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let (due, hangs) = {
                let state = self.state();
                let latency = state
                    .latencies
                    .get(volume)
                    .copied()
                    .unwrap_or(state.latency);
                let hangs = state.hanging || state.hanging_volumes.contains(volume);
                (begun + after.unwrap_or(latency), hangs && after.is_none())
            };
            if !hangs && self.0.clock.elapsed() >= due {
                return;
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(self.0.clock.at(due)), if !hangs => {}
            }
        }
    }

    async fn wait_for<T>(&self, mut found: impl FnMut(&State) -> Option<T>) -> T {
        let mut changed = self.0.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if let Some(value) = found(&self.state()) {
                return value;
            }
            // The sender lives as long as this handle does.
            let _ = changed.changed().await;
        }
    }

    fn add_failure(
        &self,
        volume: &str,
        times: usize,
        error: DriverError,
        cut_after: Option<Duration>,
    ) {
        let failure = Failure {
            volume: volume.to_owned(),
            times,
            error,
            cut_after,
        };
        if times > 0 {
            self.set(|state| state.failures.push(failure));
        }
    }

    fn set<T>(&self, change: impl FnOnce(&mut State) -> T) {
        change(&mut self.state());
        self.0.changed.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn find(&self, name: &str) -> Option<StoredSnapshot> {
        self.snapshots
            .iter()
            .find(|snapshot| snapshot.name == name)
            .cloned()
    }
}

fn take(failures: &mut Vec<Failure>, volume: &str) -> Option<Failure> {
    let wanted = |failure: &Failure| failure.volume.is_empty() || failure.volume == volume;
    let found = failures.iter_mut().find(|failure| wanted(failure))?;
    found.times = found.times.saturating_sub(1);
    let taken = found.clone();
    failures.retain(|failure| failure.times > 0);
    Some(taken)
}
