//! The resources this API serves. A resource is one line of the table; objects are not checked against a schema.

/// One served resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// API group, empty for core.
    pub group: &'static str,
    /// Served versions, the preferred one first. All show the same objects.
    pub versions: &'static [&'static str],
    /// As in the path, such as `volumesnapshots`. Unique in the table.
    pub plural: &'static str,
    /// As in `kind`.
    pub kind: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether `/status` is an endpoint of its own (and the main endpoint ignores `status`).
    pub status: bool,
}

impl Resource {
    /// `plural.group`, or only the plural for core: how API server messages name a resource.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `group/version`, or only the version for core.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }

    /// The preferred version.
    pub fn preferred(&self) -> &'static str {
        self.versions.first().copied().unwrap_or("v1")
    }
}

const fn cluster(
    group: &'static str,
    versions: &'static [&'static str],
    plural: &'static str,
    kind: &'static str,
) -> Resource {
    Resource {
        group,
        versions,
        plural,
        kind,
        namespaced: false,
        status: false,
    }
}

const fn namespaced(
    group: &'static str,
    versions: &'static [&'static str],
    plural: &'static str,
    kind: &'static str,
) -> Resource {
    Resource {
        group,
        versions,
        plural,
        kind,
        namespaced: true,
        status: false,
    }
}

const fn with_status(resource: Resource) -> Resource {
    Resource {
        status: true,
        ..resource
    }
}

const SNAPSHOT: &str = "snapshot.storage.k8s.io";
const GROUP_SNAPSHOT: &str = "groupsnapshot.storage.k8s.io";
const GROUP_VERSIONS: &[&str] = &["v1", "v1beta2", "v1beta1"];
const V1: &[&str] = &["v1"];

pub(crate) const NAMESPACES: Resource = with_status(cluster("", V1, "namespaces", "Namespace"));
pub(crate) const NODES: Resource = with_status(cluster("", V1, "nodes", "Node"));
pub(crate) const VOLUMES: Resource =
    with_status(cluster("", V1, "persistentvolumes", "PersistentVolume"));
pub(crate) const CLAIMS: Resource = with_status(namespaced(
    "",
    V1,
    "persistentvolumeclaims",
    "PersistentVolumeClaim",
));
pub(crate) const PODS: Resource = with_status(namespaced("", V1, "pods", "Pod"));
pub(crate) const CONFIG_MAPS: Resource = namespaced("", V1, "configmaps", "ConfigMap");
pub(crate) const EVENTS: Resource = namespaced("", V1, "events", "Event");
pub(crate) const STORAGE_CLASSES: Resource =
    cluster("storage.k8s.io", V1, "storageclasses", "StorageClass");
pub(crate) const SNAPSHOTS: Resource = with_status(namespaced(
    SNAPSHOT,
    V1,
    "volumesnapshots",
    "VolumeSnapshot",
));
pub(crate) const CONTENTS: Resource = with_status(cluster(
    SNAPSHOT,
    V1,
    "volumesnapshotcontents",
    "VolumeSnapshotContent",
));
pub(crate) const CLASSES: Resource =
    cluster(SNAPSHOT, V1, "volumesnapshotclasses", "VolumeSnapshotClass");
pub(crate) const BACKUPS: Resource = namespaced("velero.io", V1, "backups", "Backup");

/// What is served from the start; [`crate::KubeApi::serve_resource`] adds or replaces.
pub const RESOURCES: &[Resource] = &[
    NAMESPACES,
    NODES,
    VOLUMES,
    CLAIMS,
    PODS,
    CONFIG_MAPS,
    EVENTS,
    STORAGE_CLASSES,
    SNAPSHOTS,
    CONTENTS,
    CLASSES,
    BACKUPS,
    namespaced("velero.io", &["v2alpha1"], "datauploads", "DataUpload"),
    with_status(namespaced("apps", V1, "daemonsets", "DaemonSet")),
    with_status(namespaced(
        GROUP_SNAPSHOT,
        GROUP_VERSIONS,
        "volumegroupsnapshots",
        "VolumeGroupSnapshot",
    )),
    with_status(cluster(
        GROUP_SNAPSHOT,
        GROUP_VERSIONS,
        "volumegroupsnapshotcontents",
        "VolumeGroupSnapshotContent",
    )),
    cluster(
        GROUP_SNAPSHOT,
        GROUP_VERSIONS,
        "volumegroupsnapshotclasses",
        "VolumeGroupSnapshotClass",
    ),
];
