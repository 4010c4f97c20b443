//! Whether this plugin takes a claim's snapshot: the take-over rules of B 9, in the order needed.
//!
//! Exactly one of Velero's own action and this one must snapshot a claim, and Velero's runs first.
//! Every way not to act says why, and a claim that nobody would back up is never left in silence.
//! I/O happens between the calls: [`before_reading`], then policies and the volume (unless
//! [`not_bound`]), then [`decide`], and once more with the pods if it asks for them.
//! May use: model, `fs_backup`, `volume_policy`.

use std::fmt;

use k8s_openapi::api::core::v1::PersistentVolume;

use super::fs_backup::fs_backup_of;
use super::volume_policy::{Action, ActionKind, VolumeFacts, VolumePolicies};
use crate::model::backup::Backup;
use crate::model::item::Item;
use crate::model::names::{
    ANNOTATION_TAKE_OVER, FEATURE_CSI, LABEL_BACKUP_NAME, PLUGIN, POLICY_HANDLER,
    VOLUME_SNAPSHOT_NAME,
};
use crate::model::pod::Pod;
use crate::model::settings::Settings;
use crate::model::valid_label::get_valid_name;

/// Annotation by which Kubernetes marks an in-tree volume that a CSI driver serves.
const ANNOTATION_MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";

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
    /// It was not looked for, since the claim is [`not_bound`].
    NotBound(NotBound),
    /// It does not exist; the text says what the API server answered.
    Missing(String),
    /// It could not be read; the text says why.
    Unreadable(String),
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
            Self::Policy(action) if names_us(action) => {
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

/// The decisions that need nothing but the request: finalizing, Velero without its CSI
/// feature, and a claim that the built-in action has taken in this very backup (C-3).
///
/// The built-in's mark for volumes that are not CSI (C-4) is not trusted here: it stays on a
/// restored claim (W-27), whose volume may be CSI now. [`decide`] looks at the volume instead.
#[must_use]
pub fn before_reading(backup: &Backup, item: &Item, settings: &Settings) -> Early {
    if backup.is_finalizing() {
        return Early::Leave(Why {
            level: Level::Debug,
            text: format!("backup is in phase {}", backup.phase),
        });
    }
    if lacks_csi_feature(settings) {
        return Early::Leave(Why {
            level: Level::WarnOncePerBackup,
            text: format!(
                "Velero runs without --features={FEATURE_CSI}, so nothing would finalize, delete \
                 or restore a CSI snapshot; no PVC is snapshotted"
            ),
        });
    }
    match taken_as(backup, item) {
        Some(snapshot) => Early::Leave(info(format!(
            "Velero has taken this PVC already, as VolumeSnapshot {snapshot}"
        ))),
        None => Early::GoOn,
    }
}

/// Whether Velero's flags are known and none of them turns CSI support on. Without flags, as on
/// servers that do not pass them on, nothing is known.
fn lacks_csi_feature(settings: &Settings) -> bool {
    let features = settings.features.as_deref().unwrap_or_default();
    settings.argv_present && !features.iter().any(|feature| feature == FEATURE_CSI)
}

/// C-3: the snapshot that the built-in has taken for this backup. Both marks must be there, since
/// a restore leaves the label on the live claim but strips the annotation.
fn taken_as<'a>(backup: &Backup, item: &'a Item) -> Option<&'a str> {
    let snapshot = item.annotations().get(VOLUME_SNAPSHOT_NAME)?;
    let of_backup = item.labels().get(LABEL_BACKUP_NAME)? == &get_valid_name(&backup.name);
    (of_backup && !snapshot.is_empty()).then_some(snapshot.as_str())
}

/// Why there is no volume to look for, if so. Then none needs to be read (F46).
#[must_use]
pub fn not_bound(item: &Item) -> Option<NotBound> {
    if item.volume_name().is_empty() {
        return Some(NotBound::NoVolume {
            claim: claim_of(item),
        });
    }
    (item.phase() != "Bound").then(|| NotBound::Phase {
        claim: claim_of(item),
        phase: item.phase().to_owned(),
    })
}

/// The decision. Asks for pods only if they decide it.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> Decision {
    if let VolumeLookup::Unreadable(reason) = &facts.volume {
        // Matching without the volume could hit a later rule than the one that is meant.
        return Decision::Refuse(no_volume(facts.item, reason));
    }
    let volume = found(facts);
    let seen = VolumeFacts::new(volume, facts.item);
    match facts.policies.first_match(&seen) {
        Some(action) => by_policy(facts, &seen, action),
        None => without_policy(facts, &seen),
    }
}

fn by_policy(facts: &Facts<'_>, seen: &VolumeFacts, action: &Action) -> Decision {
    let kind = action.kind.as_str();
    match action.kind {
        ActionKind::Custom | ActionKind::Skip if names_us(action) => {
            ours(facts, seen, Because::Policy(action.clone()))
        }
        ActionKind::Snapshot => ours(facts, seen, Because::Policy(action.clone())),
        ActionKind::Custom if !action.has_parameters() => Decision::Leave(Why {
            level: Level::WarnOncePerBackup,
            text: format!(
                "a volume policy with action custom names no handler, so this PVC may not be \
                 backed up at all; to have it snapshotted by this plugin add to the action: \
                 parameters: {{{POLICY_HANDLER}: {PLUGIN}}}"
            ),
        }),
        ActionKind::Custom => Decision::Leave(info(match action.handler() {
            Some(handler) => format!("a volume policy hands this PVC to {handler}"),
            None => "a volume policy hands this PVC to another plugin".to_owned(),
        })),
        ActionKind::Skip | ActionKind::FsBackup => {
            Decision::Leave(info(format!("a volume policy has action {kind}")))
        }
    }
}

/// S-3 to S-6, with the take-over annotation in place of S-5.
fn without_policy(facts: &Facts<'_>, seen: &VolumeFacts) -> Decision {
    let because = match facts.backup.snapshot_volumes {
        Some(false) => match take_over(facts.backup) {
            Ok(()) => Because::TakeOver,
            Err(why) => return Decision::Leave(why),
        },
        _ => Because::Default,
    };
    let Some(volume) = found(facts).filter(|_| seen.csi.is_some()) else {
        return ours(facts, seen, because);
    };
    let claim = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref());
    if let Some(claim) = claim {
        let namespace = claim.namespace.as_deref().unwrap_or(facts.item.namespace());
        let name = claim.name.as_deref().unwrap_or(facts.item.name());
        let Some(pods) = facts.pods else {
            return Decision::NeedPods {
                namespace: namespace.to_owned(),
            };
        };
        let by_default = facts.backup.default_volumes_to_fs_backup == Some(true);
        if let Some(chosen) = fs_backup_of(pods, namespace, name, by_default) {
            return Decision::Leave(info(format!(
                "backed up by file system, as volume {} of pod {}",
                chosen.volume, chosen.pod
            )));
        }
    }
    ours(facts, seen, because)
}

/// Whether a backup that takes no snapshots itself hands its claims to us.
fn take_over(backup: &Backup) -> Result<(), Why> {
    match backup
        .annotations
        .get(ANNOTATION_TAKE_OVER)
        .map(String::as_str)
    {
        Some("true") => Ok(()),
        None | Some("" | "false") => Err(info("the backup has snapshotVolumes: false".to_owned())),
        Some(other) => Err(Why {
            level: Level::WarnOncePerBackup,
            text: format!(
                "the backup has snapshotVolumes: false and annotation {ANNOTATION_TAKE_OVER}: \
                 {other:?}; only \"true\" hands its PVCs to this plugin"
            ),
        }),
    }
}

/// The claim is ours: the snapshot, or why it cannot be.
fn ours(facts: &Facts<'_>, seen: &VolumeFacts, because: Because) -> Decision {
    let item = facts.item;
    let volume = match &facts.volume {
        VolumeLookup::Found(volume) => volume,
        VolumeLookup::NotBound(reason) => return Decision::Refuse(reason.clone().into()),
        VolumeLookup::Missing(reason) | VolumeLookup::Unreadable(reason) => {
            return Decision::Refuse(no_volume(item, reason));
        }
    };
    if seen.csi.is_none() {
        return Decision::Leave(not_csi(volume, seen, &because));
    }
    if item.is_being_deleted() {
        return Decision::Refuse(Refusal::BeingDeleted {
            claim: claim_of(item),
        });
    }
    if facts.backup.snapshot_move_data == Some(true) {
        return Decision::Refuse(Refusal::DataMovement {
            claim: claim_of(item),
        });
    }
    let key = &facts.backup.volume_group_snapshot_label_key;
    let group = item.labels().get(key).filter(|value| !value.is_empty());
    if let Some(group) = group.filter(|_| !key.is_empty()) {
        return Decision::Refuse(Refusal::VolumeGroup {
            claim: claim_of(item),
            label: format!("{key}={group}"),
        });
    }
    Decision::Snapshot(because)
}

/// R-9 and F49, but the item is not marked (C-4). A policy that names us has switched every other
/// method off, so then it is a warning.
fn not_csi(volume: &PersistentVolume, seen: &VolumeFacts, because: &Because) -> Why {
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    let kind = if seen.volume_type.is_empty() {
        "unknown type"
    } else {
        seen.volume_type
    };
    let mut text = format!("PV {name} is not a CSI volume but {kind}");
    let annotations = volume.metadata.annotations.as_ref();
    if annotations.is_some_and(|all| all.contains_key(ANNOTATION_MIGRATED_TO)) {
        text.push_str(
            ", and in-tree volumes that were migrated to CSI cannot be snapshotted by it",
        );
    }
    let alone = match because {
        Because::Policy(action) => names_us(action),
        Because::TakeOver | Because::Default => false,
    };
    if alone {
        text.push_str(
            "; the volume policy that names this plugin keeps every other method off, so this PVC \
             is not backed up: let the policy match a CSI driver",
        );
    }
    Why {
        level: if alone { Level::Warn } else { Level::Info },
        text,
    }
}

fn names_us(action: &Action) -> bool {
    action.handler() == Some(PLUGIN)
}

fn found<'a>(facts: &Facts<'a>) -> Option<&'a PersistentVolume> {
    match facts.volume {
        VolumeLookup::Found(volume) => Some(volume),
        _ => None,
    }
}

fn no_volume(item: &Item, reason: &str) -> Refusal {
    Refusal::NoVolume {
        volume: item.volume_name().to_owned(),
        claim: claim_of(item),
        reason: reason.to_owned(),
    }
}

fn claim_of(item: &Item) -> String {
    format!("{}/{}", item.namespace(), item.name())
}

fn info(text: String) -> Why {
    Why {
        level: Level::Info,
        text,
    }
}

#[cfg(test)]
mod tests;
