//! Velero's older way to choose file-system backup, by annotations on pods (S-4, S-6).
//!
//! No pod is left out: finished, failed, terminating and excluded pods count, as they do for
//! Velero (F53). Lists are split at commas and not trimmed, again as Velero does (W-24): server
//! and plugin must agree. May use: model.

use crate::model::pod::Pod;

/// A pod through which a claim is backed up by file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FsBackup<'a> {
    /// The pod's name.
    pub pod: &'a str,
    /// The volume's name in it.
    pub volume: &'a str,
}

/// The first pod and volume through which Velero backs this claim up by file system, if any.
/// `by_default` is the Backup's `defaultVolumesToFsBackup`.
#[must_use]
pub fn fs_backup_of<'a>(
    pods: &'a [Pod],
    namespace: &str,
    claim: &str,
    by_default: bool,
) -> Option<FsBackup<'a>> {
    let in_namespace = pods
        .iter()
        .filter(|pod| pod.metadata.namespace == namespace);
    in_namespace
        .flat_map(|pod| pod.claims().map(move |(volume, name)| (pod, volume, name)))
        .filter(|(_, _, name)| *name == claim)
        .find(|(pod, volume, _)| applies(pod, volume, by_default))
        .map(|(pod, volume, _)| FsBackup {
            pod: &pod.metadata.name,
            volume,
        })
}

/// S-6: with the default on, a volume is in unless excluded; with it off, only if it is listed.
fn applies(pod: &Pod, volume: &str, by_default: bool) -> bool {
    let annotations = &pod.metadata.annotations;
    let listed = |list: &Option<String>| {
        list.as_ref()
            .is_some_and(|list| list.split(',').any(|name| name == volume))
    };
    if by_default {
        !listed(&annotations.backup_volumes_excludes)
    } else {
        listed(&annotations.backup_volumes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::decode::json;

    fn pod(annotations: &str, phase: &str) -> Pod {
        json(
            format!(
                r#"{{"metadata":{{"name":"p","namespace":"ns","annotations":{{{annotations}}},
                "deletionTimestamp":"2026-01-01T00:00:00Z"}},
                "spec":{{"volumes":[{{"name":"other","emptyDir":{{}}}},
                {{"name":"volume","persistentVolumeClaim":{{"claimName":"pvc-1"}}}}]}},
                "status":{{"phase":"{phase}"}}}}"#
            )
            .as_bytes(),
        )
        .unwrap()
    }

    fn chosen(annotations: &str, by_default: bool) -> bool {
        fs_backup_of(&[pod(annotations, "Running")], "ns", "pvc-1", by_default).is_some()
    }

    #[test]
    fn annotations_and_default_then_velero_s_choice_s6() {
        let opt_in = |list: &str| format!(r#""backup.velero.io/backup-volumes":"{list}""#);
        let opt_out =
            |list: &str| format!(r#""backup.velero.io/backup-volumes-excludes":"{list}""#);
        // TS-5 … TS-8
        assert!(chosen("", true));
        assert!(!chosen(&opt_out("volume"), true));
        assert!(chosen(&opt_in("volume"), false));
        assert!(!chosen("", false));
        assert!(chosen(&opt_in("x,volume"), false));
        assert!(
            !chosen(&opt_in("x, volume"), false),
            "lists are not trimmed"
        );
        assert!(chosen(&opt_out("x, volume"), true));
        assert!(!chosen(&opt_out("volume"), false));
        assert!(!chosen(&opt_in("pvc-1"), false));
    }

    #[test]
    fn finished_and_terminating_pods_then_they_count_f53() {
        for phase in ["Pending", "Running", "Succeeded", "Failed", ""] {
            assert_eq!(
                fs_backup_of(&[pod("", phase)], "ns", "pvc-1", true),
                Some(FsBackup {
                    pod: "p",
                    volume: "volume"
                })
            );
        }
    }

    #[test]
    fn no_pod_of_this_claim_then_no_file_system_backup_f53() {
        assert_eq!(fs_backup_of(&[], "ns", "pvc-1", true), None);
        let pods = [pod("", "Running"), Pod::default()];
        assert_eq!(fs_backup_of(&pods, "ns", "pvc-2", true), None);
        assert_eq!(fs_backup_of(&pods, "elsewhere", "pvc-1", true), None);
    }
}
