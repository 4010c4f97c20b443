//! What a VolumeSnapshot and its content say about the snapshot being cut.
//!
//! Pure. A handle is what Execute waits for (C-6): with it the storage has cut the snapshot, and the
//! VolumeSnapshot is bound, as Velero's next action needs it. May use: model.

use crate::model::snapshot::{SnapshotError, VolumeSnapshot, VolumeSnapshotContent};

/// Where the VolumeSnapshot stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotState {
    /// It will not come any more.
    Lost(Lost),
    /// No content yet.
    Unbound {
        /// Whether a snapshot-controller has touched it at all.
        touched: bool,
        /// `status.error`, as one line.
        error: Option<String>,
    },
    /// It has this content.
    Bound {
        /// Name of the VolumeSnapshotContent.
        content: String,
        /// `status.error`, as one line.
        error: Option<String>,
    },
}

/// Where its content stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentState {
    /// It will not come any more.
    Lost(Lost),
    /// The storage has not cut the snapshot yet.
    NoHandle {
        /// `status.error`, as one line.
        error: Option<String>,
    },
    /// The storage has cut the snapshot.
    Handle(Handle),
}

/// A snapshot that exists in the storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    /// Name of the VolumeSnapshotContent.
    pub content: String,
    /// The storage's own id of the snapshot.
    pub handle: String,
    /// Bytes that a volume restored from it needs at least.
    pub restore_size: Option<i64>,
    /// `status.error` while `readyToUse` is false, as one line: Velero's Progress fails the operation at
    /// once if it still finds it so.
    pub error: Option<String>,
}

/// Why a snapshot will not come.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Somebody deleted it, or is deleting it (F24).
    #[error(
        "VolumeSnapshot {0} was deleted by somebody else while its handle was waited for{labels}",
        labels = label_hint(.1)
    )]
    SnapshotDeleted(String, Vec<String>),
    /// Another one has its name now.
    #[error("VolumeSnapshot {0} was deleted by somebody else and another one has its name now")]
    SnapshotReplaced(String),
    /// Somebody deleted its content, or is deleting it.
    #[error(
        "VolumeSnapshotContent {0} was deleted by somebody else while its handle was waited for"
    )]
    ContentDeleted(String),
}

/// Reads the VolumeSnapshot that was created with `uid`.
#[must_use]
pub fn of_snapshot(snapshot: &VolumeSnapshot, uid: &str) -> SnapshotState {
    let metadata = &snapshot.metadata;
    let key = format!("{}/{}", metadata.namespace, metadata.name);
    if metadata.uid != uid {
        return SnapshotState::Lost(Lost::SnapshotReplaced(key));
    }
    if metadata.is_being_deleted() {
        return SnapshotState::Lost(Lost::SnapshotDeleted(
            key,
            metadata.labels.keys().cloned().collect(),
        ));
    }
    let error = snapshot.error().map(SnapshotError::text);
    match snapshot.bound_content() {
        Some(content) => SnapshotState::Bound {
            content: content.to_owned(),
            error,
        },
        None => SnapshotState::Unbound {
            touched: snapshot.status.is_some() || !metadata.finalizers.is_empty(),
            error,
        },
    }
}

/// Reads the content that the VolumeSnapshot is bound to.
///
/// An empty handle is none (F22).
#[must_use]
pub fn of_content(content: &VolumeSnapshotContent) -> ContentState {
    let metadata = &content.metadata;
    if metadata.is_being_deleted() {
        return ContentState::Lost(Lost::ContentDeleted(metadata.name.clone()));
    }
    let error = content.error().map(SnapshotError::text);
    match content.handle() {
        Some(handle) => ContentState::Handle(Handle {
            content: metadata.name.clone(),
            handle: handle.to_owned(),
            restore_size: content.restore_size(),
            error: error.filter(|_| {
                content
                    .status
                    .as_ref()
                    .and_then(|status| status.ready_to_use)
                    != Some(true)
            }),
        }),
        None => ContentState::NoHandle { error },
    }
}

fn label_hint(labels: &[String]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    format!(
        "; its labels {} may have made a pruning tool take it for its own",
        labels.join(", ")
    )
}
