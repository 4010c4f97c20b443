//! One cluster in memory, one plugin on top of it, tokio's paused clock under both.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube_api::{ControllerOptions, KubeApi, SnapshotController, seed};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, SubscriberExt};
use velero_plugin_csi_fastpoll::action::{ActionError, Answer, PvcAction};
use velero_plugin_csi_fastpoll::cluster::ClientSource;
use velero_plugin_csi_fastpoll::model::settings::{BadSetting, EarlySwitch, Settings};
use velero_plugin_csi_fastpoll::wait::Interrupt;

/// The whole text of an error, as Velero gets it.
pub fn text(error: &ActionError) -> String {
    velero_plugin_csi_fastpoll::error::chain(error)
}

pub const DRIVER: &str = "csi.example.com";
pub const BACKUP_UID: &str = "2f1c6a2e-6f0b-4d55-9a3e-0a1b2c3d4e5f";

/// Everything a test needs.
pub struct Bench {
    pub api: KubeApi,
    pub snapshotter: SnapshotController,
    pub action: Arc<PvcAction>,
    pub backup: Value,
    pub pvc: String,
    pub stop: CancellationToken,
    pub caller: CancellationToken,
    pub log: Log,
    unexpected_is_fine: std::cell::Cell<bool>,
    _subscriber: tracing::subscriber::DefaultGuard,
}

/// Early phase on, defaults otherwise.
pub fn early() -> Settings {
    Settings {
        early: EarlySwitch {
            on: true,
            variable: Some("VELERO_CSI_EARLY_FAST_POLL"),
        },
        ..Settings::default()
    }
}

impl Bench {
    /// PVC shop/data of one CSI volume, a class of policy Delete, a quick snapshotter.
    pub fn new(settings: Settings) -> Self {
        Self::with(settings, ControllerOptions::default(), "Delete", Vec::new())
    }

    pub fn with(
        settings: Settings,
        options: ControllerOptions,
        policy: &str,
        bad: Vec<BadSetting>,
    ) -> Self {
        let api = KubeApi::new();
        seed::namespace(&api, "velero");
        let volume = seed::csi_volume(&api, "shop", "data", DRIVER, "1Gi");
        seed::snapshot_class(&api, "gold", DRIVER, policy, &[], &[]);
        let snapshotter = api.with_snapshot_controller(options);
        let client = kube::Client::new(api.clone(), "default");
        let action = Arc::new(PvcAction::with_client(
            ClientSource::Given(client),
            settings,
            bad,
        ));
        let log = Log::default();
        let subscriber =
            tracing::subscriber::set_default(tracing_subscriber::registry().with(log.clone()));
        Self {
            api,
            snapshotter,
            action,
            backup: seed::backup_json("nightly", BACKUP_UID),
            pvc: volume.json,
            stop: CancellationToken::new(),
            caller: CancellationToken::new(),
            log,
            unexpected_is_fine: std::cell::Cell::new(false),
            _subscriber: subscriber,
        }
    }

    pub fn timeout(&mut self, timeout: &str) {
        self.backup["spec"]["csiSnapshotTimeout"] = json!(timeout);
    }

    /// A volume policy in ConfigMap velero/policies, named by the backup.
    pub fn policy(&mut self, yaml: &str) {
        seed::configmap(&self.api, "velero", "policies", &[("policies.yaml", yaml)]);
        self.backup["spec"]["resourcePolicy"] = json!({"kind": "configmap", "name": "policies"});
    }

    pub async fn execute(&self) -> Result<Answer, ActionError> {
        self.execute_item(self.pvc.clone().into_bytes()).await
    }

    pub async fn execute_item(&self, item: Vec<u8>) -> Result<Answer, ActionError> {
        let interrupt = Interrupt::new(self.stop.clone(), self.caller.clone());
        self.action
            .execute(item.into(), self.backup.to_string().into(), &interrupt)
            .await
    }

    /// Instants, in seconds since the create was answered, at which the VolumeSnapshot was looked at.
    pub fn looks(&self) -> Vec<f64> {
        let created = self.created_at();
        self.requests("get", "volumesnapshots")
            .into_iter()
            .map(|at| (at - created).as_secs_f64())
            .collect()
    }

    pub fn created_at(&self) -> Duration {
        self.requests("create", "volumesnapshots")[0]
    }

    pub fn requests(&self, verb: &str, resource: &str) -> Vec<Duration> {
        self.api
            .requests()
            .into_iter()
            .filter(|request| request.verb == verb && request.resource == resource)
            .map(|request| request.at)
            .collect()
    }

    /// Requests by verb and resource, as `verb resource`.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        self.api
            .counts()
            .into_iter()
            .map(|((verb, resource), count)| (format!("{verb} {resource}"), count))
            .collect()
    }

    pub fn writes(&self) -> usize {
        self.api
            .requests()
            .iter()
            .filter(|r| !["get", "list", "watch"].contains(&r.verb))
            .count()
    }

    /// Nothing of ours is left: no VolumeSnapshot, no content, no storage snapshot.
    pub fn assert_nothing_left(&self) {
        assert_eq!(names(&self.api, "volumesnapshots"), Vec::<String>::new());
        assert_eq!(
            names(&self.api, "volumesnapshotcontents"),
            Vec::<String>::new()
        );
        assert_eq!(self.storage().handles(), Vec::<String>::new());
    }

    pub fn storage(&self) -> kube_api::Storage {
        self.snapshotter.storage.clone()
    }

    /// The test has looked at the unexpected requests itself.
    pub fn expect_unexpected(&self) {
        self.unexpected_is_fine.set(true);
    }

    /// The only VolumeSnapshot.
    pub fn snapshot(&self) -> Value {
        let snapshots = self.api.objects("volumesnapshots");
        assert_eq!(snapshots.len(), 1, "{snapshots:?}");
        snapshots[0].clone()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.unexpected_is_fine.get() {
            assert_eq!(self.api.unexpected_requests(), Vec::<String>::new());
        }
    }
}

pub fn names(api: &KubeApi, plural: &str) -> Vec<String> {
    api.objects(plural)
        .iter()
        .map(|object| {
            object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

/// Lines of our own targets.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Line>>>);

#[derive(Clone, Debug)]
pub struct Line {
    pub level: tracing::Level,
    pub message: String,
    pub fields: BTreeMap<String, String>,
}

impl Log {
    pub fn lines(&self) -> Vec<Line> {
        self.0.lock().unwrap().clone()
    }

    pub fn of(&self, level: tracing::Level) -> Vec<Line> {
        self.lines()
            .into_iter()
            .filter(|line| line.level == level)
            .collect()
    }

    pub fn errors(&self) -> usize {
        self.of(tracing::Level::ERROR).len()
    }

    pub fn warnings(&self) -> Vec<Line> {
        self.of(tracing::Level::WARN)
    }

    /// Lines that contain `text` in message or fields.
    pub fn saying(&self, text: &str) -> Vec<Line> {
        self.lines()
            .into_iter()
            .filter(|line| line.to_string().contains(text))
            .collect()
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {:?}", self.level, self.message, self.fields)
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if !event
            .metadata()
            .target()
            .starts_with("velero_plugin_csi_fastpoll")
        {
            return;
        }
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        let message = fields.0.remove("message").unwrap_or_default();
        self.0.lock().unwrap().push(Line {
            level: *event.metadata().level(),
            message,
            fields: fields.0,
        });
    }
}

struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}
