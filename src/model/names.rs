//! Names that are not ours to choose, each with where it comes from, and the few that are.
//!
//! Section numbers are those of the behaviour notes (B) and the protocol notes (A).

// ---- ours

/// Crate, binary, image, chart, and `handler:` value in volume policies.
pub const PLUGIN: &str = "velero-plugin-csi-fastpoll";

/// The registered action: exactly one slash (A 4.3), and never `velero.io/csi-` inside, which
/// Velero skips when its CSI feature is off.
pub const ACTION: &str = "velero-plugin-csi-fastpoll/pvc-backupper";

/// Prefix of our own labels and annotations.
pub const PREFIX: &str = "velero-plugin-csi-fastpoll/";

/// Label on every object that we create; its value is the plugin's name.
pub const LABEL_CREATED_BY: &str = "velero-plugin-csi-fastpoll/created-by";

/// Backup annotation that gives us the PVCs of a backup with `snapshotVolumes: false`.
pub const ANNOTATION_TAKE_OVER: &str = "velero-plugin-csi-fastpoll/take-over";

/// Key in a volume policy action's parameters that names who handles the volume.
pub const POLICY_HANDLER: &str = "handler";

// ---- Velero, pkg/apis/velero/v1/labels_annotations.go (B 0.2)

/// API group of Velero's own objects.
pub const VELERO_GROUP: &str = "velero.io";

/// Label with the backup's name, shortened by GetValidName. Never on a VolumeSnapshotContent:
/// the server lists those and dereferences their status.
pub const LABEL_BACKUP_NAME: &str = "velero.io/backup-name";

/// Label with the backup's UID.
pub const LABEL_BACKUP_UID: &str = "velero.io/backup-uid";

/// Label with the claim's UID.
pub const LABEL_PVC_UID: &str = "velero.io/pvc-uid";

/// Label on a DataUpload with the operation id.
pub const LABEL_ASYNC_OPERATION_ID: &str = "velero.io/async-operation-id";

/// Label and annotation on the PVC with its VolumeSnapshot's name.
pub const VOLUME_SNAPSHOT_NAME: &str = "velero.io/volume-snapshot-name";

/// Annotation on the PVC: additional items ignore the backup's filters.
pub const ANNOTATION_MUST_INCLUDE: &str = "backup.velero.io/must-include-additional-items";

/// Annotation on the PVC with the DataUpload's `namespace/name` (D-5).
pub const ANNOTATION_DATA_UPLOAD_NAME: &str = "velero.io/data-upload-name";

/// Annotation by which the built-in marks a PVC whose volume is not CSI (R-9, C-4).
pub const ANNOTATION_SKIPPED_NO_CSI_PV: &str = "backup.velero.io/skipped-no-csi-pv";

/// Annotation, from 1.18.1, on a returned item that must not be archived.
pub const ANNOTATION_SKIP_FROM_BACKUP: &str = "velero.io/skip-from-backup";

/// Annotation on a VolumeSnapshot with the restore size, for restores by 1.16 and older.
pub const ANNOTATION_VS_RESTORE_SIZE: &str = "velero.io/csi-volumesnapshot-restore-size";

/// PVC annotation that names a VolumeSnapshotClass, and label key that marks one (B 1.2).
pub const SNAPSHOT_CLASS: &str = "velero.io/csi-volumesnapshot-class";

/// Backup annotation prefix; the lower-case provisioner follows (B 1.2, rule 3).
pub const ANNOTATION_SNAPSHOT_CLASS_FOR: &str = "velero.io/csi-volumesnapshot-class_";

/// PVC annotation that names a VolumeGroupSnapshotClass.
pub const ANNOTATION_GROUP_SNAPSHOT_CLASS: &str = "velero.io/csi-volume-group-snapshot-class";

/// Default of the volume-group label key (server flag, from 1.17).
pub const LABEL_VOLUME_GROUP: &str = "velero.io/volume-group";

/// Pod annotation with the volumes to back up by file system (S-6).
pub const ANNOTATION_BACKUP_VOLUMES: &str = "backup.velero.io/backup-volumes";

/// Pod annotation with the volumes not to back up by file system (S-6).
pub const ANNOTATION_BACKUP_VOLUMES_EXCLUDES: &str = "backup.velero.io/backup-volumes-excludes";

/// Backup annotation, from 1.18.3, with the global volume policy's ConfigMap (VP-34).
pub const ANNOTATION_GLOBAL_POLICY: &str = "velero.io/global-backup-volume-policy-configmap";

/// Entry of `--features` that turns Velero's CSI support on.
pub const FEATURE_CSI: &str = "EnableCSI";

/// The built-in action that we stand beside.
pub const BUILT_IN_ACTION: &str = "velero.io/csi-pvc-backupper";

// ---- external-snapshotter

/// API group of VolumeSnapshot and its kin.
pub const SNAPSHOT_GROUP: &str = "snapshot.storage.k8s.io";

/// API group of VolumeGroupSnapshot and its kin.
pub const GROUP_SNAPSHOT_GROUP: &str = "groupsnapshot.storage.k8s.io";

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

/// Plural of VolumeSnapshotClass.
pub const RESOURCE_VOLUME_SNAPSHOT_CLASSES: &str = "volumesnapshotclasses";

/// Plural of DataUpload.
pub const RESOURCE_DATA_UPLOADS: &str = "datauploads";
