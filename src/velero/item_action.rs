//! What the service needs of an action: the seam between wire and story.
//!
//! A trait, so that the wire can be tested with actions that panic, wait and watch their caller.

use std::sync::Arc;

use prost::bytes::Bytes;

use crate::action::{ActionError, Answer, PvcAction};
use crate::model::operation_progress::Progress;
use crate::wait::Interrupt;

/// One backup item action.
pub trait ItemAction: Send + Sync + 'static {
    /// Starts whatever makes the first Execute faster. Returns at once and never fails.
    fn warm_up(self: &Arc<Self>);

    /// Handles one item; `item` and `backup` are JSON.
    fn execute(
        &self,
        item: Bytes,
        backup: Bytes,
        interrupt: &Interrupt,
    ) -> impl Future<Output = Result<Answer, ActionError>> + Send;

    /// Takes back what was done for an answer that nobody will read.
    fn take_back(&self, answer: Answer, interrupt: &Interrupt) -> impl Future<Output = ()> + Send;

    /// State of an operation that an earlier Execute started, perhaps in another process.
    fn progress(
        &self,
        operation_id: &str,
        backup: &[u8],
    ) -> impl Future<Output = Result<Progress, ActionError>> + Send;

    /// Gives such an operation up.
    fn cancel(
        &self,
        operation_id: &str,
        backup: &[u8],
    ) -> impl Future<Output = Result<(), ActionError>> + Send;
}

impl ItemAction for PvcAction {
    fn warm_up(self: &Arc<Self>) {
        Self::warm_up(self);
    }

    async fn execute(
        &self,
        item: Bytes,
        backup: Bytes,
        interrupt: &Interrupt,
    ) -> Result<Answer, ActionError> {
        Self::execute(self, item, backup, interrupt).await
    }

    async fn take_back(&self, answer: Answer, interrupt: &Interrupt) {
        Self::take_back(self, &answer, interrupt).await;
    }

    async fn progress(&self, operation_id: &str, _backup: &[u8]) -> Result<Progress, ActionError> {
        Self::progress(self, operation_id)
    }

    async fn cancel(&self, operation_id: &str, _backup: &[u8]) -> Result<(), ActionError> {
        Self::cancel(self, operation_id)
    }
}
