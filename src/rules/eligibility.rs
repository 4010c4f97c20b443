//! Whether this plugin takes a claim's snapshot: the take-over rules of B 9, in the order needed.
//!
//! Exactly one of Velero's own action and this one must snapshot a claim, and Velero's runs first.
//! Every way not to act says why, and a claim that nobody would back up is never left in silence.
//! I/O happens between the calls: [`before_reading`], then policies and the volume (unless
//! [`not_bound`]), then [`decide`], and once more with the pods if it asks for them.
//! May use: model, `fs_backup`, `volume_policy`.

mod verdict;

use k8s_openapi::api::core::v1::PersistentVolume;

use super::fs_backup::fs_backup_of;
use super::volume_policy::{Action, ActionKind, VolumeFacts};
use crate::model::backup::Backup;
use crate::model::item::Item;
use crate::model::names::{
    ANNOTATION_TAKE_OVER, FEATURE_CSI, LABEL_BACKUP_NAME, PLUGIN, POLICY_HANDLER,
    VOLUME_SNAPSHOT_NAME,
};
use crate::model::settings::Settings;
use crate::model::valid_label::get_valid_name;
use verdict::names_this_plugin;
pub use verdict::{Because, Decision, Early, Facts, Level, NotBound, Refusal, VolumeLookup, Why};

/// Annotation by which Kubernetes marks an in-tree volume that a CSI driver serves.
const ANNOTATION_MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";

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
        Some(snapshot) => Early::Leave(Why::info(format!(
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
        ActionKind::Custom | ActionKind::Skip if names_this_plugin(action) => {
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
        ActionKind::Custom | ActionKind::Skip if almost_names_us(action) => Decision::Leave(Why {
            level: Level::WarnOncePerBackup,
            text: format!(
                "a volume policy with action {kind} seems to mean this plugin but does not name it, so \
                 this PVC may not be backed up at all; its parameters must say exactly \
                 {POLICY_HANDLER}: {PLUGIN}"
            ),
        }),
        ActionKind::Custom => Decision::Leave(Why::info(match action.handler() {
            Some(handler) => format!("a volume policy hands this PVC to {handler}"),
            None => format!(
                "a volume policy hands this PVC to another plugin: its parameters do not say \
                 {POLICY_HANDLER}: {PLUGIN}"
            ),
        })),
        ActionKind::Skip | ActionKind::FsBackup => {
            Decision::Leave(Why::info(format!("a volume policy has action {kind}")))
        }
    }
}

/// A misspelt handler, or our name under another key.
fn almost_names_us(action: &Action) -> bool {
    action
        .parameters
        .values()
        .any(|value| value.to_lowercase().contains("fastpol"))
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
            return Decision::Leave(Why::info(format!(
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
        None | Some("" | "false") => Err(Why::info("the backup has snapshotVolumes: false")),
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
        VolumeLookup::Missing(reason) => {
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
        Because::Policy(action) => names_this_plugin(action),
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

#[cfg(test)]
mod tests;
