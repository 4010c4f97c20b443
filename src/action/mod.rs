//! What one request does. A stub until the story is written: every item is echoed.

use std::sync::Arc;

use prost::bytes::Bytes;

use crate::error::ErrorKind;
use crate::model::object_ref::ObjectRef;
use crate::model::operation_progress::Progress;
use crate::model::settings::{BadSetting, Settings};
use crate::wait::Interrupt;

/// The action on PersistentVolumeClaims.
#[derive(Debug)]
pub struct PvcAction;

/// What Execute answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The item, edited or as it came.
    pub item: Bytes,
    /// Objects to back up with it.
    pub additional_items: Vec<ObjectRef>,
    /// Not empty when something goes on after the answer.
    pub operation_id: String,
    /// Objects to fetch again when that has ended.
    pub post_operation_items: Vec<ObjectRef>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The id names no operation of ours.
    #[error("operation {0:?} was not started by this plugin")]
    ForeignOperation(String),
}

impl ActionError {
    /// What the caller would do differently.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::ForeignOperation(_) => ErrorKind::InvalidInput,
        }
    }
}

#[allow(
    missing_docs,
    clippy::unused_async,
    clippy::missing_errors_doc,
    reason = "stub"
)]
impl PvcAction {
    #[must_use]
    pub fn new(_settings: Arc<Settings>, _bad: Vec<BadSetting>) -> Self {
        Self
    }

    pub fn warm_up(self: &Arc<Self>) {}

    pub async fn execute(
        &self,
        item: Bytes,
        _backup: Bytes,
        _interrupt: &Interrupt,
    ) -> Result<Answer, ActionError> {
        Ok(Answer {
            item,
            ..Answer::default()
        })
    }

    pub async fn progress(&self, id: &str, _backup: &[u8]) -> Result<Progress, ActionError> {
        Err(ActionError::ForeignOperation(id.to_owned()))
    }

    pub async fn cancel(&self, id: &str, _backup: &[u8]) -> Result<(), ActionError> {
        Err(ActionError::ForeignOperation(id.to_owned()))
    }
}
