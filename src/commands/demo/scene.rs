//! The cluster of the demo: a virtual machine's pod with its volumes, and the Backup that Velero sends.
//!
//! May use: model.

use std::time::Duration;

use kube_api::{ControllerOptions, KubeApi, SnapshotController, go_json, seed};
use serde_json::json;

use super::arguments::Arguments;
use super::error::DemoError;
use super::strategy::Strategy;
use crate::model::names::{PLUGIN, SNAPSHOT_CLASS};

/// The virtual machine's namespace.
pub const NAMESPACE: &str = "windows-vms";
/// The virtual machine.
const MACHINE: &str = "win2022";
/// A CSI driver that nobody has.
const DRIVER: &str = "csi.demo.example.com";
/// The ConfigMap with the volume policies.
const POLICIES: &str = "volume-policies";
/// Velero's namespace.
const VELERO: &str = "velero";

/// A cluster with the machine in it, and a snapshot controller at work.
pub struct Scene {
    /// The API.
    pub api: KubeApi,
    /// Its snapshot controller and storage.
    pub controller: SnapshotController,
    /// The PVCs, as Velero sends them.
    pub claims: Vec<Claim>,
    /// The Backup, as Velero sends it.
    pub backup: String,
}

/// A PVC.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Its JSON.
    pub json: String,
}

impl Scene {
    /// A fresh one.
    ///
    /// # Errors
    /// The in-memory API refuses the machine's pod.
    pub fn new(arguments: &Arguments, strategy: Strategy) -> Result<Self, DemoError> {
        let api = KubeApi::new();
        let controller = api.with_snapshot_controller(ControllerOptions {
            bind_delay: arguments.bind_latency,
            ..ControllerOptions::default()
        });
        controller.storage.latency(arguments.latency);
        let mark = [(SNAPSHOT_CLASS, "true")];
        seed::snapshot_class(&api, "demo-snapshots", DRIVER, "Delete", &mark, &[]);
        let claims: Vec<Claim> = (0..arguments.volumes)
            .map(|number| {
                let name = claim_name(number);
                let volume = seed::csi_volume(&api, NAMESPACE, &name, DRIVER, "64Gi");
                Claim {
                    name,
                    json: volume.json,
                }
            })
            .collect();
        api.put(launcher_pod(&claims))
            .map_err(|status| DemoError::Unexpected(format!("seed the pod: {status:?}")))?;
        seed::configmap(&api, VELERO, POLICIES, &[("policies.yaml", &policies())]);
        Ok(Self {
            api,
            controller,
            claims,
            backup: backup(strategy),
        })
    }

    /// Waits until the plugin has read what it reads ahead of a backup, at most for a second: Velero
    /// collects items between AppliesTo and the first Execute, and these requests belong to no PVC.
    pub async fn warm_up(&self) {
        const STEP: Duration = Duration::from_millis(20);
        for _ in 0..50 {
            let done = self.api.requests().iter().any(|request| {
                request.resource == "volumesnapshotclasses" && request.answered.is_some()
            });
            if done {
                break;
            }
            crate::wait::pause(STEP).await;
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.controller.stop();
    }
}

fn claim_name(number: u32) -> String {
    match number {
        0 => format!("{MACHINE}-system"),
        number => format!("{MACHINE}-data-{number}"),
    }
}

/// As KubeVirt makes it, with the hooks by which Velero freezes and thaws the guest.
fn launcher_pod(claims: &[Claim]) -> serde_json::Value {
    let freezer = |what: &str| {
        format!(
            "[\"/usr/bin/virt-freezer\",\"--{what}\",\"--name\",\"{MACHINE}\",\"--namespace\",\"{NAMESPACE}\"]"
        )
    };
    let volumes: Vec<_> = claims
        .iter()
        .map(
            |claim| json!({"name": claim.name, "persistentVolumeClaim": {"claimName": claim.name}}),
        )
        .collect();
    let devices: Vec<_> = claims
        .iter()
        .map(|claim| json!({"name": claim.name, "devicePath": format!("/dev/{}", claim.name)}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("virt-launcher-{MACHINE}-x7k2p"), "namespace": NAMESPACE,
            "labels": {"kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": MACHINE},
            "annotations": {
                "kubevirt.io/domain": MACHINE,
                "pre.hook.backup.velero.io/container": "compute",
                "pre.hook.backup.velero.io/command": freezer("freeze"),
                "post.hook.backup.velero.io/container": "compute",
                "post.hook.backup.velero.io/command": freezer("unfreeze"),
            },
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "compute", "image": "virt-launcher", "volumeDevices": devices}],
            "volumes": volumes,
        },
        "status": {"phase": "Running"},
    })
}

/// The take-over as the README shows it.
fn policies() -> String {
    format!(
        "version: v1\n\
         volumePolicies:\n\
         - conditions:\n    csi:\n      driver: {DRIVER}\n  \
         action:\n    type: custom\n    parameters:\n      handler: {PLUGIN}\n"
    )
}

fn backup(strategy: Strategy) -> String {
    let name = format!("demo-{}", strategy.name());
    let mut backup = seed::backup_json(&name, &format!("5eed0000-0000-4000-8000-{name:0>12}"));
    if let Some(spec) = backup
        .pointer_mut("/spec")
        .and_then(serde_json::Value::as_object_mut)
    {
        spec.insert("includedNamespaces".to_owned(), json!([NAMESPACE]));
        let policy = json!({"kind": "configmap", "name": POLICIES});
        spec.insert("resourcePolicy".to_owned(), policy);
    }
    go_json(&backup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::backup::Backup;

    #[test]
    fn backup_names_the_policies_and_has_a_uid_of_its_own() {
        let slow = Backup::decode(backup(Strategy::Slow).as_bytes()).unwrap();
        let early = Backup::decode(backup(Strategy::Early).as_bytes()).unwrap();
        assert_eq!(slow.policy_config_map(), Some(POLICIES));
        assert_ne!(slow.uid, early.uid);
        assert_eq!(slow.uid.len(), 36);
    }
}
