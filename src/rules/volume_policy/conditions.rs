//! The conditions of one policy: reading them, and whether a volume meets them all.
//!
//! Velero reads them twice, first as free values and then strictly into strings; see
//! [`super::scalar`] for what that does to plain scalars.

use std::collections::{BTreeMap, BTreeSet};

use super::capacity::Capacity;
use super::facts::{CsiFacts, NfsFacts, VolumeFacts};
use super::fault::Fault;
use super::scalar::Value;
use super::yaml::{Content, Node};

const NAMES: &[&str] = &[
    "capacity",
    "storageClass",
    "nfs",
    "csi",
    "volumeTypes",
    "pvcLabels",
    "pvcPhase",
    "pvcVolumeMode",
    "pvcAccessModes",
];

/// What must hold. Empty means no condition, except for `nfs` and `csi`, where "any NFS" differs
/// from "not asked".
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Conditions {
    capacity: Capacity,
    capacity_line: usize,
    storage_class: Vec<String>,
    nfs: Option<NfsFacts>,
    csi: Option<CsiCondition>,
    volume_types: Vec<String>,
    pvc_labels: BTreeMap<String, String>,
    pvc_phase: Vec<String>,
    pvc_volume_mode: String,
    pvc_access_modes: Vec<String>,
    without_value: Vec<(usize, &'static str)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct CsiCondition {
    line: usize,
    driver: String,
    /// `None` if not written; an empty map is written, which validation tells apart.
    attributes: Option<BTreeMap<String, String>>,
}

impl Conditions {
    pub(super) fn read(node: &Node) -> Result<Self, Fault> {
        let mut conditions = Self::default();
        for (name, value) in node.fields("volumeConditions", NAMES)? {
            conditions.read_one(name, value)?;
        }
        Ok(conditions)
    }

    fn read_one(&mut self, name: &'static str, value: &Node) -> Result<(), Fault> {
        match name {
            "pvcLabels" => {
                if value.go_type() != "map[string]interface {}" {
                    return Err(wrong_type(
                        value,
                        "pvcLabels must be a map of string to string",
                    ));
                }
                self.pvc_labels = string_map(value)?;
                return Ok(());
            }
            "pvcVolumeMode" => {
                if value.go_type() != "string" {
                    return Err(wrong_type(value, "pvcVolumeMode must be a string"));
                }
                value.text().clone_into(&mut self.pvc_volume_mode);
                return Ok(());
            }
            "pvcAccessModes" => {
                self.pvc_access_modes = access_modes(value)?;
                return Ok(());
            }
            _ => {}
        }
        if value.is_null() {
            self.without_value.push((value.line, name));
            return Ok(());
        }
        match name {
            "capacity" => {
                self.capacity_line = value.line;
                self.capacity = Capacity::read(value.line, &string(value)?)?;
            }
            "storageClass" => self.storage_class = strings(value)?,
            "volumeTypes" => self.volume_types = strings(value)?,
            "pvcPhase" => self.pvc_phase = strings(value)?,
            "nfs" => self.nfs = Some(nfs(value)?),
            _ => self.csi = Some(CsiCondition::read(value)?),
        }
        Ok(())
    }

    /// What can be read but is not allowed.
    pub(super) fn validate(&self) -> Result<(), Fault> {
        if !self.capacity.is_valid() {
            let fault = "illegal values for capacity: the upper limit is below the lower one";
            return Err(Fault::at(self.capacity_line, fault));
        }
        match &self.csi {
            Some(csi) if csi.driver.is_empty() && csi.attributes.is_some() => Err(Fault::at(
                csi.line,
                "csi driver should not be empty when filtering by volume attributes",
            )),
            _ => Ok(()),
        }
    }

    /// Conditions that are written without a value, which match everything (VP-13).
    pub(super) fn without_value(&self) -> &[(usize, &'static str)] {
        &self.without_value
    }

    /// Whether the volume meets all conditions.
    pub(super) fn hold(&self, volume: &VolumeFacts) -> bool {
        self.capacity.holds(volume.capacity)
            && listed(&self.storage_class, &volume.storage_class)
            && nfs_holds(self.nfs.as_ref(), volume.nfs.as_ref())
            && csi_holds(self.csi.as_ref(), volume.csi.as_ref())
            && (self.volume_types.is_empty()
                || self
                    .volume_types
                    .iter()
                    .any(|name| name == volume.volume_type))
            && self
                .pvc_labels
                .iter()
                .all(|(key, value)| volume.pvc_labels.get(key) == Some(value))
            && listed(&self.pvc_phase, &volume.pvc_phase)
            && (self.pvc_volume_mode.is_empty() || self.pvc_volume_mode == volume.pvc_volume_mode)
            && same_modes(&self.pvc_access_modes, &volume.pvc_access_modes)
    }
}

/// An empty list asks nothing; an empty value is in no list.
fn listed(list: &[String], value: &str) -> bool {
    list.is_empty() || (!value.is_empty() && list.iter().any(|item| item == value))
}

fn nfs_holds(wanted: Option<&NfsFacts>, volume: Option<&NfsFacts>) -> bool {
    let Some(wanted) = wanted else { return true };
    volume.is_some_and(|volume| {
        (wanted.path.is_empty() || wanted.path == volume.path)
            && (wanted.server.is_empty() || wanted.server == volume.server)
    })
}

fn csi_holds(wanted: Option<&CsiCondition>, volume: Option<&CsiFacts>) -> bool {
    let Some(wanted) = wanted else { return true };
    let Some(volume) = volume else { return false };
    if wanted.driver.is_empty() {
        return true;
    }
    let attributes = wanted.attributes.as_ref().filter(|all| !all.is_empty());
    wanted.driver == volume.driver
        && attributes.is_none_or(|attributes| {
            // A missing attribute equals empty text, but only beside other attributes.
            !volume.attributes.is_empty()
                && attributes.iter().all(|(key, value)| {
                    volume.attributes.get(key).map_or("", String::as_str) == value
                })
        })
}

/// Same number and same set; order does not matter, repetition does.
fn same_modes(wanted: &[String], volume: &[String]) -> bool {
    let set = |modes: &[String]| modes.iter().cloned().collect::<BTreeSet<_>>();
    wanted.is_empty() || (wanted.len() == volume.len() && set(wanted) == set(volume))
}

impl CsiCondition {
    fn read(node: &Node) -> Result<Self, Fault> {
        let mut csi = Self {
            line: node.line,
            ..Self::default()
        };
        for (name, value) in node.fields("csiVolumeSource", &["driver", "volumeAttributes"])? {
            match name {
                "driver" => csi.driver = string(value)?,
                _ if value.is_null() => {}
                _ => csi.attributes = Some(string_map(value)?),
            }
        }
        Ok(csi)
    }
}

fn nfs(node: &Node) -> Result<NfsFacts, Fault> {
    let mut nfs = NfsFacts::default();
    for (name, value) in node.fields("nFSVolumeSource", &["server", "path"])? {
        match name {
            "server" => nfs.server = string(value)?,
            _ => nfs.path = string(value)?,
        }
    }
    Ok(nfs)
}

fn string(node: &Node) -> Result<String, Fault> {
    node.printed().ok_or_else(|| node.mismatch("string"))
}

/// A list of strings; nulls in it vanish, as they do in yaml.v3.
fn strings(node: &Node) -> Result<Vec<String>, Fault> {
    let items = node.items("[]string")?.iter();
    items.filter(|item| !item.is_null()).map(string).collect()
}

fn string_map(node: &Node) -> Result<BTreeMap<String, String>, Fault> {
    let entries = node
        .entries()
        .map_err(|_| node.mismatch("map[string]string"))?;
    let plain_keys = node.go_type() == "map[string]interface {}";
    let mut map = BTreeMap::new();
    for (key, value) in entries {
        let key = if plain_keys {
            key.text().to_owned()
        } else if key.is_null() {
            continue;
        } else {
            string(key)?
        };
        map.insert(key, string(value)?);
    }
    Ok(map)
}

fn access_modes(node: &Node) -> Result<Vec<String>, Fault> {
    const WANTED: &str = "pvcAccessModes must be a list of strings";
    let Content::List(items) = &node.content else {
        return Err(wrong_type(node, WANTED));
    };
    let mode = |item: &Node| match &item.content {
        Content::Scalar(text, Value::Text) => Ok(text.clone()),
        _ => Err(Fault::at(
            item.line,
            format!("{WANTED}, got element {}", item.go_type()),
        )),
    };
    items.iter().map(mode).collect()
}

fn wrong_type(node: &Node, wanted: &str) -> Fault {
    Fault::at(node.line, format!("{wanted}, got {}", node.go_type()))
}
