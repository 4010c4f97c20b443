//! Taking back what a failed call has made: the VolumeSnapshot, its content, the storage's snapshot.
//!
//! The storage's snapshot goes only through the csi-snapshotter, and only if the content has policy
//! Delete, a deletionTimestamp and the annotation that the snapshot-controller sets when it sees the
//! VolumeSnapshot go. Controllers work on caches: they may act on a stale Retain, miss a VolumeSnapshot
//! that went before they saw it, or write the content after its VolumeSnapshot was deleted (W-12, W-13,
//! F87). So each look puts right whatever mark is missing, until both objects are gone. May use: cluster,
//! model, wait.

use std::time::Duration;

use serde_json::json;

use super::snapshot::Made;
use crate::cluster::{ApiError, Cluster, Fault, Limits};
use crate::model::go_duration;
use crate::model::snapshot::VolumeSnapshotContent;
use crate::rules::content_marks::{ANNOTATION_UNDO, is_being_made, marks};
use crate::wait::{self, Interrupt, Look, Looker, Seen, Stopwatch};

/// Longest undo; with the second that a last look gets, 30 s.
const LIMIT: Duration = Duration::from_secs(29);
/// Longest undo and the second of its last look.
pub const LONGEST: Duration = Duration::from_secs(30);
/// Longest undo once the process is told to stop: Velero kills it 2 s after Shutdown (T10).
const LIMIT_AT_STOP: Duration = Duration::from_millis(1_300);
/// Distance of two looks.
const INTERVAL: Duration = Duration::from_millis(250);
/// What one look may spend on the wire.
const LOOK: Duration = Duration::from_secs(5);
/// A content may be written this long after a VolumeSnapshot that no controller had finished with.
const LATE_CONTENT: Duration = Duration::from_secs(3);
/// Definite refusals after which trying on is pointless.
const REFUSALS: u32 = 3;

/// Takes `made` back, and says what it could not: one Info when all is gone, one Warn otherwise.
pub async fn take_back(cluster: &Cluster, made: &Made, interrupt: &Interrupt) {
    let started = Stopwatch::start();
    let mut undo = Undo::new(cluster, made, started);
    let every = |elapsed: Option<Duration>| (next_tick(elapsed), LOOK);
    // The caller is not heard: only the end of the process may end an undo.
    let deaf = Interrupt::default();
    {
        let looks = wait::until(started, LIMIT, every, &deaf, &mut undo);
        let stop = async {
            interrupt.stopped().await;
            wait::pause(LIMIT_AT_STOP).await;
        };
        tokio::select! {
            _ = looks => {}
            () = stop => {}
        }
    }
    undo.report();
}

fn next_tick(elapsed: Option<Duration>) -> Duration {
    let Some(elapsed) = elapsed else {
        return Duration::ZERO;
    };
    let ticks = elapsed.as_millis() / INTERVAL.as_millis().max(1);
    INTERVAL.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX).saturating_add(1))
}

struct Undo<'a> {
    started: Stopwatch,
    cluster: &'a Cluster,
    made: &'a Made,
    uid: Option<String>,
    snapshot: SnapshotEnd,
    /// The VolumeSnapshot vanished at its DELETE, so no controller had put a finalizer on it.
    untouched: bool,
    content: ContentEnd,
    refused: u32,
    trouble: Option<String>,
    touches: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SnapshotEnd {
    Unknown,
    Deleting,
    /// Since when, from the start of the undo.
    Gone(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ContentEnd {
    Unknown,
    Absent,
    Present { name: String, state: &'static str },
}

impl Looker for Undo<'_> {
    type Found = ();

    async fn look(&mut self, look: Look) -> Seen<()> {
        self.round(&Limits::from(look)).await
    }
}

impl<'a> Undo<'a> {
    fn new(cluster: &'a Cluster, made: &'a Made, started: Stopwatch) -> Self {
        Self {
            started,
            cluster,
            made,
            uid: made.uid.clone(),
            snapshot: SnapshotEnd::Unknown,
            untouched: false,
            content: ContentEnd::Unknown,
            refused: 0,
            trouble: None,
            touches: 0,
        }
    }

    async fn round(&mut self, limits: &Limits) -> Seen<()> {
        match self.step(limits).await {
            Ok(true) => return Seen::Done(()),
            Ok(false) => {}
            Err(error) => {
                let definite = match error.fault {
                    Fault::Conflict(_) | Fault::Unauthorized(_) => false,
                    // An API server that comes up refuses what it will grant in a moment.
                    Fault::Forbidden(_) => self.cluster.is_ready(limits).await,
                    _ => !error.is_transient(),
                };
                self.refused = if definite {
                    self.refused.saturating_add(1)
                } else {
                    0
                };
                let text = error.to_string();
                if self.trouble.as_ref() != Some(&text) {
                    tracing::info!(error = text, "a step of the undo failed, going on");
                }
                self.trouble = Some(text);
                if self.refused >= REFUSALS {
                    return Seen::Done(());
                }
            }
        }
        Seen::NotYet
    }

    /// One round; true when everything is known to be gone.
    async fn step(&mut self, limits: &Limits) -> Result<bool, ApiError> {
        let Some(uid) = self.learn_uid(limits).await? else {
            // A create whose answer was lost may still arrive; its labels tell whose it is.
            return Ok(
                matches!(self.snapshot, SnapshotEnd::Gone(since) if self.started.elapsed() >= since + LATE_CONTENT),
            );
        };
        let gone_before = matches!(self.snapshot, SnapshotEnd::Gone(_));
        let asked_before = self.snapshot != SnapshotEnd::Unknown;
        let name = format!("snapcontent-{uid}");
        let marked = self.mark_content(&name, asked_before, limits).await;
        // A content that cannot be marked must not keep the VolumeSnapshot alive.
        self.delete_snapshot(&uid, limits).await?;
        if let Some(content) = marked? {
            self.delete_content(&content, limits).await?;
        }
        let SnapshotEnd::Gone(since) = self.snapshot else {
            return Ok(false);
        };
        let settled =
            !self.untouched || self.started.elapsed() >= since.saturating_add(LATE_CONTENT);
        Ok(gone_before && settled && self.content == ContentEnd::Absent)
    }

    /// The UID of what was made; read by name when the create's answer was lost.
    async fn learn_uid(&mut self, limits: &Limits) -> Result<Option<String>, ApiError> {
        if self.uid.is_some() {
            return Ok(self.uid.clone());
        }
        match self
            .cluster
            .snapshot(&self.made.namespace, &self.made.name, limits)
            .await
        {
            Ok(snapshot) if self.made.is(&snapshot) => {
                // It may have arrived after an earlier look had missed it.
                self.snapshot = SnapshotEnd::Unknown;
                self.uid = Some(snapshot.metadata.uid);
            }
            Ok(_) => self.snapshot_gone(),
            Err(error) if error.is_not_found() => self.snapshot_gone(),
            Err(error) => return Err(error),
        }
        Ok(self.uid.clone())
    }

    async fn delete_snapshot(&mut self, uid: &str, limits: &Limits) -> Result<(), ApiError> {
        let Made {
            namespace, name, ..
        } = self.made;
        let ended = match self.snapshot {
            SnapshotEnd::Gone(_) => return Ok(()),
            SnapshotEnd::Unknown => self
                .cluster
                .delete_snapshot(namespace, name, uid, limits)
                .await
                .map(|deleted| {
                    self.untouched = deleted.at_once;
                    deleted.at_once
                }),
            SnapshotEnd::Deleting => self
                .cluster
                .snapshot(namespace, name, limits)
                .await
                .map(|snapshot| snapshot.metadata.uid != uid),
        };
        match ended {
            Ok(false) => self.snapshot = SnapshotEnd::Deleting,
            Ok(true) => self.snapshot_gone(),
            Err(error) if error.is_not_found() => self.snapshot_gone(),
            // The precondition failed: another VolumeSnapshot has the name, ours is gone (F91).
            Err(error) if matches!(error.fault, Fault::Conflict(_)) => self.snapshot_gone(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn snapshot_gone(&mut self) {
        if !matches!(self.snapshot, SnapshotEnd::Gone(_)) {
            self.snapshot = SnapshotEnd::Gone(self.started.elapsed());
        }
    }

    /// Puts every mark on the content that lets the csi-snapshotter delete the storage's snapshot.
    async fn mark_content(
        &mut self,
        name: &str,
        snapshot_deleted: bool,
        limits: &Limits,
    ) -> Result<Option<VolumeSnapshotContent>, ApiError> {
        let content = match self.cluster.content(name, limits).await {
            Ok(content) => content,
            Err(error) if error.is_not_found() => {
                self.content = ContentEnd::Absent;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.content = ContentEnd::Present {
            name: name.to_owned(),
            state: "not marked for deletion yet",
        };
        match marks(&content, snapshot_deleted) {
            Some(patch) => self
                .cluster
                .patch_content(name, &patch, limits)
                .await
                .map(Some),
            None => Ok(Some(content)),
        }
    }

    /// Deletes the content as well: the snapshot-controller may have acted on a stale Retain.
    async fn delete_content(
        &mut self,
        content: &VolumeSnapshotContent,
        limits: &Limits,
    ) -> Result<(), ApiError> {
        let metadata = &content.metadata;
        if !metadata.is_being_deleted() {
            return match self
                .cluster
                .delete_content(&metadata.name, &metadata.uid, limits)
                .await
            {
                Err(error) if !error.is_not_found() => Err(error),
                _ => Ok(()),
            };
        }
        let busy = is_being_made(content);
        let state = if busy {
            "the driver is still making the snapshot"
        } else {
            "the driver is deleting the snapshot"
        };
        self.content = ContentEnd::Present {
            name: metadata.name.clone(),
            state,
        };
        if !busy && content.handle().is_some() {
            self.touch(&metadata.name, limits).await?;
        }
        Ok(())
    }

    /// The csi-snapshotter may have looked before its own last mark arrived in its cache, and would then
    /// look again only at its next resync: any change makes it look now.
    async fn touch(&mut self, name: &str, limits: &Limits) -> Result<(), ApiError> {
        self.touches = self.touches.saturating_add(1);
        if self.touches % 8 != 4 {
            return Ok(());
        }
        let patch =
            json!({"metadata": {"annotations": {ANNOTATION_UNDO: self.touches.to_string()}}});
        match self.cluster.patch_content(name, &patch, limits).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    fn report(&self) {
        let Made {
            namespace, name, ..
        } = self.made;
        let elapsed = go_duration::short(self.started.elapsed());
        let snapshot_gone = matches!(self.snapshot, SnapshotEnd::Gone(_));
        if snapshot_gone && self.uid.is_some() && self.content == ContentEnd::Absent {
            tracing::info!(
                volume_snapshot = name,
                elapsed,
                "took the VolumeSnapshot and its content back"
            );
            return;
        }
        if snapshot_gone && self.uid.is_none() {
            tracing::warn!(
                volume_snapshot = name,
                elapsed,
                "the answer to the create was lost and no VolumeSnapshot of this name exists; should it still appear, \
                 delete VolumeSnapshot {namespace}/{name}"
            );
            return;
        }
        let left = match (&self.snapshot, &self.content) {
            (SnapshotEnd::Gone(_), ContentEnd::Present { name, state }) => {
                format!("VolumeSnapshotContent {name} ({state})")
            }
            (
                _,
                ContentEnd::Present {
                    name: content,
                    state,
                },
            ) => {
                format!(
                    "VolumeSnapshot {namespace}/{name} and VolumeSnapshotContent {content} ({state})"
                )
            }
            _ => format!("VolumeSnapshot {namespace}/{name}"),
        };
        tracing::warn!(
            volume_snapshot = name,
            elapsed,
            error = self.trouble,
            "could not see the end of the undo: make sure that {left} disappears, and delete what stays"
        );
    }
}
