//! One cluster on loopback with one PVC, and how a test talks about it.

use std::path::PathBuf;
use std::time::Duration;

use kube_api::{
    ControllerOptions, KubeApi, Matcher, Recorded, Served, SnapshotController, Storage, seed,
};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tonic::Status;
use velero_plugin_csi_fastpoll::commands::launch::{Launch, Plugin};
use velero_plugin_csi_fastpoll::model::names::ACTION;
use velero_plugin_csi_fastpoll::proto::v2::{ExecuteRequest, ExecuteResponse};

use crate::support::{PATIENCE, launch, log_record, within};

pub const DRIVER: &str = "csi.example.com";

/// PVC shop/data on a CSI volume, class gold, a quick snapshotter; all of it behind a kubeconfig.
pub struct World {
    pub api: KubeApi,
    pub snapshotter: SnapshotController,
    pub served: Served,
    pub backup: Value,
    pub pvc: Value,
    directory: tempfile::TempDir,
    backups: u32,
}

impl World {
    pub async fn new() -> Self {
        let api = KubeApi::new();
        let volume = seed::csi_volume(&api, "shop", "data", DRIVER, "1Gi");
        seed::snapshot_class(&api, "gold", DRIVER, "Delete", &[], &[]);
        let snapshotter = api.with_snapshot_controller(ControllerOptions::default());
        let served = api.serve().await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("sockets")).unwrap();
        std::fs::write(directory.path().join("kubeconfig"), served.kubeconfig()).unwrap();
        let mut world = Self {
            api,
            snapshotter,
            served,
            backup: Value::Null,
            pvc: volume.pvc,
            directory,
            backups: 0,
        };
        world.next_backup();
        world
    }

    /// Another backup of the same PVC.
    pub fn next_backup(&mut self) {
        self.backups += 1;
        let uid = format!("2f1c6a2e-6f0b-4d55-9a3e-{:012}", self.backups);
        self.backup = seed::backup_json(&format!("nightly-{}", self.backups), &uid);
    }

    pub fn storage(&self) -> &Storage {
        &self.snapshotter.storage
    }

    /// A file beside the sockets.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file beside the sockets.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Names in the directory of the sockets.
    pub fn sockets(&self) -> usize {
        self.file("sockets").read_dir().unwrap().count()
    }

    /// The plugin with this cluster's kubeconfig and no other setting.
    pub fn launch(&self) -> Launch {
        launch(&self.file("sockets")).variable("KUBECONFIG", self.file("kubeconfig"))
    }

    /// The same, looking ten times a second.
    pub fn quick(&self) -> Launch {
        self.launch()
            .variable("VELERO_CSI_EARLY_FAST_POLL", "true")
            .variable("VELERO_CSI_EARLY_INTERVAL", "100ms")
            .variable("VELERO_CSI_EARLY_WINDOW", "1h")
    }

    pub fn request(&self) -> ExecuteRequest {
        ExecuteRequest {
            plugin: ACTION.into(),
            item: self.pvc.to_string().into(),
            backup: self.backup.to_string().into(),
        }
    }

    pub async fn execute(&self, plugin: &Plugin) -> Result<ExecuteResponse, Status> {
        let mut action = plugin.action();
        let answer = within(PATIENCE, action.execute(self.request())).await;
        answer.map(tonic::Response::into_inner)
    }

    /// Execute on the plugin's connection, in the background.
    pub fn begin(&self, plugin: &Plugin) -> JoinHandle<Result<ExecuteResponse, Status>> {
        let (mut action, request) = (plugin.action(), self.request());
        tokio::spawn(async move {
            let answer = action.execute(request).await;
            answer.map(tonic::Response::into_inner)
        })
    }

    /// The first `count` requests of this verb about this resource, once they have come.
    pub async fn seen(&self, verb: &str, resource: &str, count: usize) -> Vec<Recorded> {
        let wanted = Matcher::on(verb, resource);
        eventually(&format!("{count} x {verb} {resource}"), || {
            self.api.count(verb, resource) >= count
        })
        .await;
        let mut requests = self.api.requests_matching(&wanted);
        requests.truncate(count);
        requests
    }

    /// Waits until the driver is at work and the plugin has looked at the content.
    pub async fn hangs(&self) {
        self.seen("get", "volumesnapshotcontents", 1).await;
        eventually("the driver is at work", || self.storage().is_working()).await;
    }

    pub fn names(&self, plural: &str) -> Vec<String> {
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        self.api.objects(plural).iter().map(name).collect()
    }

    /// Waits until no VolumeSnapshot, no content and no snapshot of the storage is there, nor being made.
    pub async fn nothing_left(&self) {
        eventually("everything is taken back", || {
            self.names("volumesnapshots").is_empty()
                && self.names("volumesnapshotcontents").is_empty()
                && self.storage().handles().is_empty()
                && !self.storage().is_working()
        })
        .await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.api.unexpected_requests(), Vec::<String>::new());
        }
    }
}

/// Waits until `condition` holds; it is looked at often.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let looks = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let done = tokio::time::timeout(PATIENCE, looks).await;
    assert!(done.is_ok(), "not within {PATIENCE:?}: {what}");
}

/// The first line of the plugin's log that has all of `texts`, once it has come.
pub async fn said(plugin: &Plugin, texts: &[&str]) -> String {
    let find = || {
        let lines = plugin.started.stderr.so_far();
        let said = |line: &String| texts.iter().all(|text| line.contains(text));
        lines.into_iter().find(said)
    };
    eventually(&format!("a line says {texts:?}"), || find().is_some()).await;
    find().unwrap()
}

/// All lines as log records; each is checked.
pub fn records(lines: &[String]) -> Vec<Map<String, Value>> {
    lines.iter().map(|line| log_record(line)).collect()
}

/// Records that Velero counts.
pub fn counted(lines: &[String]) -> Vec<Map<String, Value>> {
    let mut records = records(lines);
    records.retain(|record| {
        ["warn", "error"]
            .map(Value::from)
            .contains(&record["@level"])
    });
    records
}

/// The only record with this message.
pub fn the(lines: &[String], message: &str) -> Map<String, Value> {
    let mut records = records(lines);
    records.retain(|record| record["@message"] == json!(message));
    assert_eq!(records.len(), 1, "{message}: {lines:#?}");
    records.remove(0)
}
