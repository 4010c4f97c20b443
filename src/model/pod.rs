//! The smallest view of a Pod that answers the legacy file-system backup question (S-4, S-6).
//!
//! A namespace may hold thousands of pods, so nothing else of them is kept (T16).
//! May use: `decode`.

use serde::Deserialize;

use super::decode::null_is_default;

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Metadata.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: PodMeta,
    /// What runs in it.
    #[serde(deserialize_with = "null_is_default")]
    pub spec: PodSpec,
    /// How it fares.
    #[serde(deserialize_with = "null_is_default")]
    pub status: PodStatus,
}

/// Metadata of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodMeta {
    /// Namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub namespace: String,
    /// Name.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// The two annotations that matter.
    #[serde(deserialize_with = "null_is_default")]
    pub annotations: PodAnnotations,
    /// When its deletion was asked for, RFC 3339.
    pub deletion_timestamp: Option<String>,
}

/// The annotations of a pod that choose volumes for file-system backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodAnnotations {
    /// `backup.velero.io/backup-volumes`: volumes to back up.
    #[serde(rename = "backup.velero.io/backup-volumes")]
    pub backup_volumes: Option<String>,
    /// `backup.velero.io/backup-volumes-excludes`: volumes not to back up.
    #[serde(rename = "backup.velero.io/backup-volumes-excludes")]
    pub backup_volumes_excludes: Option<String>,
}

/// What runs in a pod: its volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodSpec {
    /// Volumes.
    #[serde(deserialize_with = "null_is_default")]
    pub volumes: Vec<PodVolume>,
}

/// One volume of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodVolume {
    /// Name within the pod.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// The claim, if that is where the volume comes from.
    pub persistent_volume_claim: Option<ClaimSource>,
}

/// A claim used as a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSource {
    /// Name of the claim.
    #[serde(deserialize_with = "null_is_default")]
    pub claim_name: String,
}

/// How a pod fares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`.
    #[serde(deserialize_with = "null_is_default")]
    pub phase: String,
}

impl Pod {
    /// The pod's volumes that come from a claim, as (volume name, claim name).
    pub fn claims(&self) -> impl Iterator<Item = (&str, &str)> {
        self.spec.volumes.iter().filter_map(|volume| {
            let claim = volume.persistent_volume_claim.as_ref()?;
            Some((volume.name.as_str(), claim.claim_name.as_str()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::decode::json;
    use crate::model::names::{ANNOTATION_BACKUP_VOLUMES, ANNOTATION_BACKUP_VOLUMES_EXCLUDES};

    #[test]
    fn pod_of_the_api_then_claims_and_annotations_are_read() {
        let pod: Pod = json(
            format!(
                r#"{{"metadata":{{"name":"p","namespace":"n","annotations":{{"{ANNOTATION_BACKUP_VOLUMES}":"a",
                "{ANNOTATION_BACKUP_VOLUMES_EXCLUDES}":"b","other":"x"}}}},
                "spec":{{"containers":[],"volumes":[{{"name":"a","persistentVolumeClaim":{{"claimName":"c"}}}},
                {{"name":"e","emptyDir":{{}}}}]}},"status":{{"phase":"Running"}}}}"#
            )
            .as_bytes(),
        )
        .unwrap();
        assert_eq!(pod.claims().collect::<Vec<_>>(), [("a", "c")]);
        assert_eq!(
            pod.metadata.annotations.backup_volumes.as_deref(),
            Some("a")
        );
        assert_eq!(
            pod.metadata.annotations.backup_volumes_excludes.as_deref(),
            Some("b")
        );
        assert_eq!(pod.status.phase, "Running");
    }

    #[test]
    fn pod_of_nulls_then_nothing_is_claimed() {
        let pod: Pod =
            json(br#"{"metadata":{"annotations":null},"spec":{"volumes":null},"status":null}"#)
                .unwrap();
        assert_eq!(pod.claims().count(), 0);
    }
}
