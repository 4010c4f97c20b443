//! The name of a PersistentVolume's type, as the condition `volumeTypes` spells it.

use k8s_openapi::api::core::v1::PersistentVolumeSpec;

/// The type, or empty text if the volume has no source that Kubernetes knows. The order is the one
/// in which Velero looks.
pub(super) fn volume_type(spec: &PersistentVolumeSpec) -> &'static str {
    let sources = [
        (
            spec.aws_elastic_block_store.is_some(),
            "awsElasticBlockStore",
        ),
        (spec.azure_disk.is_some(), "azureDisk"),
        (spec.azure_file.is_some(), "azureFile"),
        (spec.cephfs.is_some(), "cephfs"),
        (spec.cinder.is_some(), "cinder"),
        (spec.csi.is_some(), "csi"),
        (spec.fc.is_some(), "fc"),
        (spec.flocker.is_some(), "flocker"),
        (spec.flex_volume.is_some(), "flexVolume"),
        (spec.gce_persistent_disk.is_some(), "gcePersistentDisk"),
        (spec.glusterfs.is_some(), "glusterfs"),
        (spec.host_path.is_some(), "hostPath"),
        (spec.iscsi.is_some(), "iscsi"),
        (spec.local.is_some(), "local"),
        (spec.nfs.is_some(), "nfs"),
        (
            spec.photon_persistent_disk.is_some(),
            "photonPersistentDisk",
        ),
        (spec.portworx_volume.is_some(), "portworxVolume"),
        (spec.quobyte.is_some(), "quobyte"),
        (spec.rbd.is_some(), "rbd"),
        (spec.scale_io.is_some(), "scaleIO"),
        (spec.storageos.is_some(), "storageOS"),
        (spec.vsphere_volume.is_some(), "vsphereVolume"),
    ];
    sources
        .iter()
        .find(|(present, _)| *present)
        .map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_22_sources_then_its_name_7_8() {
        let names = [
            (
                "awsElasticBlockStore",
                "awsElasticBlockStore",
                r#"{"volumeID":"v"}"#,
            ),
            (
                "azureDisk",
                "azureDisk",
                r#"{"diskName":"d","diskURI":"u"}"#,
            ),
            (
                "azureFile",
                "azureFile",
                r#"{"secretName":"s","shareName":"s"}"#,
            ),
            ("cephfs", "cephfs", r#"{"monitors":[]}"#),
            ("cinder", "cinder", r#"{"volumeID":"v"}"#),
            ("csi", "csi", r#"{"driver":"d","volumeHandle":"h"}"#),
            ("fc", "fc", "{}"),
            ("flocker", "flocker", "{}"),
            ("flexVolume", "flexVolume", r#"{"driver":"d"}"#),
            (
                "gcePersistentDisk",
                "gcePersistentDisk",
                r#"{"pdName":"p"}"#,
            ),
            ("glusterfs", "glusterfs", r#"{"endpoints":"e","path":"p"}"#),
            ("hostPath", "hostPath", r#"{"path":"/"}"#),
            (
                "iscsi",
                "iscsi",
                r#"{"iqn":"i","lun":0,"targetPortal":"t"}"#,
            ),
            ("local", "local", r#"{"path":"/"}"#),
            ("nfs", "nfs", r#"{"server":"s","path":"/"}"#),
            (
                "photonPersistentDisk",
                "photonPersistentDisk",
                r#"{"pdID":"p"}"#,
            ),
            ("portworxVolume", "portworxVolume", r#"{"volumeID":"v"}"#),
            ("quobyte", "quobyte", r#"{"registry":"r","volume":"v"}"#),
            ("rbd", "rbd", r#"{"monitors":[],"image":"i"}"#),
            (
                "scaleIO",
                "scaleIO",
                r#"{"gateway":"g","system":"s","secretRef":{}}"#,
            ),
            ("storageos", "storageOS", "{}"),
            ("vsphereVolume", "vsphereVolume", r#"{"volumePath":"v"}"#),
        ];
        for (field, name, source) in names {
            let text = format!(r#"{{"{field}":{source}}}"#);
            let spec: PersistentVolumeSpec = serde_json::from_str(&text).unwrap();
            assert_eq!(volume_type(&spec), name);
        }
        assert_eq!(volume_type(&PersistentVolumeSpec::default()), "");
    }
}
