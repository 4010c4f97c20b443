//! Views of VolumeSnapshot, VolumeSnapshotContent and VolumeSnapshotClass: only what is read.
//!
//! `snapshot.storage.k8s.io/v1`. Unknown fields are ignored and `null` is "not given", so that a
//! newer snapshot-controller cannot break a wait. May use: `decode`, `object_meta`, `one_line`.

use serde::Deserialize;

use super::decode::null_is_default;
use super::object_meta::ObjectMeta;
use super::one_line::one_line;

/// A snapshot as its owner asked for it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct VolumeSnapshot {
    /// Metadata.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_is_default")]
    pub spec: VolumeSnapshotSpec,
    /// What the snapshot-controller has made of it.
    pub status: Option<VolumeSnapshotStatus>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSnapshotSpec {
    /// Where the snapshot comes from.
    #[serde(deserialize_with = "null_is_default")]
    pub source: VolumeSnapshotSource,
    /// Its class.
    pub volume_snapshot_class_name: Option<String>,
}

/// Where a snapshot comes from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSnapshotSource {
    /// The claim, for a dynamic snapshot.
    pub persistent_volume_claim_name: Option<String>,
}

/// What the snapshot-controller reports.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSnapshotStatus {
    /// The content that this snapshot is bound to.
    pub bound_volume_snapshot_content_name: Option<String>,
    /// Whether a volume can be made from it.
    pub ready_to_use: Option<bool>,
    /// Smallest size of such a volume, a quantity.
    pub restore_size: Option<String>,
    /// When the storage took it, RFC 3339.
    pub creation_time: Option<String>,
    /// The last failure.
    pub error: Option<SnapshotError>,
}

/// A failure as the snapshotter reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SnapshotError {
    /// The driver's words; may be missing (F13).
    pub message: Option<String>,
    /// When, RFC 3339.
    pub time: Option<String>,
}

impl SnapshotError {
    /// The message in one line of bounded length, or a fixed text if there is none.
    #[must_use]
    pub fn text(&self) -> String {
        let text = one_line(self.message.as_deref().unwrap_or_default());
        if text.is_empty() {
            "error without message".to_owned()
        } else {
            text
        }
    }
}

impl VolumeSnapshot {
    /// The content's name once the snapshot is bound.
    #[must_use]
    pub fn bound_content(&self) -> Option<&str> {
        let name = self
            .status
            .as_ref()?
            .bound_volume_snapshot_content_name
            .as_deref()?;
        (!name.is_empty()).then_some(name)
    }

    /// The last failure, if one is reported.
    #[must_use]
    pub fn error(&self) -> Option<&SnapshotError> {
        self.status.as_ref()?.error.as_ref()
    }
}

/// What happens to the storage's snapshot when its content object is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum DeletionPolicy {
    /// It is deleted too.
    Delete,
    /// It stays.
    Retain,
    /// A word that this plugin does not know.
    #[serde(other)]
    Unknown,
}

/// A snapshot on the storage.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct VolumeSnapshotContent {
    /// Metadata.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(deserialize_with = "null_is_default")]
    pub spec: VolumeSnapshotContentSpec,
    /// What the storage answered.
    pub status: Option<VolumeSnapshotContentStatus>,
}

/// What was asked of the storage.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSnapshotContentSpec {
    /// What happens on deletion.
    pub deletion_policy: Option<DeletionPolicy>,
    /// The CSI driver.
    #[serde(deserialize_with = "null_is_default")]
    pub driver: String,
    /// The snapshot that this content belongs to.
    #[serde(deserialize_with = "null_is_default")]
    pub volume_snapshot_ref: VolumeSnapshotRef,
}

/// The snapshot that a content belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VolumeSnapshotRef {
    /// Name.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// Namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub namespace: String,
    /// UID; empty until the controller has filled it in.
    #[serde(deserialize_with = "null_is_default")]
    pub uid: String,
}

/// What the storage answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSnapshotContentStatus {
    /// The storage's name of the snapshot.
    pub snapshot_handle: Option<String>,
    /// Whether a volume can be made from it.
    pub ready_to_use: Option<bool>,
    /// Smallest size of such a volume, in bytes.
    pub restore_size: Option<i64>,
    /// When the storage took it, nanoseconds since 1970.
    pub creation_time: Option<i64>,
    /// The last failure.
    pub error: Option<SnapshotError>,
}

impl VolumeSnapshotContent {
    /// The storage's name of the snapshot. An empty one is none (F22); for Velero it would be one (B 1.3 e).
    #[must_use]
    pub fn handle(&self) -> Option<&str> {
        self.status
            .as_ref()?
            .snapshot_handle
            .as_deref()
            .filter(|handle| !handle.is_empty())
    }

    /// The last failure, if one is reported.
    #[must_use]
    pub fn error(&self) -> Option<&SnapshotError> {
        self.status.as_ref()?.error.as_ref()
    }

    /// Smallest size of a volume made from it, in bytes, if the storage told one.
    #[must_use]
    pub fn restore_size(&self) -> Option<i64> {
        self.status.as_ref()?.restore_size
    }
}

/// How snapshots of a driver are taken.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSnapshotClass {
    /// Metadata.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: ObjectMeta,
    /// The CSI driver.
    #[serde(deserialize_with = "null_is_default")]
    pub driver: String,
    /// What happens to a snapshot on deletion.
    pub deletion_policy: Option<DeletionPolicy>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::decode::json;

    #[test]
    fn error_without_words_then_a_fixed_text_f13() {
        for status in [
            r#"{"error":{}}"#,
            r#"{"error":{"time":"2026-01-01T00:00:00Z"}}"#,
            r#"{"error":{"message":""}}"#,
            r#"{"error":{"message":null}}"#,
        ] {
            let snapshot: VolumeSnapshot =
                json(format!(r#"{{"status":{status}}}"#).as_bytes()).unwrap();
            assert_eq!(
                snapshot.error().unwrap().text(),
                "error without message",
                "{status}"
            );
        }
        let snapshot: VolumeSnapshot = json(br#"{"status":{"error":null}}"#).unwrap();
        assert_eq!(snapshot.error(), None);
    }

    #[test]
    fn content_of_the_api_then_every_field_is_read() {
        let content: VolumeSnapshotContent = json(
            br#"{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotContent",
            "metadata":{"name":"c","labels":null,"finalizers":["f"],"deletionTimestamp":null},
            "spec":{"deletionPolicy":"Retain","driver":"d","source":{"volumeHandle":"v"},
            "volumeSnapshotRef":{"name":"s","namespace":"n","uid":"u"}},
            "status":{"snapshotHandle":"h","readyToUse":false,"restoreSize":1073741824,"creationTime":1700000000000000001}}"#,
        )
        .unwrap();
        assert_eq!(content.handle(), Some("h"));
        assert_eq!(content.restore_size(), Some(1_073_741_824));
        assert_eq!(content.spec.deletion_policy, Some(DeletionPolicy::Retain));
        assert_eq!(content.spec.volume_snapshot_ref.uid, "u");
        assert!(!content.metadata.is_being_deleted());
    }

    #[test]
    fn empty_handle_then_none_f22() {
        let content: VolumeSnapshotContent = json(br#"{"status":{"snapshotHandle":""}}"#).unwrap();
        assert_eq!(content.handle(), None);
    }

    #[test]
    fn snapshot_without_status_then_not_bound() {
        let snapshot: VolumeSnapshot = json(br#"{"spec":null,"status":null}"#).unwrap();
        assert_eq!(snapshot.bound_content(), None);
        let class: VolumeSnapshotClass =
            json(br#"{"driver":"d","deletionPolicy":"Archive"}"#).unwrap();
        assert_eq!(class.deletion_policy, Some(DeletionPolicy::Unknown));
    }
}
