//! The item that Velero hands over: a PersistentVolumeClaim, read typed and edited as text.
//!
//! Reading goes through k8s-openapi, so a field of the wrong type is an error. Writing goes
//! back to the original JSON and opens only the maps that change, because a typed round trip
//! would lose every field this build does not know (P-16 … P-18, T5, W-28).
//! May use: `decode`.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::decode::{self, DecodeError};

/// The only kind that AppliesTo asks for.
const KIND: &str = "PersistentVolumeClaim";
/// The only version of that kind.
const API_VERSION: &str = "v1";

static NO_ENTRIES: BTreeMap<String, String> = BTreeMap::new();

/// A PersistentVolumeClaim as Velero sent it. Its debug form is its name: the rest may be large
/// and is not for logs.
#[derive(Clone)]
pub struct Item {
    raw: Vec<u8>,
    claim: PersistentVolumeClaim,
    namespace: String,
    name: String,
}

/// An item that this plugin cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// Not JSON, or a field has the wrong type.
    #[error("cannot read the item")]
    Unreadable(#[from] DecodeError),
    /// A field that every claim has is not there.
    #[error("the item has no {field}")]
    Missing {
        /// Path of the field.
        field: &'static str,
    },
    /// Some other object.
    #[error("the item's {field} is {found:?}, expected {expected:?}")]
    OtherObject {
        /// `kind` or `apiVersion`.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    kind: Option<String>,
    api_version: Option<String>,
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Item({}/{})", self.namespace, self.name)
    }
}

impl Item {
    /// Reads the bytes of a request.
    ///
    /// # Errors
    /// Not UTF-8 or JSON; another kind or version; a field of the wrong type; no name or
    /// namespace. The error names the field.
    pub fn decode(bytes: &[u8]) -> Result<Self, ItemError> {
        let head: Head = decode::json(bytes)?;
        expect("kind", head.kind, KIND)?;
        expect("apiVersion", head.api_version, API_VERSION)?;
        let claim: PersistentVolumeClaim = decode::json(bytes)?;
        let name = required("metadata.name", claim.metadata.name.as_deref())?;
        let namespace = required("metadata.namespace", claim.metadata.namespace.as_deref())?;
        Ok(Self {
            raw: bytes.to_vec(),
            claim,
            namespace,
            name,
        })
    }

    /// The bytes as they came.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.raw
    }

    /// `metadata.namespace`.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `metadata.uid`, empty if there is none.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.claim.metadata.uid.as_deref().unwrap_or_default()
    }

    /// `metadata.labels`.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        self.claim.metadata.labels.as_ref().unwrap_or(&NO_ENTRIES)
    }

    /// `metadata.annotations`.
    #[must_use]
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        self.claim
            .metadata
            .annotations
            .as_ref()
            .unwrap_or(&NO_ENTRIES)
    }

    /// Whether somebody has asked for the claim's deletion.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.claim.metadata.deletion_timestamp.is_some()
    }

    /// `spec.volumeName`, empty if there is none.
    #[must_use]
    pub fn volume_name(&self) -> &str {
        self.spec(|spec| spec.volume_name.as_deref())
            .unwrap_or_default()
    }

    /// `spec.storageClassName`; may be present and empty.
    #[must_use]
    pub fn storage_class_name(&self) -> Option<&str> {
        self.spec(|spec| spec.storage_class_name.as_deref())
    }

    /// `spec.volumeMode`, empty if there is none.
    #[must_use]
    pub fn volume_mode(&self) -> &str {
        self.spec(|spec| spec.volume_mode.as_deref())
            .unwrap_or_default()
    }

    /// `spec.accessModes`.
    #[must_use]
    pub fn access_modes(&self) -> &[String] {
        self.spec(|spec| spec.access_modes.as_deref())
            .unwrap_or_default()
    }

    /// `spec.resources.requests.storage` as it is written.
    #[must_use]
    pub fn storage_request(&self) -> Option<&str> {
        let requests = self.spec(|spec| spec.resources.as_ref()?.requests.as_ref())?;
        requests.get("storage").map(|quantity| quantity.0.as_str())
    }

    /// `status.phase`, empty if there is none.
    #[must_use]
    pub fn phase(&self) -> &str {
        let status = self.claim.status.as_ref();
        status
            .and_then(|status| status.phase.as_deref())
            .unwrap_or_default()
    }

    /// Starts a changed copy.
    #[must_use]
    pub fn edit(&self) -> ItemEdit<'_> {
        ItemEdit {
            raw: &self.raw,
            labels: Entries::new(),
            annotations: Entries::new(),
            requests: Entries::new(),
        }
    }

    fn spec<'a, T>(
        &'a self,
        field: impl FnOnce(&'a k8s_openapi::api::core::v1::PersistentVolumeClaimSpec) -> Option<T>,
    ) -> Option<T> {
        self.claim.spec.as_ref().and_then(field)
    }
}

fn expect(
    field: &'static str,
    found: Option<String>,
    expected: &'static str,
) -> Result<(), ItemError> {
    let found = found
        .filter(|found| !found.is_empty())
        .ok_or(ItemError::Missing { field })?;
    if found == expected {
        Ok(())
    } else {
        Err(ItemError::OtherObject {
            field,
            found,
            expected,
        })
    }
}

fn required(field: &'static str, value: Option<&str>) -> Result<String, ItemError> {
    value
        .filter(|value| !value.is_empty())
        .map(str::to_owned)
        .ok_or(ItemError::Missing { field })
}

/// Values to set, in the order in which they were asked for.
type Entries = IndexMap<&'static str, String>;
/// A JSON object of which only the order and the keys are known.
type Object = IndexMap<String, Box<RawValue>>;

/// A changed copy of an item. Keys that exist keep their place, new ones are appended; a map that
/// is missing or null is made. Everything else stays as it was written, numbers included.
#[derive(Clone)]
pub struct ItemEdit<'a> {
    raw: &'a [u8],
    labels: Entries,
    annotations: Entries,
    requests: Entries,
}

impl ItemEdit<'_> {
    /// Sets `metadata.labels[key]`. The caller makes the value a valid label value.
    pub fn set_label(&mut self, key: &'static str, value: impl Into<String>) -> &mut Self {
        self.labels.insert(key, value.into());
        self
    }

    /// Sets `metadata.annotations[key]`.
    pub fn set_annotation(&mut self, key: &'static str, value: impl Into<String>) -> &mut Self {
        self.annotations.insert(key, value.into());
        self
    }

    /// Sets `spec.resources.requests.storage`.
    pub fn set_storage_request(&mut self, quantity: impl Into<String>) -> &mut Self {
        self.requests.insert("storage", quantity.into());
        self
    }

    /// The changed item; without changes, the original bytes.
    ///
    /// # Errors
    /// A map on the way is no JSON object. That cannot happen with an item that was decoded.
    pub fn into_bytes(self) -> Result<Vec<u8>, ItemError> {
        let edits: [(&[&str], Entries); 3] = [
            (&["metadata", "labels"], self.labels),
            (&["metadata", "annotations"], self.annotations),
            (&["spec", "resources", "requests"], self.requests),
        ];
        let mut bytes = self.raw.to_vec();
        for (path, entries) in edits {
            if !entries.is_empty() {
                let root: Box<RawValue> = decode::json(&bytes)?;
                let changed = set_at(Some(&root), path, &entries)?;
                bytes = Box::<str>::from(changed).into_boxed_bytes().into_vec();
            }
        }
        Ok(bytes)
    }
}

/// `object` with `entries` set in the object at `path` below it.
fn set_at(
    object: Option<&RawValue>,
    path: &[&str],
    entries: &Entries,
) -> Result<Box<RawValue>, DecodeError> {
    let mut map: Object = match object {
        Some(object) => {
            decode::json::<Option<Object>>(object.get().as_bytes())?.unwrap_or_default()
        }
        None => Object::new(),
    };
    if let Some((first, rest)) = path.split_first() {
        let inner = set_at(map.get(*first).map(AsRef::as_ref), rest, entries)?;
        map.insert((*first).to_owned(), inner);
    } else {
        for (key, value) in entries {
            map.insert(
                (*key).to_owned(),
                to_raw_value(value).map_err(|error| unwritable(&error))?,
            );
        }
    }
    to_raw_value(&map).map_err(|error| unwritable(&error))
}

fn unwritable(error: &serde_json::Error) -> DecodeError {
    DecodeError {
        field: ".".to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests;
