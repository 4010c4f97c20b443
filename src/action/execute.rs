//! Execute, told from top to bottom: read, decide, choose a class, create, wait, answer; or take back.
//!
//! May use: rules, cluster, model, wait.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use futures_util::FutureExt;
use tonic::codegen::Bytes;
use tracing::Instrument;

use super::error::ActionError;
use super::handle::{self, Cut};
use super::memory::Key;
use super::reads::Reader;
use super::snapshot::{self, Created, Made, Wanted};
use super::telling::snapshot_taken;
use super::{Answer, PvcAction, undo};
use crate::error::chain;
use crate::model::backup::Backup;
use crate::model::go_duration;
use crate::model::item::Item;
use crate::model::settings::Settings;
use crate::rules::cadence::Cadence;
use crate::rules::eligibility::{self, Because, Early};
use crate::rules::labels::snapshot_labels;
use crate::rules::outcome::outcome;
use crate::wait::{Deadline, Interrupt, Stopwatch};

/// Everything before the wait, the create included.
const PREPARATION: Duration = Duration::from_secs(30);

/// Answers one Execute; logs the one Error line of a failed one.
pub async fn execute(
    action: &PvcAction,
    item: Bytes,
    backup: &[u8],
    interrupt: &Interrupt,
) -> Result<Answer, ActionError> {
    let started = Stopwatch::start();
    let decoded = Backup::decode(backup)
        .map_err(ActionError::from)
        .and_then(|backup| {
            // R-3, C-8: in the finalizing phases there is nothing to do, whatever the item is.
            if backup.is_finalizing() {
                Ok((backup, None))
            } else {
                Ok((backup, Some(Item::decode(&item)?)))
            }
        });
    let (backup, pvc) = match decoded {
        Ok((_, None)) => return Ok(Answer::unchanged(item)),
        Ok((backup, Some(pvc))) => (backup, pvc),
        Err(error) => {
            tracing::error!(error = chain(&error), "cannot use the request");
            return Err(error);
        }
    };
    let span = tracing::info_span!(
        "execute",
        backup = format!("{}/{}", backup.namespace, backup.name),
        namespace = pvc.namespace(),
        pvc = pvc.name(),
        // Of a Warn or Error the results of a backup show only the item by these two names, message and error.
        resource = "persistentvolumeclaims",
        name = pvc.name()
    );
    let run = Run {
        action,
        settings: action.settings.clone(),
        backup,
        pvc,
        request: item,
        interrupt,
    };
    async {
        let result = run.answer().await;
        if let Err(error) = &result {
            let elapsed = go_duration::short(started.elapsed());
            tracing::error!(
                error = chain(error),
                elapsed,
                "the snapshot of the PVC failed"
            );
        }
        result
    }
    .instrument(span)
    .await
}

/// One Execute with what it was given.
pub(super) struct Run<'a> {
    pub(super) action: &'a PvcAction,
    pub(super) settings: Settings,
    pub(super) backup: Backup,
    pub(super) pvc: Item,
    pub(super) request: Bytes,
    interrupt: &'a Interrupt,
}

/// A PVC that is ours to snapshot.
pub(super) struct Plan {
    pub(super) because: Because,
    pub(super) driver: String,
}

/// The class that takes the snapshot, and why.
pub(super) struct Class {
    pub(super) name: String,
    pub(super) rule: String,
}

impl Run<'_> {
    async fn answer(mut self) -> Result<Answer, ActionError> {
        self.complain_about_settings();
        self.take_overrides();
        self.introduce_backup();
        if let Early::Leave(why) =
            eligibility::before_reading(&self.backup, &self.pvc, &self.settings)
        {
            return Ok(self.leave(&why));
        }
        let plan = match self.decide(self.reader(PREPARATION)).await? {
            Ok(plan) => plan,
            Err(why) => return Ok(self.leave(&why)),
        };
        // Another call for the same PVC may be at it; then this one adopts what that one makes (F54).
        let doing = "wait for another request for the same PVC";
        let turns = &self.action.memory.turns;
        let others = PREPARATION + self.backup.csi_snapshot_timeout + undo::LONGEST;
        let _turn = self
            .reader(others)
            .within(doing, async { Ok(turns.turn(self.key()).await) })
            .await?;
        self.snapshot(self.reader(PREPARATION), &plan).await
    }

    fn reader(&self, patience: Duration) -> Reader<'_> {
        Reader {
            cluster: &self.action.cluster,
            limit: self.settings.look_limit,
            deadline: Deadline::after(patience),
            interrupt: self.interrupt,
        }
    }

    /// What names this PVC in this backup.
    fn key(&self) -> Key {
        let pvc = match self.pvc.uid() {
            "" => format!("{}/{}", self.pvc.namespace(), self.pvc.name()),
            uid => uid.to_owned(),
        };
        (self.backup_key(), pvc)
    }

    /// What names this backup; a harness may send backups without UID.
    pub(super) fn backup_key(&self) -> String {
        match self.backup.uid.as_str() {
            "" => format!("{}/{}", self.backup.namespace, self.backup.name),
            uid => uid.to_owned(),
        }
    }

    /// From the class to the answer; whatever fails in between is taken back.
    async fn snapshot(&self, reader: Reader<'_>, plan: &Plan) -> Result<Answer, ActionError> {
        let mut made = None;
        let making = self.make(reader, plan, &mut made);
        let result = AssertUnwindSafe(making).catch_unwind().await;
        let result = match (result, self.interrupt.reason()) {
            // Nobody would read the answer.
            (Ok(Ok(_)), Some(reason)) => Ok(Err(ActionError::Interrupted(reason))),
            (result, _) => result,
        };
        let memory = &self.action.memory;
        if matches!(result, Ok(Ok(_))) {
            memory.answered(self.key());
        } else if let Some(made) = &made
            // What an earlier call has answered with belongs to Velero.
            && !memory.was_answered(&self.key())
        {
            undo::take_back(&self.action.cluster, made, self.interrupt).await;
        }
        // A panic goes on to the wire, which answers it, once nothing is left of it.
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    async fn make(
        &self,
        reader: Reader<'_>,
        plan: &Plan,
        made: &mut Option<Made>,
    ) -> Result<Answer, ActionError> {
        let class = self.choose_class(reader, plan).await?;
        let started = Stopwatch::start();
        let wanted = Wanted {
            namespace: self.pvc.namespace().to_owned(),
            pvc: self.pvc.name().to_owned(),
            class: class.name.clone(),
            labels: snapshot_labels(&self.backup, &self.pvc, &self.settings.label_deny),
            key: self.key(),
        };
        let Created { snapshot, adopted } = snapshot::create(reader, &wanted, made).await?;
        tracing::info!(
            volume_snapshot = snapshot.metadata.name,
            class = class.name,
            elapsed = go_duration::short(started.elapsed()),
            "{}",
            if adopted {
                "this backup has a VolumeSnapshot of the PVC already"
            } else {
                "created the VolumeSnapshot"
            }
        );
        let Some(made) = made.as_ref() else {
            return Err(ActionError::Undecided(
                "the VolumeSnapshot was not registered",
            ));
        };
        let created = Stopwatch::start();
        let cut = handle::wait(
            &self.action.cluster,
            handle::Plan {
                made,
                class: &class.name,
                driver: &plan.driver,
                cadence: Cadence::from_settings(&self.settings),
                timeout: self.backup.csi_snapshot_timeout,
            },
            created,
            self.interrupt,
        )
        .await?;
        snapshot_taken(made, &class, plan, &cut, created);
        self.outcome(made, &cut)
    }

    fn outcome(&self, made: &Made, cut: &Cut) -> Result<Answer, ActionError> {
        let outcome = outcome(&self.backup, &self.pvc, &made.name, cut.handle.restore_size)?;
        if let Some(text) = &outcome.resized {
            tracing::info!("{text}");
        }
        if let Some(text) = &outcome.warning {
            tracing::warn!(
                error = text,
                "the storage request of the PVC stays as it is"
            );
        }
        Ok(Answer {
            item: Bytes::from(outcome.item),
            additional_items: outcome.additional_items,
            operation_id: String::new(),
            post_operation_items: Vec::new(),
            // What an earlier call was answered with is not this answer's to take back.
            made: (!self.action.memory.was_answered(&self.key())).then(|| made.clone()),
        })
    }
}
