//! Why an Execute failed, a variant per thing an operator would do differently.
//!
//! May use: rules, cluster, model.

use std::time::Duration;

use crate::cluster::{ApiError, Fault};
use crate::error::ErrorKind;
use crate::model::backup::BackupError;
use crate::model::go_duration;
use crate::model::item::ItemError;
use crate::rules::eligibility::Refusal;
use crate::rules::readiness::Lost;
use crate::rules::snapshot_class::ClassError;
use crate::rules::volume_policy::PolicyError;
use crate::wait::Reason;

/// Why a call of Velero was answered with an error.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The Backup cannot be used.
    #[error("read the backup of the request")]
    Backup(#[from] BackupError),
    /// The item cannot be used.
    #[error("read the item of the request")]
    Item(#[from] ItemError),
    /// A volume policy ConfigMap is not what Velero would take.
    #[error("read the volume policies")]
    Policy(#[from] PolicyError),
    /// The PVC is ours and its snapshot cannot be taken; the text says what to do.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The rules contradict each other: a fault of ours.
    #[error("internal error: {0}")]
    Undecided(&'static str),
    /// No VolumeSnapshotClass fits.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// The API server did not let us look or write.
    #[error("{doing}")]
    Api {
        /// What it was needed for.
        doing: String,
        /// What it answered.
        source: ApiError,
    },
    /// The API server was in trouble until our patience ended.
    #[error("{doing}: gave up after {}: {last}", go_duration::short(*.after))]
    Patience {
        /// What it was needed for.
        doing: String,
        /// How long it was tried.
        after: Duration,
        /// What it answered last.
        last: String,
    },
    /// The snapshot will not come.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The snapshot did not come in time.
    #[error("timed out after {} waiting for {waiting_for}; {last}", go_duration::short(*.after))]
    TimedOut {
        /// The thing that was missing.
        waiting_for: String,
        /// The timeout.
        after: Duration,
        /// What is known about why.
        last: String,
    },
    /// The request was given up.
    #[error("{}", interrupted(*.0))]
    Interrupted(Reason),
    /// Progress or Cancel for an operation that we never started.
    #[error("operation id {0:?} is not one of velero-plugin-csi-fastpoll/pvc-backupper")]
    UnknownOperation(String),
}

impl ActionError {
    /// What kind of failure it is, for the wire.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Backup(_) | Self::Item(_) => ErrorKind::InvalidInput,
            Self::Policy(_) | Self::Refused(_) | Self::Class(_) | Self::Lost(_) => {
                ErrorKind::FailedPrecondition
            }
            Self::Api { source, .. } => of_fault(&source.fault),
            Self::Patience { .. } => ErrorKind::Unavailable,
            Self::Undecided(_) => ErrorKind::Internal,
            Self::TimedOut { .. } => ErrorKind::DeadlineExceeded,
            Self::Interrupted(Reason::Stop) => ErrorKind::Aborted,
            Self::Interrupted(Reason::CallerGone) => ErrorKind::Cancelled,
            Self::UnknownOperation(_) => ErrorKind::NotFound,
        }
    }
}

fn of_fault(fault: &Fault) -> ErrorKind {
    match fault {
        Fault::NotFound => ErrorKind::NotFound,
        Fault::Forbidden(_) | Fault::Unauthorized(_) => ErrorKind::PermissionDenied,
        Fault::AlreadyExists => ErrorKind::AlreadyExists,
        Fault::Conflict(_) => ErrorKind::Aborted,
        Fault::Refused { .. } | Fault::Unserved(_) | Fault::NoClient(_) => {
            ErrorKind::FailedPrecondition
        }
        Fault::Throttled(_) | Fault::Queued => ErrorKind::ResourceExhausted,
        Fault::Unavailable(_) | Fault::NoAnswer(_) | Fault::Unreadable(_) => ErrorKind::Unavailable,
    }
}

fn interrupted(reason: Reason) -> &'static str {
    match reason {
        Reason::Stop => "the plugin was told to stop before the snapshot was taken",
        Reason::CallerGone => "the caller went away before the snapshot was taken",
    }
}
