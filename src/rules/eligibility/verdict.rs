//! What the take-over rules answer: leave, snapshot, look further, or refuse, each with its reason.

use std::fmt;

use k8s_openapi::api::core::v1::PersistentVolume;

use crate::model::backup::Backup;
use crate::model::item::Item;
use crate::model::names::{ANNOTATION_TAKE_OVER, PLUGIN};
use crate::model::pod::Pod;
use crate::rules::volume_policy::{Action, VolumePolicies};

/// Why a claim is left alone, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// How loudly to say it.
    pub level: Level,
    /// What to say.
    pub text: String,
}

/// How loudly a reason is logged. Warn is counted by Velero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For a developer.
    Debug,
    /// The one line of this decision.
    Info,
    /// A claim that probably nobody backs up.
    Warn,
    /// A mistake in the set-up of the backup: the first time as Warn, then as Info.
    WarnOncePerBackup,
}

/// The answer before anything is read from the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Early {
    /// Echo the item.
    Leave(Why),
    /// Read the policies and the volume.
    GoOn,
}

/// What reading the PersistentVolume gave.
#[derive(Clone, Debug, PartialEq)]
pub enum VolumeLookup<'a> {
    /// It is there.
    Found(&'a PersistentVolume),
    /// It was not looked for, since the claim is [`super::not_bound`].
    NotBound(NotBound),
    /// It does not exist; the text says what the API server answered.
    Missing(String),
}

/// Why a claim has no volume. The texts are Velero's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBound {
    /// `spec.volumeName` is empty.
    #[error("PVC {claim} has no volume backing this claim")]
    NoVolume {
        /// `namespace/name`.
        claim: String,
    },
    /// `status.phase` is not `Bound`.
    #[error("PVC {claim} is in phase {phase} and is not bound to a volume")]
    Phase {
        /// `namespace/name`.
        claim: String,
        /// `Pending`, `Lost`, or empty.
        phase: String,
    },
}

/// All that the decision depends on.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The backup.
    pub backup: &'a Backup,
    /// The claim.
    pub item: &'a Item,
    /// Its volume.
    pub volume: VolumeLookup<'a>,
    /// The backup's policies, followed by the global ones.
    pub policies: &'a VolumePolicies,
    /// The pods of the claim's namespace, once [`Decision::NeedPods`] has asked for them.
    pub pods: Option<&'a [Pod]>,
}

/// What is to be done with a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Echo the item.
    Leave(Why),
    /// Take the snapshot.
    Snapshot(Because),
    /// Read the pods of this namespace and decide again.
    NeedPods {
        /// Where to look.
        namespace: String,
    },
    /// The claim is ours, and its snapshot cannot be taken.
    Refuse(Refusal),
}

/// Why a snapshot is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// A volume policy names this plugin, or says `snapshot` and nobody has taken it.
    Policy(Action),
    /// The backup has `snapshotVolumes: false` and hands its claims to us.
    TakeOver,
    /// Nothing speaks against a snapshot, and nobody has taken it.
    Default,
}

/// Why a snapshot that would be ours cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no volume.
    #[error(transparent)]
    NotBound(#[from] NotBound),
    /// The volume cannot be read.
    #[error("failed to get PV {volume} for PVC {claim}: {reason}")]
    NoVolume {
        /// Name of the PersistentVolume.
        volume: String,
        /// `namespace/name`.
        claim: String,
        /// What the API server answered.
        reason: String,
    },
    /// The snapshot-controller refuses claims that are being deleted, and would do so until the
    /// time is up.
    #[error("PVC {claim} is being deleted, so no snapshot of it can be taken")]
    BeingDeleted {
        /// `namespace/name`.
        claim: String,
    },
    /// A plain snapshot would be restored without its data (C-12).
    #[error(
        "PVC {claim}: this backup has snapshotMoveData set, and {PLUGIN} does not move snapshot \
         data yet; set snapshotMoveData to false, or let Velero take this PVC by removing what \
         hands it to {PLUGIN}"
    )]
    DataMovement {
        /// `namespace/name`.
        claim: String,
    },
    /// Snapshots of single volumes are not the consistent group that was asked for.
    #[error(
        "PVC {claim} is in volume group {label}, and {PLUGIN} does not take group snapshots yet; \
         remove the label, or let Velero take this PVC by removing what hands it to {PLUGIN}"
    )]
    VolumeGroup {
        /// `namespace/name`.
        claim: String,
        /// `key=value`.
        label: String,
    },
}

impl Because {
    /// The class that the volume policy asks for.
    #[must_use]
    pub fn snapshot_class(&self) -> Option<&str> {
        match self {
            Self::Policy(action) => action.parameter("snapshotClass"),
            Self::TakeOver | Self::Default => None,
        }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(action) if names_this_plugin(action) => {
                write!(
                    f,
                    "a volume policy with action {} names this plugin",
                    action.kind.as_str()
                )
            }
            Self::Policy(action) => {
                write!(f, "a volume policy has action {}", action.kind.as_str())
            }
            Self::TakeOver => write!(f, "the backup's annotation {ANNOTATION_TAKE_OVER}"),
            Self::Default => {
                f.write_str("nothing speaks against a snapshot and nobody has taken it")
            }
        }
    }
}

/// Whether an action's handler is this plugin.
pub(super) fn names_this_plugin(action: &Action) -> bool {
    action.handler() == Some(PLUGIN)
}

impl Why {
    /// The ordinary one line of a decision.
    pub(super) fn info(text: impl Into<String>) -> Self {
        Self {
            level: Level::Info,
            text: text.into(),
        }
    }
}
