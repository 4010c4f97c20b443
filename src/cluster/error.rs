//! What the API server answered when it did not answer with an object.
//!
//! kube's own errors repeat their source in their text (T6) and hide the HTTP code of an answer that
//! is no Status (T14), so answers are judged here, once, for everything above. May use: model.

use std::time::Duration;

use super::request::Call;
use crate::model::go_duration;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {fault}")]
pub struct ApiError {
    /// What was asked, of which object.
    pub call: Box<Call>,
    /// What came back.
    pub fault: Fault,
}

/// What came back instead of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A Status that says that this very object does not exist.
    #[error("not found")]
    NotFound,
    /// 403. Final only once the API server is known to be ready.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// 401. A rotated token is re-read within a minute.
    #[error("unauthorized: {0}")]
    Unauthorized(String),
    /// 409 on a create: the name is taken.
    #[error("already exists")]
    AlreadyExists,
    /// 409 otherwise: a precondition did not hold.
    #[error("conflict: {0}")]
    Conflict(String),
    /// Any other definite refusal.
    #[error("refused with code {code}: {message}")]
    Refused {
        /// HTTP code.
        code: u16,
        /// The Status message.
        message: String,
    },
    /// 429: not processed, ask again.
    #[error("too many requests: {0}")]
    Throttled(String),
    /// The server or the way to it is in trouble. A write may or may not have happened.
    #[error("{0}")]
    Unavailable(String),
    /// A 404 that does not name our object: the path is not served (yet).
    #[error(
        "the API server does not serve this resource (are the CustomResourceDefinitions installed?): {0}"
    )]
    Unserved(String),
    /// No answer within the time given to it. A write may or may not have happened.
    #[error("no answer within {}", go_duration::short(*.0))]
    NoAnswer(Duration),
    /// Never sent: our own limits held it back until the caller's deadline.
    #[error(
        "not sent: too many requests of this plugin wait for --client-qps, --client-burst or a free connection"
    )]
    Queued,
    /// An answer that is not what was asked for.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
    /// There is no usable client configuration.
    #[error("no Kubernetes client: {0}")]
    NoClient(String),
}

impl ApiError {
    /// Whether the object asked for certainly does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.fault == Fault::NotFound
    }

    /// Whether the same question may be answered differently in a moment.
    ///
    /// 401 and 403 are not in here: they are judged with a grace of their own.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self.fault {
            Fault::Throttled(_)
            | Fault::Queued
            | Fault::Unavailable(_)
            | Fault::Unserved(_)
            | Fault::NoAnswer(_)
            | Fault::Unreadable(_) => true,
            // Files and variables do not mend themselves; the next request reads them again.
            Fault::NoClient(_)
            | Fault::NotFound
            | Fault::Forbidden(_)
            | Fault::Unauthorized(_)
            | Fault::AlreadyExists
            | Fault::Conflict(_)
            | Fault::Refused { .. } => false,
        }
    }

    /// Whether a write that ended like this may still have happened, or may happen later.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        matches!(
            self.fault,
            Fault::Unavailable(_) | Fault::NoAnswer(_) | Fault::Unreadable(_)
        )
    }
}
