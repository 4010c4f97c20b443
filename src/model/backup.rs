//! The Backup that Velero hands over with each item: the few fields that decide something.
//!
//! Velero sends a Go-encoded `velero.io/v1` Backup, often without kind, with nulls, and with
//! fields that this build does not know; all of that is fine (P-19, P-20).
//! May use: `decode`, `go_duration`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::{self, DecodeError, null_is_default};
use super::go_duration::GoDuration;

/// How long a snapshot handle is waited for if the Backup does not say: Velero's own default.
pub const DEFAULT_CSI_SNAPSHOT_TIMEOUT: Duration = Duration::from_mins(10);

/// Longer than any snapshot takes; a larger value is a typing mistake that would wait for ever.
pub const MAX_CSI_SNAPSHOT_TIMEOUT: Duration = Duration::from_hours(365 * 24);

/// A Backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// Name.
    pub name: String,
    /// Namespace, which is Velero's own.
    pub namespace: String,
    /// UID; empty if there is none.
    pub uid: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// `status.phase`; empty if there is none.
    pub phase: String,
    /// How long a snapshot handle is waited for.
    pub csi_snapshot_timeout: Duration,
    /// `spec.snapshotVolumes`.
    pub snapshot_volumes: Option<bool>,
    /// `spec.defaultVolumesToFsBackup`, or its older name `defaultVolumesToRestic`.
    pub default_volumes_to_fs_backup: Option<bool>,
    /// `spec.snapshotMoveData`.
    pub snapshot_move_data: Option<bool>,
    /// `spec.resourcePolicy`.
    pub resource_policy: Option<ResourcePolicy>,
    /// `spec.volumeGroupSnapshotLabelKey`; empty on servers that do not know groups.
    pub volume_group_snapshot_label_key: String,
}

/// Where a Backup's volume policies are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResourcePolicy {
    /// `configmap`, in any case; everything else means no policy (VP-1).
    #[serde(deserialize_with = "null_is_default")]
    pub kind: String,
    /// Name in the Backup's namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
}

/// A Backup that this plugin cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupError {
    /// Not JSON, or a field has the wrong type.
    #[error("cannot read the backup")]
    Unreadable(#[from] DecodeError),
    /// A field that every Backup has is not there.
    #[error("the backup has no {field}")]
    Missing {
        /// Path of the field.
        field: &'static str,
    },
    /// A field whose value cannot be meant.
    #[error("the backup's {field} is {value:?}: {reason}")]
    BadValue {
        /// Path of the field.
        field: &'static str,
        /// What it says.
        value: String,
        /// Why that cannot be.
        reason: String,
    },
}

#[derive(Deserialize)]
struct Outline {
    #[serde(default, deserialize_with = "null_is_default")]
    metadata: Meta,
    spec: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "null_is_default")]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(deserialize_with = "null_is_default")]
    name: String,
    #[serde(deserialize_with = "null_is_default")]
    namespace: String,
    #[serde(deserialize_with = "null_is_default")]
    uid: String,
    #[serde(deserialize_with = "null_is_default")]
    labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "null_is_default")]
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "null_is_default")]
    phase: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    csi_snapshot_timeout: Option<String>,
    snapshot_volumes: Option<bool>,
    default_volumes_to_fs_backup: Option<bool>,
    default_volumes_to_restic: Option<bool>,
    snapshot_move_data: Option<bool>,
    resource_policy: Option<ResourcePolicy>,
    #[serde(deserialize_with = "null_is_default")]
    volume_group_snapshot_label_key: String,
}

impl Backup {
    /// Reads the bytes of a request. In a finalizing phase nothing but the phase is needed, so
    /// then every other fault is forgiven: such a request is answered with its own item.
    ///
    /// # Errors
    /// Not UTF-8 or JSON; no `metadata.name` or `spec`; a field of the wrong type; a
    /// `spec.csiSnapshotTimeout` that is no Go duration, negative, or longer than a year. The
    /// error names the field.
    pub fn decode(bytes: &[u8]) -> Result<Self, BackupError> {
        let decoded = Self::decode_strictly(bytes);
        if decoded.is_err()
            && let Some(finalizing) = Self::decode_finalizing(bytes)
        {
            return Ok(finalizing);
        }
        decoded
    }

    fn decode_strictly(bytes: &[u8]) -> Result<Self, BackupError> {
        let outline: Outline = decode::json(bytes)?;
        if outline.metadata.name.is_empty() {
            return Err(BackupError::Missing {
                field: "metadata.name",
            });
        }
        let spec = outline.spec.ok_or(BackupError::Missing { field: "spec" })?;
        let spec: Spec = decode::json(spec.get().as_bytes()).map_err(|error| DecodeError {
            field: format!("spec.{}", error.field),
            reason: error.reason,
        })?;
        Ok(Self {
            name: outline.metadata.name,
            namespace: outline.metadata.namespace,
            uid: outline.metadata.uid,
            labels: outline.metadata.labels,
            annotations: outline.metadata.annotations,
            phase: outline.status.phase,
            csi_snapshot_timeout: timeout(spec.csi_snapshot_timeout.as_deref())?,
            snapshot_volumes: spec.snapshot_volumes,
            default_volumes_to_fs_backup: spec
                .default_volumes_to_fs_backup
                .or(spec.default_volumes_to_restic),
            snapshot_move_data: spec.snapshot_move_data,
            resource_policy: spec.resource_policy,
            volume_group_snapshot_label_key: spec.volume_group_snapshot_label_key,
        })
    }

    /// The Backup reduced to its phase and name, if that phase is a finalizing one.
    fn decode_finalizing(bytes: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Phase {
            status: Status,
        }
        #[derive(Deserialize)]
        struct Name {
            metadata: Meta,
        }
        let Phase { status } = decode::json(bytes).ok()?;
        let metadata =
            decode::json(bytes).map_or_else(|_| Meta::default(), |Name { metadata }| metadata);
        let backup = Self {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            labels: metadata.labels,
            annotations: metadata.annotations,
            phase: status.phase,
            csi_snapshot_timeout: DEFAULT_CSI_SNAPSHOT_TIMEOUT,
            ..Self::default()
        };
        backup.is_finalizing().then_some(backup)
    }

    /// Whether Velero only collects what operations have left behind; nothing is snapshotted then.
    #[must_use]
    pub fn is_finalizing(&self) -> bool {
        matches!(
            self.phase.as_str(),
            "Finalizing" | "FinalizingPartiallyFailed"
        )
    }

    /// The ConfigMap with this Backup's volume policies: one only if the kind is `configmap`,
    /// compared without regard to case; another kind means silently none (VP-1).
    #[must_use]
    pub fn policy_config_map(&self) -> Option<&str> {
        let policy = self.resource_policy.as_ref()?;
        policy
            .kind
            .eq_ignore_ascii_case("configmap")
            .then_some(policy.name.as_str())
    }
}

/// The wait for a handle. Velero writes Go duration text; a number would be refused by Velero's
/// own decoder, so it is here too (F05).
fn timeout(text: Option<&str>) -> Result<Duration, BackupError> {
    let Some(text) = text else {
        return Ok(DEFAULT_CSI_SNAPSHOT_TIMEOUT);
    };
    let bad = |reason: String| BackupError::BadValue {
        field: "spec.csiSnapshotTimeout",
        value: text.to_owned(),
        reason,
    };
    let duration = GoDuration::parse(text).map_err(|error| bad(error.to_string()))?;
    let duration = duration
        .to_std()
        .ok_or_else(|| bad("a time-out cannot be negative".to_owned()))?;
    if duration > MAX_CSI_SNAPSHOT_TIMEOUT {
        return Err(bad("a time-out is at most 8760h".to_owned()));
    }
    Ok(if duration.is_zero() {
        DEFAULT_CSI_SNAPSHOT_TIMEOUT
    } else {
        duration
    })
}

#[cfg(test)]
mod tests;
