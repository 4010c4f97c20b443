//! Which VolumeSnapshotClass a snapshot is taken with (B 1.2).
//!
//! The rules and their order are Velero's. We differ where users lose by them: the volume's own
//! driver counts before the StorageClass's provisioner (W-9, W-10), a choice that cannot be
//! honoured is a warning instead of a Debug line (F36), and a mark whose value says no is no mark
//! (W-11, F34). May use: model.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::backup::Backup;
use crate::model::item::Item;
use crate::model::names::{
    ANNOTATION_DEFAULT_SNAPSHOT_CLASS, ANNOTATION_SNAPSHOT_CLASS_FOR, SNAPSHOT_CLASS,
};
use crate::model::snapshot::VolumeSnapshotClass;

/// More classes than this are not listed in an error.
const LISTED: usize = 10;

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct Wishes<'a> {
    /// The backup; its annotations may name a class for a driver.
    pub backup: &'a Backup,
    /// The claim; its annotations may name a class.
    pub item: &'a Item,
    /// The driver of the PersistentVolume.
    pub driver: &'a str,
    /// The provisioner of the StorageClass, if there is one: the driver's second name.
    pub provisioner: Option<&'a str>,
    /// The parameter `snapshotClass` of the volume policy that matched.
    pub policy_class: Option<&'a str>,
}

/// A class, and why it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<'a> {
    /// The class.
    pub class: &'a VolumeSnapshotClass,
    /// The rule that chose it.
    pub rule: Rule,
    /// What users wished but cannot get, one line each, for Warn.
    pub warnings: Vec<String>,
    /// Somebody names a class that is not among the given ones.
    pub names_missing: bool,
}

/// The wishes that cannot be met.
#[derive(Default)]
struct Unmet {
    warnings: Vec<String>,
    missing: bool,
}

/// The rule that chose a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The claim's annotation.
    ClaimAnnotation,
    /// The volume policy's parameter.
    PolicyParameter,
    /// The backup's annotation.
    BackupAnnotation,
    /// Velero's label on the class.
    Label,
    /// The default mark on the class.
    DefaultAnnotation,
    /// No other class has this driver.
    Only,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaimAnnotation => "named by the PVC's annotation",
            Self::PolicyParameter => "named by the volume policy",
            Self::BackupAnnotation => "named by the backup's annotation",
            Self::Label => "labelled for Velero",
            Self::DefaultAnnotation => "marked as default class",
            Self::Only => "only class for the driver",
        })
    }
}

/// No class can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to get VolumeSnapshotClass for provisioner {driver}: ensure that the desired \
     VolumeSnapshotClass has the {SNAPSHOT_CLASS} label or {ANNOTATION_DEFAULT_SNAPSHOT_CLASS} \
     annotation, and that its driver matches the StorageClass provisioner; {seen}"
)]
pub struct ClassError {
    /// The volume's driver.
    pub driver: String,
    /// Which classes there are, and which wishes could not be met.
    pub seen: String,
}

/// Chooses among all classes of the cluster, by rules 1 to 6.
///
/// # Errors
/// Nothing names or marks a class of this driver, and there is none or more than one.
pub fn choose<'a>(
    classes: &'a [VolumeSnapshotClass],
    wishes: &Wishes<'_>,
) -> Result<Choice<'a>, ClassError> {
    let mut by_name: Vec<&VolumeSnapshotClass> = classes.iter().collect();
    by_name.sort_by(|left, right| left.metadata.name.cmp(&right.metadata.name));
    let mut unmet = Unmet::default();
    let found = named(&by_name, wishes, &mut unmet)
        .or_else(|| marked(&by_name, wishes, &mut unmet.warnings));
    match found {
        Some((class, rule)) => Ok(Choice {
            class,
            rule,
            warnings: unmet.warnings,
            names_missing: unmet.missing,
        }),
        None => Err(ClassError {
            driver: wishes.driver.to_owned(),
            seen: seen(&by_name, wishes, &unmet.warnings),
        }),
    }
}

impl<'a> Wishes<'a> {
    /// The driver's names: the volume's, then the provisioner if it is another.
    fn drivers(&self) -> Vec<&'a str> {
        let second = self
            .provisioner
            .filter(|name| !name.is_empty() && *name != self.driver);
        std::iter::once(self.driver).chain(second).collect()
    }

    fn is_driver(&self, name: &str) -> bool {
        self.drivers()
            .iter()
            .any(|driver| folds_equal(driver, name))
    }
}

type Found<'a> = Option<(&'a VolumeSnapshotClass, Rule)>;

/// Rules 1 to 3: somebody names a class. Names and drivers are compared without regard to case.
fn named<'a>(
    classes: &[&'a VolumeSnapshotClass],
    wishes: &Wishes<'_>,
    unmet: &mut Unmet,
) -> Found<'a> {
    let mut named = Vec::new();
    if let Some(name) = wishes.item.annotations().get(SNAPSHOT_CLASS) {
        let place = format!(
            "annotation {SNAPSHOT_CLASS} of PVC {}/{}",
            wishes.item.namespace(),
            wishes.item.name()
        );
        named.push((Rule::ClaimAnnotation, place, name.as_str()));
    }
    if let Some(name) = wishes.policy_class {
        let place = "parameter snapshotClass of the matching volume policy".to_owned();
        named.push((Rule::PolicyParameter, place, name));
    }
    for driver in wishes.drivers() {
        let key = format!("{ANNOTATION_SNAPSHOT_CLASS_FOR}{}", driver.to_lowercase());
        if let Some(name) = wishes.backup.annotations.get(&key) {
            let place = format!("annotation {key} of backup {}", wishes.backup.name);
            named.push((Rule::BackupAnnotation, place, name.as_str()));
        }
    }
    for (rule, place, name) in named.into_iter().filter(|(_, _, name)| !name.is_empty()) {
        let mut candidates = classes
            .iter()
            .filter(|class| folds_equal(&class.metadata.name, name));
        let Some(first) = candidates.next() else {
            unmet.missing = true;
            unmet.warnings.push(format!(
                "{place} names VolumeSnapshotClass {name:?}, which does not exist"
            ));
            continue;
        };
        let mut all = std::iter::once(first).chain(candidates);
        if let Some(class) = all.find(|class| wishes.is_driver(&class.driver)) {
            return Some((class, rule));
        }
        unmet.warnings.push(format!(
            "{place} names VolumeSnapshotClass {name:?}, which is of driver {}, not {}",
            first.driver, wishes.driver
        ));
    }
    None
}

/// Rules 4 to 6: a class of exactly this driver carries a mark, or is the only one.
fn marked<'a>(
    classes: &[&'a VolumeSnapshotClass],
    wishes: &Wishes<'_>,
    warnings: &mut Vec<String>,
) -> Found<'a> {
    for driver in wishes.drivers() {
        let of_driver: Vec<&VolumeSnapshotClass> = classes
            .iter()
            .copied()
            .filter(|class| class.driver == driver)
            .collect();
        let labels: fn(&VolumeSnapshotClass) -> &BTreeMap<String, String> =
            |class| &class.metadata.labels;
        let annotations: fn(&VolumeSnapshotClass) -> &BTreeMap<String, String> =
            |class| &class.metadata.annotations;
        for (rule, key, marks) in [
            (Rule::Label, SNAPSHOT_CLASS, labels),
            (
                Rule::DefaultAnnotation,
                ANNOTATION_DEFAULT_SNAPSHOT_CLASS,
                annotations,
            ),
        ] {
            for class in &of_driver {
                match marks(class).get(key) {
                    Some(value) if says_no(value) => warnings.push(format!(
                        "VolumeSnapshotClass {} has {key}: {value:?}, which is not taken for a mark",
                        class.metadata.name
                    )),
                    Some(_) => return Some((class, rule)),
                    None => {}
                }
            }
        }
        if let &[only] = of_driver.as_slice() {
            return Some((only, Rule::Only));
        }
    }
    None
}

/// Go's words for false; everything else, also nothing, is a mark as it is for Velero.
fn says_no(value: &str) -> bool {
    matches!(value, "0" | "f" | "F" | "false" | "False" | "FALSE")
}

/// Go's `strings.EqualFold`, for the ASCII names that Kubernetes allows.
fn folds_equal(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
}

fn seen(classes: &[&VolumeSnapshotClass], wishes: &Wishes<'_>, warnings: &[String]) -> String {
    let drivers = wishes.drivers();
    let (ours, others): (Vec<&VolumeSnapshotClass>, Vec<_>) = classes
        .iter()
        .partition(|class| drivers.contains(&class.driver.as_str()));
    let mut text = if ours.is_empty() {
        format!("no VolumeSnapshotClass has driver {}", drivers.join(" or "))
    } else {
        let names = list(ours.iter().map(|class| class.metadata.name.clone()));
        format!("none of the classes of this driver is marked: {names}")
    };
    if ours.is_empty() && !others.is_empty() {
        let names = others
            .iter()
            .map(|class| format!("{} ({})", class.metadata.name, class.driver));
        text.push_str(", classes of other drivers: ");
        text.push_str(&list(names));
    }
    for warning in warnings {
        text.push_str("; ");
        text.push_str(warning);
    }
    text
}

fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let text = names.take(LISTED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        format!("{text} and {more} more")
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
