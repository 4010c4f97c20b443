//! Objects that tests start from, as a real cluster and Velero make them.

use serde_json::{Value, json};

use crate::{
    api::KubeApi,
    json::{go_json, merge, object_at, text},
    resources::{CLAIMS, CLASSES, CONFIG_MAPS, NAMESPACES, NODES, PODS, STORAGE_CLASSES, VOLUMES},
};

/// A bound PVC with everything under it.
#[derive(Clone, Debug)]
pub struct CsiVolume {
    /// The PVC as it is in the cluster.
    pub pvc: Value,
    /// The PVC as Velero sends it: compact JSON, keys sorted, escaped as Go does.
    pub json: String,
    /// The PV's name, `pvc-<UID of the PVC>`.
    pub pv: String,
    /// The volume's handle in the storage, `vol-<namespace>-<name>`.
    pub handle: String,
}

/// A namespace, unless it is there.
pub fn namespace(api: &KubeApi, name: &str) {
    if api.object("namespaces", "", name).is_none() {
        let labels = json!({"kubernetes.io/metadata.name": name});
        api.put_as(&NAMESPACES, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}, "status": {"phase": "Active"}}));
    }
}

/// The handle that [`csi_volume`] gives a PVC's volume.
pub fn volume_handle(namespace: &str, pvc: &str) -> String {
    format!("vol-{namespace}-{pvc}")
}

/// A StorageClass `sc-<driver>`, a PV and a PVC bound to it. `size` is a quantity such as `1Gi`.
pub fn csi_volume(
    api: &KubeApi,
    namespace: &str,
    name: &str,
    driver: &str,
    size: &str,
) -> CsiVolume {
    csi_volume_with(api, namespace, name, driver, size, &json!({}))
}

/// The same, with a merge patch on the PVC (labels, annotations, another phase …) before it is put in place.
pub fn csi_volume_with(
    api: &KubeApi,
    namespace: &str,
    name: &str,
    driver: &str,
    size: &str,
    patch: &Value,
) -> CsiVolume {
    self::namespace(api, namespace);
    let class = storage_class(api, driver);
    let uid = api.store(crate::store::Store::uid);
    let (pv, handle) = (format!("pvc-{uid}"), volume_handle(namespace, name));
    let mut pvc = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "annotations": {
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
                "volume.kubernetes.io/storage-provisioner": driver,
            },
            "finalizers": ["kubernetes.io/pvc-protection"],
            "name": name,
            "namespace": namespace,
            "uid": uid,
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": class,
            "volumeMode": "Filesystem",
            "volumeName": pv,
        },
        "status": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "phase": "Bound"},
    });
    merge(&mut pvc, patch);
    let pvc = api.put_as(&CLAIMS, pvc);
    api.put_as(&VOLUMES, json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "annotations": {"pv.kubernetes.io/provisioned-by": driver},
            "finalizers": ["kubernetes.io/pv-protection"],
            "name": pv,
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name, "namespace": namespace,
                "resourceVersion": text(&pvc, "/metadata/resourceVersion"), "uid": uid,
            },
            "csi": {"driver": driver, "fsType": "ext4", "volumeHandle": handle},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": class,
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Bound"},
    }));
    CsiVolume {
        json: go_json(&pvc),
        pvc,
        pv,
        handle,
    }
}

/// A StorageClass `sc-<driver>`, unless it is there; answers its name.
pub fn storage_class(api: &KubeApi, driver: &str) -> String {
    let name = format!("sc-{driver}");
    if api.object("storageclasses", "", &name).is_none() {
        api.put_as(&STORAGE_CLASSES, json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": driver, "reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": true,
        }));
    }
    name
}

/// A VolumeSnapshotClass. `policy` is `Delete` or `Retain`.
pub fn snapshot_class(
    api: &KubeApi,
    name: &str,
    driver: &str,
    policy: &str,
    labels: &[(&str, &str)],
    annotations: &[(&str, &str)],
) -> Value {
    api.put_as(
        &CLASSES,
        json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass",
            "metadata": {"name": name, "labels": map(labels), "annotations": map(annotations)},
            "driver": driver, "deletionPolicy": policy,
        }),
    )
}

/// A pod with one container that mounts every volume; `volumes` are pairs of volume and claim.
pub fn pod(
    api: &KubeApi,
    namespace: &str,
    name: &str,
    volumes: &[(&str, &str)],
    annotations: &[(&str, &str)],
    phase: &str,
) -> Value {
    self::namespace(api, namespace);
    let mounts: Vec<Value> = volumes
        .iter()
        .map(|(volume, _)| json!({"name": volume, "mountPath": format!("/{volume}")}))
        .collect();
    let volumes: Vec<Value> =
        volumes.iter().map(|(volume, claim)| json!({"name": volume, "persistentVolumeClaim": {"claimName": claim}})).collect();
    api.put_as(&PODS, json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": map(annotations)},
        "spec": {"nodeName": "node-1", "containers": [{"name": "app", "image": "app", "volumeMounts": mounts}], "volumes": volumes},
        "status": {"phase": phase},
    }))
}

/// A ConfigMap.
pub fn configmap(api: &KubeApi, namespace: &str, name: &str, data: &[(&str, &str)]) -> Value {
    self::namespace(api, namespace);
    api.put_as(&CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": map(data)}))
}

/// A node of an operating system, `linux` or `windows`.
pub fn node(api: &KubeApi, name: &str, os: &str) -> Value {
    api.put_as(&NODES, json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/os": os}}}))
}

/// A Backup as Velero sends it, with its defaults: typed Go JSON without `apiVersion` and `kind`.
pub fn backup_json(name: &str, uid: &str) -> Value {
    json!({
        "metadata": {
            "annotations": {
                "velero.io/resource-timeout": "10m0s",
                "velero.io/source-cluster-k8s-gitversion": "v1.33.0",
                "velero.io/source-cluster-k8s-major-version": "1",
                "velero.io/source-cluster-k8s-minor-version": "33",
            },
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 5,
            "labels": {"velero.io/storage-location": "default"},
            "name": name,
            "namespace": "velero",
            "resourceVersion": "1000",
            "uid": uid,
        },
        "spec": {
            "csiSnapshotTimeout": "10m0s",
            "defaultVolumesToFsBackup": false,
            "hooks": {},
            "includedNamespaces": ["*"],
            "itemOperationTimeout": "4h0m0s",
            "metadata": {},
            "snapshotMoveData": false,
            "storageLocation": "default",
            "ttl": "720h0m0s",
            "volumeGroupSnapshotLabelKey": "velero.io/volume-group",
        },
        "status": {
            "expiration": "2026-01-31T00:00:00Z",
            "formatVersion": "1.1.0",
            "hookStatus": {},
            "phase": "InProgress",
            "progress": {},
            "startTimestamp": "2026-01-01T00:00:00Z",
            "version": 1,
        },
    })
}

fn map(pairs: &[(&str, &str)]) -> Value {
    let mut map = json!({});
    for (key, value) in pairs {
        object_at(&mut map, &[]).insert((*key).to_owned(), (*value).into());
    }
    map
}
