//! The names that the two controllers write on objects, and small edits with them.

use serde_json::{Value, json};

use crate::{
    api::KubeApi,
    json::{annotation, has, metadata, object_at, text, texts},
    resources::EVENTS,
};

pub(super) const AS_SOURCE: &str =
    "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection";
pub(super) const BOUND: &str = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection";
pub(super) const CONTENT_BOUND: &str =
    "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection";
pub(super) const CLAIM_SOURCE: &str = "snapshot.storage.kubernetes.io/pvc-as-source-protection";
pub(super) const BEING_CREATED: &str =
    "snapshot.storage.kubernetes.io/volumesnapshot-being-created";
pub(super) const BEING_DELETED: &str =
    "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted";
pub(super) const DEFAULT_CLASS: &str = "snapshot.storage.kubernetes.io/is-default-class";

pub(super) fn is_deleting(object: &Value) -> bool {
    has(object, "/metadata/deletionTimestamp")
}

pub(super) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    texts(object, "/metadata/finalizers").contains(&finalizer)
}

pub(super) fn has_mark(object: &Value, key: &str) -> bool {
    annotation(object, key).is_some()
}

pub(super) fn add_finalizer(object: &mut Value, finalizer: &str) {
    // The API server refuses a new finalizer on what is being deleted.
    if has_finalizer(object, finalizer) || is_deleting(object) {
        return;
    }
    let mut all: Vec<Value> = texts(object, "/metadata/finalizers")
        .into_iter()
        .map(Value::from)
        .collect();
    all.push(finalizer.into());
    metadata(object).insert("finalizers".to_owned(), all.into());
}

pub(super) fn remove_finalizers(object: &mut Value, gone: &[&str]) {
    let rest: Vec<Value> = texts(object, "/metadata/finalizers")
        .into_iter()
        .filter(|one| !gone.contains(one))
        .map(Value::from)
        .collect();
    if rest.is_empty() {
        metadata(object).remove("finalizers");
    } else {
        metadata(object).insert("finalizers".to_owned(), rest.into());
    }
}

pub(super) fn mark(object: &mut Value, key: &str) {
    object_at(object, &["metadata", "annotations"]).insert(key.to_owned(), "yes".into());
}

pub(super) fn unmark(object: &mut Value, key: &str) {
    object_at(object, &["metadata", "annotations"]).remove(key);
}

/// Sets `status.error`, and not ready if so wanted, unless the error is there already.
pub(super) fn set_error(object: &mut Value, message: &str, now: &str, not_ready: bool) {
    if text(object, "/status/error/message") == message {
        return;
    }
    let status = object_at(object, &["status"]);
    status.insert("error".to_owned(), json!({"message": message, "time": now}));
    if not_ready {
        status.insert("readyToUse".to_owned(), false.into());
    }
}

/// A Warning event about an object.
pub(super) fn warn(api: &KubeApi, component: &str, about: &Value, reason: &str, message: &str) {
    let (kind, name) = (text(about, "/kind"), text(about, "/metadata/name"));
    let namespace = match text(about, "/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    };
    let suffix = api.store(crate::store::Store::uid).replace('-', "");
    let now = api.clock().rfc3339();
    api.put_as(&EVENTS, json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{}", suffix.get(..16).unwrap_or_default()), "namespace": namespace},
        "involvedObject": {
            "apiVersion": text(about, "/apiVersion"), "kind": kind, "name": name,
            "namespace": text(about, "/metadata/namespace"), "uid": text(about, "/metadata/uid"),
        },
        "type": "Warning", "reason": reason, "message": message, "count": 1,
        "firstTimestamp": now, "lastTimestamp": now, "source": {"component": component},
    }));
}
