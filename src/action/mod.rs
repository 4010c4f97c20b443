//! What one request of Velero does, from reading it to answering it.
//!
//! [`PvcAction`] is shared by all calls of the process; it holds the cluster and what is read once per
//! backup. May use: rules, cluster, model, wait.

mod error;
mod execute;
mod handle;
mod memory;
mod reads;
mod snapshot;
mod survey;
mod telling;
mod undo;

use std::sync::Arc;
use std::time::Duration;

use tonic::codegen::Bytes;

pub use error::ActionError;
pub use snapshot::Made;

use crate::cluster::{ClientSource, Cluster, Limits};
use crate::model::object_ref::ObjectRef;
use crate::model::operation_progress::Progress;
use crate::model::settings::{BadSetting, Settings};
use crate::wait::{Budget, Deadline, Interrupt};
use memory::Memory;

/// Longest warm-up: it is only worth while nobody is frozen yet.
const WARM_UP: Duration = Duration::from_secs(10);

/// Answers Velero's calls; many at once.
pub struct PvcAction {
    settings: Settings,
    cluster: Cluster,
    memory: Memory,
}

/// What Execute gives back to Velero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The item's JSON; the request bytes when nothing changed (P-16).
    pub item: Bytes,
    /// Objects that Velero backs up right after this item.
    pub additional_items: Vec<ObjectRef>,
    /// Id of an asynchronous operation, empty for none.
    pub operation_id: String,
    /// Objects that Velero reads again when the operation is done; never a PVC, PV or Pod (C-9).
    pub post_operation_items: Vec<ObjectRef>,
    /// What was made for this answer, to be taken back if nobody reads it.
    pub made: Option<Made>,
}

impl Answer {
    /// The item as it came.
    #[must_use]
    pub fn unchanged(item: Bytes) -> Self {
        Self {
            item,
            additional_items: Vec::new(),
            operation_id: String::new(),
            post_operation_items: Vec::new(),
            made: None,
        }
    }
}

impl PvcAction {
    /// Asks the cluster that Velero's flags and environment name. Reads no file and makes no connection.
    #[must_use]
    pub fn new(settings: Settings, bad: Vec<BadSetting>) -> Self {
        let source = ClientSource::from_settings(&settings);
        Self::with_client(source, settings, bad)
    }

    /// Asks the given cluster.
    #[must_use]
    pub fn with_client(source: ClientSource, settings: Settings, bad: Vec<BadSetting>) -> Self {
        let cluster = Cluster::new(source, &settings);
        Self {
            settings,
            cluster,
            memory: Memory::new(bad),
        }
    }

    /// Opens the connection and reads the snapshot classes before anything is frozen.
    ///
    /// Detached: never waits, never fails, logs nothing that Velero counts.
    pub fn warm_up(self: &Arc<Self>) {
        let action = Arc::clone(self);
        tokio::spawn(async move {
            let budget = Arc::new(Budget::new(WARM_UP));
            let limits = Limits {
                budget,
                deadline: Deadline::after(WARM_UP),
            };
            match action.cluster.snapshot_classes(&limits).await {
                Ok(classes) => action.memory.keep_classes(classes),
                Err(error) => {
                    tracing::debug!(error = error.to_string(), "the warm-up did not get through");
                }
            }
        });
    }

    /// Takes the snapshot of a PVC, or leaves the PVC alone.
    ///
    /// Returns at the latest 31 s after `csiSnapshotTimeout`, counted from the create's answer, whatever
    /// hangs. What it made is gone, or named in a Warn, when it returns an error.
    ///
    /// # Errors
    /// See [`ActionError`]; each is logged once, at Error, before it is returned.
    pub async fn execute(
        &self,
        item: Bytes,
        backup: Bytes,
        interrupt: &Interrupt,
    ) -> Result<Answer, ActionError> {
        Box::pin(execute::execute(self, item, &backup, interrupt)).await
    }

    /// Takes an answer back that nobody will read.
    pub async fn take_back(&self, answer: &Answer, interrupt: &Interrupt) {
        if let Some(made) = &answer.made {
            let key = made.key();
            let _turn = self.memory.turns.turn(key.clone()).await;
            self.memory.forget_answer(&key);
            Box::pin(undo::take_back(&self.cluster, made, interrupt)).await;
        }
    }

    /// Progress of an operation; there are none yet.
    ///
    /// # Errors
    /// The id is not ours.
    pub fn progress(&self, operation_id: &str) -> Result<Progress, ActionError> {
        Err(ActionError::UnknownOperation(operation_id.to_owned()))
    }

    /// Cancels an operation; there are none yet.
    ///
    /// # Errors
    /// The id is not ours.
    pub fn cancel(&self, operation_id: &str) -> Result<(), ActionError> {
        Err(ActionError::UnknownOperation(operation_id.to_owned()))
    }
}
