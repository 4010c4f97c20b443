//! One Execute, and what is seen while it lasts. May use: launch, proto, model, wait.

use std::ops::Range;
use std::pin::pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::error::DemoError;
use super::figures::THAW;
use super::log::Log;
use super::scene::{Claim, Scene};
use super::screen::Screen;
use super::seconds;
use crate::commands::launch::Plugin;
use crate::model::names::{ACTION, RESOURCE_VOLUME_SNAPSHOTS};
use crate::proto::v2::ExecuteRequest;
use crate::wait;

/// How often the display changes.
const TICK: Duration = Duration::from_millis(100);

/// Characters of the bar that is full when Windows thaws.
const BAR: usize = 20;

/// A PVC to be backed up.
#[derive(Clone, Copy)]
pub struct Execution<'a> {
    /// Where.
    pub scene: &'a Scene,
    /// By whom.
    pub plugin: &'a Plugin,
    /// Which.
    pub claim: &'a Claim,
    /// When the guest was frozen, on the cluster's clock.
    pub frozen_at: Duration,
    /// Fires at Ctrl-C.
    pub stop: &'a CancellationToken,
}

/// What Execute made of a PVC; times are the cluster's.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The PVC.
    pub pvc: String,
    /// The VolumeSnapshot that the plugin has named to Velero.
    pub name: String,
    /// Execute was called.
    pub sent: Duration,
    /// Execute was answered.
    pub answered: Duration,
    /// The requests in the API's record that came in between.
    pub requests: Range<usize>,
}

impl Execution<'_> {
    /// Calls Execute and shows what goes on until its answer.
    ///
    /// # Errors
    /// The plugin answers with an error, or without a VolumeSnapshot; Ctrl-C.
    pub async fn run(&self, log: &mut Log, screen: &mut Screen) -> Result<Snapshot, DemoError> {
        let api = &self.scene.api;
        let request = ExecuteRequest {
            plugin: ACTION.to_owned(),
            item: self.claim.json.clone().into(),
            backup: self.scene.backup.clone().into(),
        };
        let mut action = self.plugin.action();
        log.forget_wait();
        let first_request = api.requests().len();
        let sent = api.elapsed();
        let mut call = pin!(action.execute(request));
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut call => break answer,
                () = self.stop.cancelled() => return Err(DemoError::Interrupted),
                () = wait::pause(TICK) => {
                    log.show_new(&self.plugin.started.stderr, screen)?;
                    let now = api.elapsed();
                    screen.change(&self.progress(now, sent, log.waiting_for()))?;
                }
            }
        };
        let answered = api.elapsed();
        let requests = first_request..api.requests().len();
        let pvc = &self.claim.name;
        let answer = answer
            .map_err(|status| DemoError::call(format!("Execute of PVC {pvc}"), status))?
            .into_inner();
        let snapshot = answer
            .additional_items
            .into_iter()
            .find(|item| item.resource == RESOURCE_VOLUME_SNAPSHOTS)
            .ok_or_else(|| {
                DemoError::Unexpected(format!("the plugin took no snapshot of PVC {pvc}"))
            })?;
        log.show_new(&self.plugin.started.stderr, screen)?;
        screen.line(&format!(
            "  {pvc:<WIDTH$} {:>9}  {}  {}",
            seconds::measured(answered.saturating_sub(sent)),
            frozen(answered.saturating_sub(self.frozen_at)),
            snapshot.name
        ))?;
        Ok(Snapshot {
            pvc: pvc.clone(),
            name: snapshot.name,
            sent,
            answered,
            requests,
        })
    }

    /// The line that changes.
    fn progress(&self, now: Duration, sent: Duration, waiting_for: &str) -> String {
        let waiting = match waiting_for {
            "" => String::new(),
            reason => format!("waiting for {reason}"),
        };
        format!(
            "  {:<WIDTH$} {:>9}  {}  {waiting}",
            self.claim.name,
            seconds::measured(now.saturating_sub(sent)),
            frozen(now.saturating_sub(self.frozen_at)),
        )
    }
}

/// Room for a PVC's name.
const WIDTH: usize = 15;

/// How far the guest is from its thaw.
fn frozen(time: Duration) -> String {
    let left = THAW.saturating_sub(time);
    if left.is_zero() {
        let since = time.saturating_sub(THAW);
        return format!(
            "[{}] Windows thawed {} ago",
            "#".repeat(BAR),
            seconds::measured(since)
        );
    }
    let full = usize::try_from(time.as_millis())
        .unwrap_or(usize::MAX)
        .saturating_mul(BAR)
        / usize::try_from(THAW.as_millis())
            .unwrap_or(usize::MAX)
            .max(1);
    format!(
        "[{:-<BAR$}] frozen for {}",
        "#".repeat(full.min(BAR)),
        seconds::measured(time)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_is_full_when_windows_thaws() {
        for (millis, text) in [
            (0, "[--------------------] frozen for 0.00 s"),
            (5_040, "[##########----------] frozen for 5.04 s"),
            (9_990, "[###################-] frozen for 9.99 s"),
            (10_000, "[####################] Windows thawed 0.00 s ago"),
            (25_500, "[####################] Windows thawed 15.50 s ago"),
        ] {
            assert_eq!(frozen(Duration::from_millis(millis)), text);
        }
    }
}
