//! The part of Kubernetes' ObjectMeta that this plugin reads from snapshot objects.
//!
//! May use: `decode`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::decode::null_is_default;

/// Metadata of an object. Times are RFC 3339 text, as the API server writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Name.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// Namespace, empty for a cluster-scoped object.
    #[serde(deserialize_with = "null_is_default")]
    pub namespace: String,
    /// UID.
    #[serde(deserialize_with = "null_is_default")]
    pub uid: String,
    /// Version of the stored object.
    #[serde(deserialize_with = "null_is_default")]
    pub resource_version: String,
    /// Labels.
    #[serde(deserialize_with = "null_is_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(deserialize_with = "null_is_default")]
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    #[serde(deserialize_with = "null_is_default")]
    pub finalizers: Vec<String>,
    /// When the object was created.
    pub creation_timestamp: Option<String>,
    /// When its deletion was asked for; set means that it is being deleted.
    pub deletion_timestamp: Option<String>,
}

impl ObjectMeta {
    /// Whether somebody has asked for the object's deletion.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}
