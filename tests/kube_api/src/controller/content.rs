//! What a VolumeSnapshotContent looks like, and what of it shows in its VolumeSnapshot.

use serde_json::{Map, Value, json};

use super::marks::{DEFAULT_CLASS, is_deleting};
use crate::{
    api::KubeApi,
    clock::rfc3339,
    json::{annotation, has, text},
    resources::{CLAIMS, CLASSES, VOLUMES},
    store::Key,
};

/// A content to be made.
pub(super) struct Plan {
    pub(super) content: Value,
    pub(super) claim: Key,
}

/// The name of a dynamic content.
pub(super) fn name_for(snapshot: &Value) -> String {
    format!("snapcontent-{}", text(snapshot, "/metadata/uid"))
}

/// Works out the content of a VolumeSnapshot; the error is an event's reason and the message.
pub(super) fn plan(api: &KubeApi, snapshot: &Value) -> Result<Plan, (&'static str, String)> {
    let failed = |why: &str| {
        (
            "SnapshotContentCreationFailed",
            format!("Failed to create snapshot content with error {why}"),
        )
    };
    let (namespace, name) = (
        text(snapshot, "/metadata/namespace"),
        text(snapshot, "/metadata/name"),
    );
    let claim_name = text(snapshot, "/spec/source/persistentVolumeClaimName");
    let claim_key = Key::new(&CLAIMS, namespace, claim_name);
    let get = |key: &Key| api.store(|store| store.get(key).cloned());
    let claim = get(&claim_key).ok_or_else(|| {
        let why = format!("\"persistentvolumeclaim \\\"{claim_name}\\\" not found\"");
        failed(&format!(
            "failed to retrieve PVC {claim_name} from the lister: {why}"
        ))
    })?;
    if is_deleting(&claim) {
        return Err(failed(&format!(
            "snapshot controller failed to update {claim_name} on API server: cannot add finalizer on claim because it is being deleted"
        )));
    }
    if text(&claim, "/status/phase") != "Bound" {
        return Err(failed(&format!(
            "the PVC {claim_name} is not yet bound to a PV, will not attempt to take a snapshot"
        )));
    }
    let volume_name = text(&claim, "/spec/volumeName");
    let volume = get(&Key::new(&VOLUMES, "", volume_name)).ok_or_else(|| {
        failed(&format!(
            "failed to retrieve PV {volume_name} from the API server: not found"
        ))
    })?;
    if !has(&volume, "/spec/csi") {
        return Err(failed(&format!(
            "cannot find CSI PersistentVolumeSource for volume {volume_name}"
        )));
    }
    let class = class(
        api,
        text(snapshot, "/spec/volumeSnapshotClassName"),
        text(&volume, "/spec/csi/driver"),
    )
    .map_err(|why| {
        (
            "GetSnapshotClassFailed",
            format!("Failed to get snapshot class with error {why}"),
        )
    })?;
    let content = json!({
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotContent",
        "metadata": {"name": name_for(snapshot)},
        "spec": {
            "deletionPolicy": text(&class, "/deletionPolicy"),
            "driver": text(&class, "/driver"),
            "source": {"volumeHandle": text(&volume, "/spec/csi/volumeHandle")},
            "sourceVolumeMode": text(&claim, "/spec/volumeMode"),
            "volumeSnapshotClassName": text(&class, "/metadata/name"),
            "volumeSnapshotRef": {
                "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "name": name, "namespace": namespace,
                "resourceVersion": text(snapshot, "/metadata/resourceVersion"), "uid": text(snapshot, "/metadata/uid"),
            },
        },
    });
    Ok(Plan {
        content,
        claim: claim_key,
    })
}

/// What a lister answers when the class is not there.
pub(super) fn class_not_found(name: &str) -> String {
    format!("volumesnapshotclass.snapshot.storage.k8s.io \"{name}\" not found")
}

fn class(api: &KubeApi, name: &str, driver: &str) -> Result<Value, String> {
    if !name.is_empty() {
        return api
            .object(CLASSES.plural, "", name)
            .ok_or_else(|| class_not_found(name));
    }
    let mut defaults = api.objects(CLASSES.plural).into_iter().filter(|class| {
        annotation(class, DEFAULT_CLASS) == Some("true") && text(class, "/driver") == driver
    });
    match (defaults.next(), defaults.next()) {
        (Some(class), None) => Ok(class),
        (None, _) => Err("cannot find default snapshot class".to_owned()),
        (Some(_), Some(_)) => Err("2 default snapshot classes were found".to_owned()),
    }
}

/// What the VolumeSnapshot's status says about its content.
pub(super) fn status_for(content: &Value) -> Map<String, Value> {
    let mut status = Map::new();
    status.insert(
        "boundVolumeSnapshotContentName".to_owned(),
        text(content, "/metadata/name").into(),
    );
    let field = |name: &str| {
        content
            .pointer("/status")
            .and_then(|status| status.get(name))
            .filter(|value| !value.is_null())
    };
    status.insert(
        "readyToUse".to_owned(),
        field("readyToUse").cloned().unwrap_or(false.into()),
    );
    if let Some(time) = field("creationTime").and_then(Value::as_i64) {
        status.insert("creationTime".to_owned(), rfc3339(time).into());
    }
    if let Some(size) = field("restoreSize").and_then(Value::as_i64) {
        status.insert("restoreSize".to_owned(), binary_quantity(size).into());
    }
    if let Some(error) = field("error") {
        status.insert("error".to_owned(), error.clone());
    }
    status
}

/// A number of bytes as `resource.NewQuantity(n, BinarySI)` prints it.
fn binary_quantity(bytes: i64) -> String {
    let (mut number, mut suffix) = (bytes, "");
    if bytes.unsigned_abs() >= 1024 {
        for next in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
            if number % 1024 != 0 {
                break;
            }
            (number, suffix) = (number / 1024, next);
        }
    }
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_as_go_prints_them() {
        for (bytes, text) in [
            (1 << 30, "1Gi"),
            (1_610_612_736, "1536Mi"),
            (1_500_000_000, "1500000000"),
            (0, "0"),
            (1024, "1Ki"),
        ] {
            assert_eq!(binary_quantity(bytes), text);
        }
    }
}
