//! Names that are not ours to choose, each with where it comes from, and the few that are.
//!
//! Section numbers are those of the behaviour notes (B) and the protocol notes (A).

// ---- ours

/// Crate, binary, image, chart, and `handler:` value in volume policies.
pub const PLUGIN: &str = "velero-plugin-csi-fastpoll";

/// The registered action: exactly one slash (A 4.3), and never `velero.io/csi-` inside, which
/// Velero skips when its CSI feature is off.
pub const ACTION: &str = "velero-plugin-csi-fastpoll/pvc-backupper";

/// Label on every object that we create; its value is the plugin's version.
pub const LABEL_CREATED_BY: &str = "velero-plugin-csi-fastpoll/created-by";

/// Backup annotation that gives us the PVCs of a backup with `snapshotVolumes: false`.
pub const ANNOTATION_TAKE_OVER: &str = "velero-plugin-csi-fastpoll/take-over";

/// Key in a volume policy action's parameters that names who handles the volume.
pub const POLICY_HANDLER: &str = "handler";

// ---- Velero, pkg/apis/velero/v1/labels_annotations.go (B 0.2)

/// Label with the backup's name, shortened by GetValidName. Never on a VolumeSnapshotContent:
/// the server lists those and dereferences their status.
pub const LABEL_BACKUP_NAME: &str = "velero.io/backup-name";

/// Label with the backup's UID.
pub const LABEL_BACKUP_UID: &str = "velero.io/backup-uid";

/// Label with the claim's UID.
pub const LABEL_PVC_UID: &str = "velero.io/pvc-uid";

/// Label and annotation on the PVC with its VolumeSnapshot's name.
pub const VOLUME_SNAPSHOT_NAME: &str = "velero.io/volume-snapshot-name";

/// Annotation on the PVC: additional items ignore the backup's filters.
pub const ANNOTATION_MUST_INCLUDE: &str = "backup.velero.io/must-include-additional-items";

/// PVC annotation that names a VolumeSnapshotClass, and label key that marks one (B 1.2).
pub const SNAPSHOT_CLASS: &str = "velero.io/csi-volumesnapshot-class";

/// Backup annotation prefix; the lower-case provisioner follows (B 1.2, rule 3).
pub const ANNOTATION_SNAPSHOT_CLASS_FOR: &str = "velero.io/csi-volumesnapshot-class_";

/// Pod annotation with the volumes to back up by file system (S-6).
pub const ANNOTATION_BACKUP_VOLUMES: &str = "backup.velero.io/backup-volumes";

/// Pod annotation with the volumes not to back up by file system (S-6).
pub const ANNOTATION_BACKUP_VOLUMES_EXCLUDES: &str = "backup.velero.io/backup-volumes-excludes";

/// Backup annotation, from 1.18.3, with the global volume policy's ConfigMap (VP-34).
pub const ANNOTATION_GLOBAL_POLICY: &str = "velero.io/global-backup-volume-policy-configmap";

/// Entry of `--features` that turns Velero's CSI support on.
pub const FEATURE_CSI: &str = "EnableCSI";

// ---- external-snapshotter

/// API group of VolumeSnapshot and its kin.
pub const SNAPSHOT_GROUP: &str = "snapshot.storage.k8s.io";

/// Class annotation that marks a default class (B 1.2, rule 5).
pub const ANNOTATION_DEFAULT_SNAPSHOT_CLASS: &str =
    "snapshot.storage.kubernetes.io/is-default-class";

// ---- resources

/// Plural of PersistentVolumeClaim, what AppliesTo selects.
pub const RESOURCE_PVCS: &str = "persistentvolumeclaims";

/// Plural of VolumeSnapshot.
pub const RESOURCE_VOLUME_SNAPSHOTS: &str = "volumesnapshots";

/// Plural of VolumeSnapshotContent.
pub const RESOURCE_VOLUME_SNAPSHOT_CONTENTS: &str = "volumesnapshotcontents";
