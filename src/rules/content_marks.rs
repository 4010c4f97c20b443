//! What a VolumeSnapshotContent must carry so that the csi-snapshotter deletes the storage's snapshot with it.
//!
//! Pure; read from external-snapshotter 8.6: a deletionTimestamp alone deletes nothing. May use: model.

use serde_json::{Map, Value, json};

use crate::model::snapshot::{DeletionPolicy, VolumeSnapshotContent};

/// Set by the csi-snapshotter around its call of the driver; deletion waits for it.
const BEING_CREATED: &str = "snapshot.storage.kubernetes.io/volumesnapshot-being-created";
/// Set by the snapshot-controller when the VolumeSnapshot is deleted; without it nothing is.
const BEING_DELETED: &str = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted";
/// Keeps a content until the csi-snapshotter has deleted the storage's snapshot.
const CONTENT_FINALIZER: &str =
    "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection";
/// Ours: changed to make the csi-snapshotter look again.
pub const ANNOTATION_UNDO: &str = "velero-plugin-csi-fastpoll/undo";

/// The merge patch that gives the content what it lacks, or nothing.
///
/// The finalizer comes before everything else: a content without it would vanish at its DELETE while the
/// driver is at work, and the storage's snapshot would stay for ever.
#[must_use]
pub fn marks(content: &VolumeSnapshotContent, snapshot_deleted: bool) -> Option<Value> {
    let metadata = &content.metadata;
    let mut patch = Map::new();
    let mut meta = Map::new();
    if content.spec.deletion_policy != Some(DeletionPolicy::Delete) {
        patch.insert("spec".to_owned(), json!({"deletionPolicy": "Delete"}));
    }
    let protected = metadata
        .finalizers
        .iter()
        .any(|finalizer| finalizer == CONTENT_FINALIZER);
    if !protected && !metadata.is_being_deleted() {
        let mut finalizers = metadata.finalizers.clone();
        finalizers.push(CONTENT_FINALIZER.to_owned());
        meta.insert("finalizers".to_owned(), json!(finalizers));
        meta.insert(
            "resourceVersion".to_owned(),
            json!(metadata.resource_version),
        );
    }
    // The snapshot-controller sets this itself once it sees the VolumeSnapshot being deleted, and the
    // csi-snapshotter may wipe it by writing back its older copy of the annotations.
    if snapshot_deleted && !metadata.annotations.contains_key(BEING_DELETED) {
        meta.insert("annotations".to_owned(), json!({BEING_DELETED: "yes"}));
    }
    if !meta.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(meta));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Whether the csi-snapshotter still makes the snapshot, so that its deletion has to wait.
#[must_use]
pub fn is_being_made(content: &VolumeSnapshotContent) -> bool {
    content.metadata.annotations.contains_key(BEING_CREATED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(json: serde_json::Value) -> VolumeSnapshotContent {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn content_of_policy_retain_without_finalizer_then_one_patch_gives_both_under_its_version() {
        let content = content(json!({
            "metadata": {"name": "c", "uid": "u", "resourceVersion": "7", "finalizers": ["other"]},
            "spec": {"deletionPolicy": "Retain", "driver": "d", "volumeSnapshotRef": {}},
        }));
        let expected = json!({
            "spec": {"deletionPolicy": "Delete"},
            "metadata": {"resourceVersion": "7", "finalizers": ["other", CONTENT_FINALIZER]},
        });
        assert_eq!(marks(&content, false), Some(expected));
    }

    #[test]
    fn snapshot_is_deleted_then_the_mark_of_the_snapshot_controller_is_added() {
        let mut object = json!({
            "metadata": {"name": "c", "uid": "u", "finalizers": [CONTENT_FINALIZER]},
            "spec": {"deletionPolicy": "Delete", "driver": "d", "volumeSnapshotRef": {}},
        });
        assert_eq!(marks(&content(object.clone()), false), None);
        let expected = json!({"metadata": {"annotations": {BEING_DELETED: "yes"}}});
        assert_eq!(marks(&content(object.clone()), true), Some(expected));
        object["metadata"]["annotations"] = json!({BEING_DELETED: "yes"});
        assert_eq!(marks(&content(object), true), None);
    }

    #[test]
    fn content_is_being_deleted_then_no_finalizer_is_added_to_it() {
        let content = content(json!({
            "metadata": {"name": "c", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"deletionPolicy": "Delete", "driver": "d", "volumeSnapshotRef": {}},
        }));
        assert_eq!(marks(&content, false), None);
    }
}
