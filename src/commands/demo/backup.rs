//! One backup with one strategy: the plugin is started, asked for each PVC in turn as Velero does it in one
//! item block, and ended. May use: launch, proto, model.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::error::DemoError;
use super::execution::{Execution, Snapshot};
use super::figures::{Outcome, THAW, Volume};
use super::log::Log;
use super::measure::measure;
use super::record::Record;
use super::scene::Scene;
use super::screen::Screen;
use super::seconds;
use super::strategy::Strategy;
use crate::commands::launch::{Ended, Launch, Plugin};
use crate::model::names::{ACTION, RESOURCE_PVCS};
use crate::proto::generated::Empty;
use crate::proto::v2::BackupItemActionAppliesToRequest;

/// What a backup is played with.
#[derive(Clone, Copy)]
pub struct Played<'a> {
    /// The plugin's binary.
    pub plugin: &'a Path,
    /// Where sockets and kubeconfig go.
    pub scratch: &'a Path,
    /// What was asked for.
    pub arguments: &'a Arguments,
    /// How to wait.
    pub strategy: Strategy,
    /// Fires at Ctrl-C.
    pub stop: &'a CancellationToken,
}

/// What was seen while the plugin ran.
struct Seen {
    handshake: Duration,
    warm_up_requests: usize,
    frozen_at: Duration,
    snapshots: Vec<Snapshot>,
}

impl Played<'_> {
    /// Plays it.
    ///
    /// # Errors
    /// The plugin does not come up, answers something else than a snapshot, or does not end well.
    pub async fn play(&self, screen: &mut Screen) -> Result<Outcome, DemoError> {
        let scene = Scene::new(self.arguments, self.strategy)?;
        let served = scene.api.serve().await.map_err(DemoError::Api)?;
        let kubeconfig = self.scratch.join("kubeconfig");
        tokio::fs::write(&kubeconfig, served.kubeconfig())
            .await
            .map_err(DemoError::Scratch)?;
        let launch = self
            .strategy
            .environment()
            .iter()
            .fold(Launch::of_plugin(self.plugin), |launch, (name, value)| {
                launch.variable(name, value)
            })
            .variable("TMPDIR", self.scratch)
            .variable("KUBECONFIG", &kubeconfig)
            .arguments(["--features=EnableCSI", "--log-level", "info"]);
        let plugin = tokio::select! {
            plugin = launch.serve() => plugin?,
            () = self.stop.cancelled() => return Err(DemoError::Interrupted),
        };
        let mut log = Log::default();
        let result = self.talk(&scene, &plugin, &mut log, screen).await;
        // Whatever came of it, the plugin is ended as Velero ends it.
        let ended = plugin.kill().await?;
        log.show_rest(&ended, screen)?;
        let seen = result?;
        if !ended.status.success() {
            let text = format!("the plugin ended with {}", ended.status);
            return Err(DemoError::Unexpected(text));
        }
        self.outcome(&scene, &seen, &ended)
    }

    /// The conversation, from ListPlugins to the last Execute.
    async fn talk(
        &self,
        scene: &Scene,
        plugin: &Plugin,
        log: &mut Log,
        screen: &mut Screen,
    ) -> Result<Seen, DemoError> {
        let listed = plugin.lister().list_plugins(Empty {}).await;
        let listed = listed.map_err(|status| DemoError::call("ListPlugins", status))?;
        let listed = listed.into_inner().plugins;
        if !listed.iter().any(|one| one.name == ACTION) {
            return Err(DemoError::Unexpected(format!(
                "the plugin does not offer {ACTION}, but {listed:?}"
            )));
        }
        let request = BackupItemActionAppliesToRequest {
            plugin: ACTION.to_owned(),
        };
        let selector = plugin.action().applies_to(request).await;
        let selector = selector.map_err(|status| DemoError::call("AppliesTo", status))?;
        let selector = selector.into_inner().resource_selector;
        let resources = selector.unwrap_or_default().included_resources;
        if resources != [RESOURCE_PVCS] {
            return Err(DemoError::Unexpected(format!(
                "the plugin applies to {resources:?}, not to {RESOURCE_PVCS}"
            )));
        }
        scene.warm_up().await;
        screen.line(&format!(
            "{}: plugin started ({} to its handshake), guest frozen",
            self.strategy.name(),
            seconds::plain(plugin.started.elapsed)
        ))?;
        let mut seen = Seen {
            handshake: plugin.started.elapsed,
            warm_up_requests: scene.api.requests().len(),
            frozen_at: scene.api.elapsed(),
            snapshots: Vec::new(),
        };
        for claim in &scene.claims {
            let execution = Execution {
                scene,
                plugin,
                claim,
                frozen_at: seen.frozen_at,
                stop: self.stop,
            };
            let snapshot = execution.run(log, screen).await?;
            seen.snapshots.push(snapshot);
        }
        Ok(seen)
    }

    /// The figures, once the whole log is there.
    fn outcome(&self, scene: &Scene, seen: &Seen, ended: &Ended) -> Result<Outcome, DemoError> {
        let unexpected = scene.api.unexpected_requests();
        if !unexpected.is_empty() {
            return Err(DemoError::Unexpected(format!(
                "the plugin sent requests that no API server would answer: {unexpected:?}"
            )));
        }
        let records: Vec<Record> = ended.stderr.iter().map(|line| Record::read(line)).collect();
        let looks_at = records
            .iter()
            .map(|record| record.text("look"))
            .find(|look| !look.is_empty())
            .unwrap_or_default();
        let thawed_at = seen
            .snapshots
            .last()
            .map_or(seen.frozen_at, |snapshot| snapshot.answered);
        let window = thawed_at.saturating_sub(seen.frozen_at);
        let volumes = seen
            .snapshots
            .iter()
            .map(|snapshot| measure(scene, snapshot, seen.frozen_at, &records))
            .collect::<Result<Vec<Volume>, DemoError>>()?;
        Ok(Outcome {
            strategy: self.strategy.name(),
            looks_at: looks_at.to_owned(),
            window,
            in_time: window < THAW,
            handshake: seen.handshake,
            warm_up_requests: seen.warm_up_requests,
            requests: volumes.iter().map(|volume| volume.requests).sum(),
            exit_status: ended.status.code(),
            volumes,
        })
    }
}
