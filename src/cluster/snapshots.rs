//! VolumeSnapshots and their contents: create, look, mark, delete.
//!
//! May use: model.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::call::{Cluster, Limits};
use super::error::ApiError;
use super::request::{Call, Kind, Verb};
use crate::model::snapshot::{VolumeSnapshot, VolumeSnapshotContent};

/// Each fails with [`ApiError`] when the answer is not the object.
impl Cluster {
    /// Creates the VolumeSnapshot `object`, which has this namespace and name.
    ///
    /// # Errors
    /// See [`ApiError`]; ask [`ApiError::may_have_happened`] before creating again.
    pub async fn create_snapshot(
        &self,
        namespace: &str,
        name: &str,
        object: &Value,
        limits: &Limits,
    ) -> Result<VolumeSnapshot, ApiError> {
        let call = Call::new(Verb::Create, Kind::SNAPSHOT, namespace, name);
        self.ask(call, "", object.to_string().into_bytes(), limits)
            .await
    }

    /// The VolumeSnapshot `namespace/name`.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn snapshot(
        &self,
        namespace: &str,
        name: &str,
        limits: &Limits,
    ) -> Result<VolumeSnapshot, ApiError> {
        self.ask(
            Call::new(Verb::Get, Kind::SNAPSHOT, namespace, name),
            "",
            Vec::new(),
            limits,
        )
        .await
    }

    /// Deletes the VolumeSnapshot if it still has this UID.
    ///
    /// # Errors
    /// See [`ApiError`]: NotFound when it is gone, a conflict when another one has taken its name.
    pub async fn delete_snapshot(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        limits: &Limits,
    ) -> Result<Deleted, ApiError> {
        let call = Call::new(Verb::Delete, Kind::SNAPSHOT, namespace, name);
        let answer: DeleteAnswer = self.ask(call, "", precondition(uid), limits).await?;
        Ok(Deleted {
            at_once: answer.kind.as_deref() == Some("Status"),
        })
    }

    /// The VolumeSnapshotContent `name`.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn content(
        &self,
        name: &str,
        limits: &Limits,
    ) -> Result<VolumeSnapshotContent, ApiError> {
        self.ask(
            Call::new(Verb::Get, Kind::CONTENT, "", name),
            "",
            Vec::new(),
            limits,
        )
        .await
    }

    /// Changes the VolumeSnapshotContent by a merge patch and gives the result.
    ///
    /// # Errors
    /// See [`ApiError`]: a conflict when the patch carries a resourceVersion that has passed.
    pub async fn patch_content(
        &self,
        name: &str,
        patch: &Value,
        limits: &Limits,
    ) -> Result<VolumeSnapshotContent, ApiError> {
        let call = Call::new(Verb::Patch, Kind::CONTENT, "", name);
        self.ask(call, "", patch.to_string().into_bytes(), limits)
            .await
    }

    /// Deletes the VolumeSnapshotContent if it still has this UID.
    ///
    /// # Errors
    /// See [`ApiError`]: NotFound when it is gone, a conflict when another one has taken its name.
    pub async fn delete_content(
        &self,
        name: &str,
        uid: &str,
        limits: &Limits,
    ) -> Result<(), ApiError> {
        let call = Call::new(Verb::Delete, Kind::CONTENT, "", name);
        self.ask::<IgnoredAny>(call, "", precondition(uid), limits)
            .await
            .map(|_| ())
    }
}

/// What a DELETE did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deleted {
    /// The object is gone: it had no finalizer, so no controller had worked on it.
    pub at_once: bool,
}

/// A Status when the object is gone, the object itself when its finalizers keep it.
#[derive(Deserialize)]
struct DeleteAnswer {
    kind: Option<String>,
}

/// DeleteOptions that spare an object that only has the same name (F91).
fn precondition(uid: &str) -> Vec<u8> {
    json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}})
        .to_string()
        .into_bytes()
}
