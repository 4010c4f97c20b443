//! What is kept between the calls of one process: values read once per backup, and what was said.
//!
//! Keyed by backup UID: a process normally serves one backup, a test harness may serve many (P-27). May
//! use: rules, model.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::model::pod::Pod;
use crate::model::settings::BadSetting;
use crate::model::snapshot::VolumeSnapshotClass;
use crate::rules::volume_policy::VolumePolicies;

/// Keys of each kind that are kept; the oldest goes first.
const KEYS: usize = 256;

/// What names a PVC in a backup: UIDs, or names where there are none.
pub type Key = (String, String);

/// Answers that are remembered; more than one process ever gives.
const ANSWERS: usize = 65_536;

/// Everything that outlives a call.
pub struct Memory {
    /// Merged volume policies by backup UID.
    pub policies: Once<String, Arc<VolumePolicies>>,
    /// Snapshot classes by backup UID.
    pub classes: Once<String, Arc<Vec<VolumeSnapshotClass>>>,
    /// Pods by backup UID and namespace.
    pub pods: Once<(String, String), Arc<Vec<Pod>>>,
    /// Provisioners by backup UID and StorageClass.
    pub provisioners: Once<(String, String), Option<String>>,
    /// One Execute at a time per backup UID and PVC UID (F54).
    pub turns: SingleFlight<Key>,
    answers: Mutex<HashSet<Key>>,
    warmed_classes: Mutex<Option<Vec<VolumeSnapshotClass>>>,
    bad_settings: Mutex<Vec<BadSetting>>,
    said: Once<String, ()>,
}

impl Memory {
    /// Knows nothing yet but the settings to complain about.
    #[must_use]
    pub fn new(bad_settings: Vec<BadSetting>) -> Self {
        Self {
            policies: Once::new(),
            classes: Once::new(),
            pods: Once::new(),
            provisioners: Once::new(),
            turns: SingleFlight::new(),
            answers: Mutex::new(HashSet::new()),
            warmed_classes: Mutex::new(None),
            bad_settings: Mutex::new(bad_settings),
            said: Once::new(),
        }
    }

    /// Keeps the classes of a warm-up for the first backup that asks.
    pub fn keep_classes(&self, classes: Vec<VolumeSnapshotClass>) {
        *self
            .warmed_classes
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(classes);
    }

    /// The classes of the warm-up, once.
    pub fn take_classes(&self) -> Option<Vec<VolumeSnapshotClass>> {
        self.warmed_classes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The settings to complain about, once.
    pub fn take_bad_settings(&self) -> Vec<BadSetting> {
        std::mem::take(
            &mut *self
                .bad_settings
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Velero has been told of the VolumeSnapshot of this PVC: it must not be undone any more.
    pub fn answered(&self, key: Key) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= ANSWERS {
            answers.clear();
        }
        answers.insert(key);
    }

    /// Whether Velero has been told of it.
    pub fn was_answered(&self, key: &Key) -> bool {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(key)
    }

    /// The answer was never read.
    pub fn forget_answer(&self, key: &Key) {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    /// Whether this is the first time that `what` is to be said.
    pub fn first_time(&self, what: &str) -> bool {
        let cell = self.said.cell(&what.to_owned());
        cell.set(()).is_ok()
    }
}

/// Values that are read once per key, by one reader at a time; a failed read is not kept.
pub struct Once<K, V> {
    cells: Mutex<Vec<(K, Arc<OnceCell<V>>)>>,
}

impl<K: Eq + Clone, V: Clone> Once<K, V> {
    fn new() -> Self {
        Self {
            cells: Mutex::new(Vec::new()),
        }
    }

    /// The value of `key`, read by `read` if nobody has.
    ///
    /// # Errors
    /// The error of `read`.
    pub async fn get<E, F, Fut>(&self, key: K, read: F) -> Result<V, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<V, E>>,
    {
        let cell = self.cell(&key);
        cell.get_or_try_init(read).await.cloned()
    }

    /// Forgets the value of `key` if it is the one that `seen` knows.
    pub fn forget(&self, key: &K, seen: impl Fn(&V) -> bool) {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|(known, cell)| known != key || !cell.get().is_some_and(&seen));
    }

    fn cell(&self, key: &K) -> Arc<OnceCell<V>> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        // The key used last stands last, and is forgotten last.
        let cell = match cells.iter().position(|(known, _)| known == key) {
            Some(place) => cells.remove(place).1,
            None => Arc::new(OnceCell::new()),
        };
        if cells.len() >= KEYS {
            cells.remove(0);
        }
        cells.push((key.clone(), Arc::clone(&cell)));
        cell
    }
}

/// One at a time per key.
pub struct SingleFlight<K> {
    locks: Mutex<HashMap<K, Arc<tokio::sync::Mutex<()>>>>,
}

impl<K: Eq + Hash> SingleFlight<K> {
    fn new() -> Self {
        Self {
            locks: Mutex::new(HashMap::new()),
        }
    }

    /// Waits until nobody else is under way with `key`; the guard ends the turn.
    pub async fn turn(&self, key: K) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(key).or_default())
        };
        lock.lock_owned().await
    }
}
