//! What of a volume and its claim the conditions look at.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PersistentVolume;

use super::volume_type::volume_type;
use crate::model::item::Item;
use crate::model::quantity::Quantity;

/// A volume as policies see it. Without a PersistentVolume only what the claim says is known:
/// capacity 0, no class, no type (VP-21).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeFacts {
    /// `spec.capacity.storage` of the PV.
    pub capacity: Quantity,
    /// `spec.storageClassName` of the PV, not of the claim.
    pub storage_class: String,
    /// Set for an NFS volume.
    pub nfs: Option<NfsFacts>,
    /// Set for a CSI volume.
    pub csi: Option<CsiFacts>,
    /// One of 22 names, or empty.
    pub volume_type: &'static str,
    /// Labels of the claim.
    pub pvc_labels: BTreeMap<String, String>,
    /// `status.phase` of the claim, or empty.
    pub pvc_phase: String,
    /// `spec.volumeMode` of the claim, or empty.
    pub pvc_volume_mode: String,
    /// `spec.accessModes` of the claim.
    pub pvc_access_modes: Vec<String>,
}

/// The NFS source of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NfsFacts {
    /// Server.
    pub server: String,
    /// Exported path.
    pub path: String,
}

/// The CSI source of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsiFacts {
    /// Driver.
    pub driver: String,
    /// `volumeAttributes`.
    pub attributes: BTreeMap<String, String>,
}

impl VolumeFacts {
    /// The facts of a claim and, if it is known, its volume. A capacity that is no quantity, which
    /// the API server does not let through, counts as 0.
    #[must_use]
    pub fn new(volume: Option<&PersistentVolume>, claim: &Item) -> Self {
        let mut facts = Self {
            pvc_labels: claim.labels().clone(),
            pvc_phase: claim.phase().to_owned(),
            pvc_volume_mode: claim.volume_mode().to_owned(),
            pvc_access_modes: claim.access_modes().to_vec(),
            ..Self::default()
        };
        let Some(spec) = volume.and_then(|volume| volume.spec.as_ref()) else {
            return facts;
        };
        let capacity = spec.capacity.as_ref().and_then(|all| all.get("storage"));
        facts.capacity = capacity
            .and_then(|quantity| quantity.0.parse().ok())
            .unwrap_or_default();
        facts.storage_class = spec.storage_class_name.clone().unwrap_or_default();
        facts.nfs = spec.nfs.as_ref().map(|nfs| NfsFacts {
            server: nfs.server.clone(),
            path: nfs.path.clone(),
        });
        facts.csi = spec.csi.as_ref().map(|csi| CsiFacts {
            driver: csi.driver.clone(),
            attributes: csi.volume_attributes.clone().unwrap_or_default(),
        });
        facts.volume_type = volume_type(spec);
        facts
    }
}
