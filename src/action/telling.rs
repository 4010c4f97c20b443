//! What one Execute says: one line per decision and object, at the level that Velero counts by.
//!
//! May use: rules, model.

use super::Answer;
use super::execute::{Class, Plan, Run};
use super::handle::Cut;
use super::snapshot::Made;
use crate::model::go_duration;
use crate::model::knobs;
use crate::rules::eligibility::{Level, Why};
use crate::wait::Stopwatch;

impl Run<'_> {
    /// One Warn per process naming every bad variable; their defaults hold.
    pub(super) fn complain_about_settings(&self) {
        let bad = self.action.memory.take_bad_settings();
        if !bad.is_empty() {
            let list: Vec<String> = bad.iter().map(ToString::to_string).collect();
            tracing::warn!(error = list.join("; "), "settings that cannot be used");
        }
    }

    /// The backup's annotations override the process-wide knobs for it.
    pub(super) fn take_overrides(&mut self) {
        let bad = knobs::apply_annotations(&mut self.settings, |name| {
            self.backup.annotations.get(name).map(String::as_str)
        });
        if !bad.is_empty() && self.first_time("overrides") {
            let list: Vec<String> = bad.iter().map(ToString::to_string).collect();
            tracing::warn!(
                error = list.join("; "),
                "annotations of the backup that cannot be used"
            );
        }
    }

    /// One Info per backup: who we are and how we look.
    pub(super) fn introduce_backup(&self) {
        if !self.first_time("introduction") {
            return;
        }
        let early = self.settings.early;
        let how = if early.on {
            format!(
                "every {} for {}, then every {}",
                go_duration::short(self.settings.early_interval),
                go_duration::short(self.settings.early_window),
                go_duration::short(self.settings.poll_interval)
            )
        } else {
            format!("every {}", go_duration::short(self.settings.poll_interval))
        };
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            early = if early.on { "on" } else { "off" },
            early_from = early.variable.unwrap_or("default"),
            look = how,
            timeout = go_duration::short(self.backup.csi_snapshot_timeout),
            "velero-plugin-csi-fastpoll takes part in this backup"
        );
    }

    /// Whether this is the first time in this backup that `what` is to be said.
    pub(super) fn first_time(&self, what: &str) -> bool {
        let key = format!("{what} {}", self.backup_key());
        self.action.memory.first_time(&key)
    }

    pub(super) fn leave(&self, why: &Why) -> Answer {
        let Why { level, text } = why;
        let first = matches!(level, Level::WarnOncePerBackup) && self.first_time(text);
        match level {
            Level::Debug => tracing::debug!(because = text, "leaving the PVC alone"),
            Level::WarnOncePerBackup if !first => {
                tracing::info!(because = text, "leaving the PVC alone");
            }
            Level::Info => tracing::info!(because = text, "leaving the PVC alone"),
            // Of a warning Velero's results and `describe` show no field but `error`.
            Level::Warn | Level::WarnOncePerBackup => {
                tracing::warn!(because = text, error = text, "leaving the PVC alone");
            }
        }
        Answer::unchanged(self.request.clone())
    }
}

/// One Info per PVC: everything needed to find the snapshot again (F23, F39, F115).
pub(super) fn snapshot_taken(
    made: &Made,
    class: &Class,
    plan: &Plan,
    cut: &Cut,
    created: Stopwatch,
) {
    if let Some(error) = &cut.handle.error {
        tracing::warn!(
            volume_snapshot = made.name,
            content = cut.handle.content,
            error,
            "the snapshot has a handle, but the driver still reports an error"
        );
    }
    tracing::info!(
        volume_snapshot = made.name,
        content = cut.handle.content,
        handle = cut.handle.handle,
        class = class.name,
        class_by = class.rule,
        because = plan.because.to_string(),
        driver = plan.driver,
        bound_after = go_duration::short(cut.bound),
        handle_after = go_duration::short(cut.handle_seen),
        looks = cut.looks,
        elapsed = go_duration::short(created.elapsed()),
        "the storage has cut the snapshot"
    );
}
