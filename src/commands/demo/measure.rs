//! One volume's figures, out of the API's record, the objects, the storage and the plugin's log.
//!
//! May use: model.

use std::time::Duration;

use serde_json::Value;

use super::error::DemoError;
use super::execution::Snapshot;
use super::figures::Volume;
use super::record::Record;
use super::scene::{NAMESPACE, Scene};
use crate::model::names::{RESOURCE_VOLUME_SNAPSHOT_CONTENTS, RESOURCE_VOLUME_SNAPSHOTS};

/// Measures one volume; `records` is the plugin's whole log.
///
/// # Errors
/// Something that the plugin claims is not there.
pub fn measure(
    scene: &Scene,
    snapshot: &Snapshot,
    frozen_at: Duration,
    records: &[Record],
) -> Result<Volume, DemoError> {
    let Snapshot { pvc, name, .. } = snapshot;
    let missing = |what: &str| DemoError::Unexpected(format!("PVC {pvc}: there is no {what}"));

    let requests = scene.api.requests();
    let during = requests.get(snapshot.requests.clone()).unwrap_or_default();
    let created = during
        .iter()
        .find(|request| request.verb == "create" && request.resource == RESOURCE_VOLUME_SNAPSHOTS)
        .ok_or_else(|| missing("create of a VolumeSnapshot"))?
        .at;

    let object = scene
        .api
        .object(RESOURCE_VOLUME_SNAPSHOTS, NAMESPACE, name)
        .ok_or_else(|| missing(&format!("VolumeSnapshot {name}")))?;
    let content = text(&object, "/status/boundVolumeSnapshotContentName")
        .ok_or_else(|| missing(&format!("content of VolumeSnapshot {name}")))?;
    let handle = scene
        .api
        .object(RESOURCE_VOLUME_SNAPSHOT_CONTENTS, "", &content)
        .as_ref()
        .and_then(|object| text(object, "/status/snapshotHandle"))
        .ok_or_else(|| missing(&format!("handle on content {content}")))?;
    let stored = scene.controller.storage.snapshots();
    let cut_at = stored
        .iter()
        .find(|stored| stored.handle == handle)
        .ok_or_else(|| missing(&format!("snapshot {handle} in the storage")))?
        .cut_at;

    // Only the line that tells the snapshot's whole story has this field.
    let told = records
        .iter()
        .find(|record| record.text("pvc") == pvc && record.time("handle_after").is_some())
        .ok_or_else(|| missing("line about the handle in the plugin's log"))?;
    let told_time = |field: &str| {
        told.time(field)
            .ok_or_else(|| missing(&format!("{field} in the plugin's log")))
    };
    Ok(Volume {
        pvc: pvc.clone(),
        snapshot: name.clone(),
        content,
        handle,
        created_at: created.saturating_sub(frozen_at),
        cut_after: cut_at.saturating_sub(created),
        bound_after: told_time("bound_after")?,
        handle_after: told_time("handle_after")?,
        execute: snapshot.answered.saturating_sub(snapshot.sent),
        looks: told.count("looks").unwrap_or_default(),
        requests: during.len(),
    })
}

fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer)?.as_str().map(str::to_owned)
}
