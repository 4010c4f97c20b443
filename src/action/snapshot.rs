//! Creating the VolumeSnapshot: once, whatever the network does to the answer.
//!
//! The name is chosen here, in the form that the API server would give it, and its suffix is a
//! digest of backup UID and PVC UID. So a create whose answer was lost is settled by reading that name,
//! repeating it cannot make a second snapshot, and a second Execute for the same PVC, in this process or
//! after a restart, meets the first one's snapshot and adopts it (F54, F79) without any list: a list that
//! is to be consistent takes an API server 80 ms, and the application is frozen. May use: cluster, rules,
//! model, wait.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::error::ActionError;
use super::memory::Key;
use super::reads::Reader;
use crate::cluster::{ApiError, Fault, Grace, Limits};
use crate::model::names;
use crate::model::snapshot::VolumeSnapshot;
use crate::wait::{self, Ended, Look, Looker, Seen, Stopwatch};

/// Characters of a generated suffix: the API server's, without vowels and look-alikes.
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Length of a generated suffix.
const SUFFIX_LENGTH: usize = 5;
/// The API server cuts a generateName so that prefix and suffix fit in 63 characters.
const PREFIX_LENGTH: usize = 58;
/// Names that are tried when one is taken; there are 14 million suffixes.
const NAMES: usize = 4;

/// A VolumeSnapshot to be created.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Namespace of the PVC.
    pub namespace: String,
    /// Name of the PVC.
    pub pvc: String,
    /// Chosen VolumeSnapshotClass.
    pub class: String,
    /// All labels it gets.
    pub labels: BTreeMap<String, String>,
    /// What names this PVC in this backup.
    pub key: Key,
}

/// A VolumeSnapshot that is there now.
#[derive(Debug, Clone)]
pub struct Created {
    /// As the API server has it.
    pub snapshot: VolumeSnapshot,
    /// An earlier Execute for the same PVC has made it.
    pub adopted: bool,
}

/// What may exist because of us, and must be taken back if the call fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Namespace of the VolumeSnapshot.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, once the API server has told it.
    pub uid: Option<String>,
    /// Labels by which it is known to be ours.
    pub labels: BTreeMap<String, String>,
}

impl Made {
    /// Registers a VolumeSnapshot that exists.
    #[must_use]
    pub fn existing(snapshot: &VolumeSnapshot) -> Self {
        Self {
            namespace: snapshot.metadata.namespace.clone(),
            name: snapshot.metadata.name.clone(),
            uid: Some(snapshot.metadata.uid.clone()),
            labels: snapshot.metadata.labels.clone(),
        }
    }

    /// The PVC in its backup, as its labels say.
    #[must_use]
    pub(super) fn key(&self) -> Key {
        let label = |key| self.labels.get(key).cloned().unwrap_or_default();
        (label(names::LABEL_BACKUP_UID), label(names::LABEL_PVC_UID))
    }

    /// Whether `snapshot` is the one that was made, by its labels.
    #[must_use]
    pub fn is(&self, snapshot: &VolumeSnapshot) -> bool {
        OWN_LABELS
            .iter()
            .all(|key| self.labels.get(*key) == snapshot.metadata.labels.get(*key))
    }
}

/// Labels that only we write together.
const OWN_LABELS: [&str; 3] = [
    names::LABEL_BACKUP_UID,
    names::LABEL_PVC_UID,
    names::LABEL_CREATED_BY,
];

/// Creates the VolumeSnapshot and registers it in `made` before anything can fail.
///
/// # Errors
/// The definite refusal, or the last trouble when the deadline for everything before the wait passes;
/// then `made` says what may exist nevertheless.
pub async fn create(
    reader: Reader<'_>,
    wanted: &Wanted,
    made: &mut Option<Made>,
) -> Result<Created, ActionError> {
    let doing = format!(
        "create a VolumeSnapshot of PVC {}/{}",
        wanted.namespace, wanted.pvc
    );
    let mut creation = Creation {
        reader,
        wanted,
        made,
        grace: Grace::default(),
        lost: false,
        names: 0,
        trouble: String::new(),
    };
    creation.choose_name();
    let started = Stopwatch::start();
    let limit = reader.limit;
    let every =
        move |elapsed: Option<std::time::Duration>| (super::reads::next_second(elapsed), limit);
    let ended = wait::until(
        started,
        reader.deadline.left(),
        every,
        reader.interrupt,
        &mut creation,
    )
    .await;
    let result = match ended {
        Ok(Ok(snapshot)) => Ok(snapshot),
        Ok(Err(source)) => Err(ActionError::Api { doing, source }),
        Err(Ended::Interrupted(reason)) => Err(ActionError::Interrupted(reason)),
        Err(Ended::TimedOut) => Err(ActionError::Patience {
            doing,
            after: started.elapsed(),
            last: creation.trouble.clone(),
        }),
    };
    if result.is_err() && !creation.lost {
        *made = None;
    }
    result
}

impl Looker for Creation<'_> {
    type Found = Result<Created, ApiError>;

    async fn look(&mut self, look: Look) -> Seen<Self::Found> {
        self.attempt(&Limits::from(look)).await
    }
}

struct Creation<'a> {
    reader: Reader<'a>,
    wanted: &'a Wanted,
    made: &'a mut Option<Made>,
    grace: Grace,
    /// A create went out and its answer did not come back.
    lost: bool,
    names: usize,
    trouble: String,
}

impl Creation<'_> {
    fn choose_name(&mut self) {
        self.names = self.names.saturating_add(1);
        *self.made = Some(Made {
            namespace: self.wanted.namespace.clone(),
            name: format!(
                "{}{}",
                prefix(&self.wanted.pvc),
                suffix(&self.wanted.key, self.names)
            ),
            uid: None,
            labels: self.wanted.labels.clone(),
        });
    }

    fn name(&self) -> String {
        self.made
            .as_ref()
            .map(|made| made.name.clone())
            .unwrap_or_default()
    }

    async fn attempt(&mut self, limits: &Limits) -> Seen<Result<Created, ApiError>> {
        if self.lost
            && let Some(seen) = self.settle(limits).await
        {
            return seen;
        }
        loop {
            if let Some(seen) = self.create_once(limits).await {
                return seen;
            }
        }
    }

    /// One create; `None` when the name is somebody else's and another one has been chosen.
    async fn create_once(&mut self, limits: &Limits) -> Option<Seen<Result<Created, ApiError>>> {
        let name = self.name();
        let object = object(self.wanted, &name);
        // From here until an answer is read the snapshot may exist.
        let before = std::mem::replace(&mut self.lost, true);
        let cluster = self.reader.cluster;
        match cluster
            .create_snapshot(&self.wanted.namespace, &name, &object, limits)
            .await
        {
            Ok(snapshot) => Some(self.made_as(snapshot, false)),
            Err(error) if error.may_have_happened() => {
                self.note(&error);
                Some(self.settle(limits).await.unwrap_or(Seen::NotYet))
            }
            Err(error) if error.fault == Fault::AlreadyExists && before => {
                Some(self.settle(limits).await.unwrap_or(Seen::NotYet))
            }
            Err(error) if error.fault == Fault::AlreadyExists => {
                self.lost = false;
                self.taken(error, limits).await
            }
            Err(error) => {
                self.lost = before;
                // A create's 403 may be a quota or a terminating namespace: final (F90, F106).
                let is_forbidden = matches!(error.fault, Fault::Forbidden(_));
                if !is_forbidden && self.grace.may_pass(&error, cluster, limits).await {
                    self.note(&error);
                    Some(Seen::NotYet)
                } else {
                    Some(Seen::Done(Err(error)))
                }
            }
        }
    }

    /// Reads the name of a create whose answer was lost; `None` when it is known not to exist.
    async fn settle(&mut self, limits: &Limits) -> Option<Seen<Result<Created, ApiError>>> {
        let name = self.name();
        match self
            .reader
            .cluster
            .snapshot(&self.wanted.namespace, &name, limits)
            .await
        {
            Ok(snapshot) if self.is_ours(&snapshot) => {
                tracing::info!(
                    volume_snapshot = name,
                    "the answer to the create was lost, the VolumeSnapshot exists"
                );
                Some(self.made_as(snapshot, false))
            }
            Ok(_) => {
                self.choose_name();
                None
            }
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                self.note(&error);
                Some(Seen::NotYet)
            }
        }
    }

    /// The name is taken: by an earlier Execute for this PVC, or by a stranger.
    async fn taken(
        &mut self,
        taken: ApiError,
        limits: &Limits,
    ) -> Option<Seen<Result<Created, ApiError>>> {
        let name = self.name();
        match self
            .reader
            .cluster
            .snapshot(&self.wanted.namespace, &name, limits)
            .await
        {
            Ok(snapshot) if self.is_ours(&snapshot) && !snapshot.metadata.is_being_deleted() => {
                Some(self.made_as(snapshot, true))
            }
            // It has gone in this moment: the name is free.
            Err(error) if error.is_not_found() => Some(Seen::NotYet),
            Err(error) => {
                self.note(&error);
                Some(Seen::NotYet)
            }
            Ok(_) if self.names >= NAMES => Some(Seen::Done(Err(taken))),
            Ok(_) => {
                self.choose_name();
                None
            }
        }
    }

    /// Labels alone could be anybody's: its source counts as well.
    fn is_ours(&self, snapshot: &VolumeSnapshot) -> bool {
        let source = snapshot.spec.source.persistent_volume_claim_name.as_deref();
        source == Some(self.wanted.pvc.as_str())
            && self.made.as_ref().is_some_and(|made| made.is(snapshot))
    }

    fn made_as(
        &mut self,
        snapshot: VolumeSnapshot,
        adopted: bool,
    ) -> Seen<Result<Created, ApiError>> {
        *self.made = Some(Made::existing(&snapshot));
        self.lost = true;
        Seen::Done(Ok(Created { snapshot, adopted }))
    }

    fn note(&mut self, error: &ApiError) {
        let text = error.to_string();
        if text != self.trouble {
            tracing::info!(error = text, "the create has no definite answer yet");
            self.trouble = text;
        }
    }
}

fn object(wanted: &Wanted, name: &str) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {
            "generateName": prefix(&wanted.pvc),
            "name": name,
            "namespace": wanted.namespace,
            "labels": wanted.labels,
        },
        "spec": {
            "source": {"persistentVolumeClaimName": wanted.pvc},
            "volumeSnapshotClassName": wanted.class,
        },
    })
}

/// `velero-PVC-`, cut as the API server cuts a generateName.
fn prefix(pvc: &str) -> String {
    let mut prefix = format!("velero-{pvc}-");
    while prefix.len() > PREFIX_LENGTH {
        prefix.pop();
    }
    prefix
}

/// Five characters, the same for the same PVC of the same backup and attempt.
fn suffix(key: &Key, attempt: usize) -> String {
    let (backup, pvc) = key;
    let digest = Sha256::digest(format!(
        "{backup}
{pvc}
{attempt}"
    ));
    let letter = |byte: &u8| SUFFIX.get(usize::from(*byte) % SUFFIX.len()).copied();
    digest
        .iter()
        .filter_map(letter)
        .map(char::from)
        .take(SUFFIX_LENGTH)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pvc_name_then_the_snapshot_name_has_63_characters() {
        let name = format!("{}{}", prefix(&"a".repeat(253)), suffix(&key("b", "p"), 1));
        assert_eq!(name.len(), 63);
        assert!(name.starts_with("velero-aaa"));
    }

    #[test]
    fn short_pvc_name_then_the_form_of_the_built_in() {
        assert_eq!(prefix("data"), "velero-data-");
        let suffix = suffix(&key("b", "p"), 1);
        assert!(suffix.bytes().all(|byte| SUFFIX.contains(&byte)));
        assert_eq!(suffix.len(), 5);
    }

    /// F54, F94: one name for one PVC of one backup, another one for everything else.
    #[test]
    fn same_backup_and_pvc_then_the_same_suffix_and_another_one_otherwise() {
        let suffixes = [
            suffix(&key("b", "p"), 1),
            suffix(&key("b", "q"), 1),
            suffix(&key("c", "p"), 1),
            suffix(&key("b", "p"), 2),
        ];
        let distinct: std::collections::BTreeSet<&String> = suffixes.iter().collect();
        assert_eq!(distinct.len(), suffixes.len());
        assert_eq!(suffixes[0], suffix(&key("b", "p"), 1));
    }

    fn key(backup: &str, pvc: &str) -> Key {
        (backup.to_owned(), pvc.to_owned())
    }
}
