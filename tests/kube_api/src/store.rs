//! The objects: what is there, what it looked like before, and who wants to know.
//!
//! Every change gets the next resource version and a place in a bounded log, from which watches and the controllers read.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::watch;

use crate::{
    clock::Clock,
    json::{has, metadata, text, texts},
    resources::Resource,
    status::Status,
};

/// Changes kept for watches; a watch from an older version is answered 410, as by the real one.
const LOG_LENGTH: usize = 5_000;
/// What the API server's random suffixes are made of.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// A generated name is at most 63 long, 5 of them random.
const PREFIX_LENGTH: usize = 58;

/// Where an object is. Ordered as a list shows objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) plural: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(resource: &Resource, namespace: &str, name: &str) -> Self {
        let namespace = if resource.namespaced {
            namespace.to_owned()
        } else {
            String::new()
        };
        Self {
            plural: resource.plural,
            namespace,
            name: name.to_owned(),
        }
    }
}

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) at: Duration,
    pub(crate) key: Key,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

/// All objects.
#[derive(Debug)]
pub(crate) struct Store {
    clock: Clock,
    objects: BTreeMap<Key, Value>,
    version: u64,
    log: VecDeque<Change>,
    changed: watch::Sender<u64>,
    random: fastrand::Rng,
}

impl Store {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            objects: BTreeMap::new(),
            version: 1,
            log: VecDeque::new(),
            changed: watch::Sender::new(1),
            random: fastrand::Rng::with_seed(1),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Objects of a resource, of one namespace or (empty) of all.
    pub(crate) fn list(&self, plural: &str, namespace: &str) -> Vec<(&Key, &Value)> {
        self.objects
            .iter()
            .skip_while(|(key, _)| key.plural < plural)
            .take_while(|(key, _)| key.plural == plural)
            .filter(|(key, _)| namespace.is_empty() || key.namespace == namespace)
            .collect()
    }

    /// Told at every change; the value is the newest version.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Changes after `version`; none when the log does not reach back that far.
    pub(crate) fn changes_since(&self, version: u64) -> Option<Vec<Change>> {
        let reaches = self
            .log
            .front()
            .is_none_or(|oldest| oldest.version <= version.saturating_add(1))
            || self.log.len() < LOG_LENGTH;
        reaches.then(|| {
            let start = self.log.partition_point(|change| change.version <= version);
            self.log.iter().skip(start).cloned().collect()
        })
    }

    /// The object as it was at `at` (as it was made, when it is younger).
    pub(crate) fn as_of(&self, key: &Key, at: Duration) -> Option<&Value> {
        let mut seen = None;
        for change in self
            .log
            .iter()
            .filter(|change| change.key == *key && change.after.is_some())
        {
            if seen.is_none() || change.at <= at || change.before.is_none() {
                seen = change.after.as_ref();
            }
        }
        seen
    }

    /// A create: names, dates and numbers the object.
    ///
    /// # Errors
    /// 409 when the name is taken, 422 when there is none.
    pub(crate) fn create(
        &mut self,
        resource: &Resource,
        namespace: &str,
        mut object: Value,
    ) -> Result<Value, Status> {
        let mut name = text(&object, "/metadata/name").to_owned();
        if name.is_empty() {
            let prefix = text(&object, "/metadata/generateName");
            if prefix.is_empty() {
                return Err(Status::invalid(
                    resource,
                    "",
                    "metadata.name",
                    "Required value: name or generateName is required",
                ));
            }
            name = format!(
                "{}{}",
                prefix.get(..PREFIX_LENGTH).unwrap_or(prefix),
                self.suffix()
            );
        }
        let key = Key::new(resource, namespace, &name);
        if self.objects.contains_key(&key) {
            return Err(Status::already_exists(resource, &name));
        }
        let (uid, created) = (self.uid(), self.clock.rfc3339());
        let meta = metadata(&mut object);
        meta.insert("name".to_owned(), name.into());
        if resource.namespaced {
            meta.insert("namespace".to_owned(), namespace.into());
        }
        meta.entry("uid").or_insert_with(|| uid.into());
        meta.entry("creationTimestamp")
            .or_insert_with(|| created.into());
        if !resource.group.is_empty() {
            meta.insert("generation".to_owned(), 1.into());
        }
        Ok(self.commit(key, object))
    }

    /// A change of an object that is there. An object that is being deleted goes when its last finalizer has gone.
    pub(crate) fn change(&mut self, key: &Key, edit: impl FnOnce(&mut Value)) -> Option<Value> {
        let before = self.objects.get(key)?;
        let mut after = before.clone();
        edit(&mut after);
        if after == *before {
            return Some(after);
        }
        if spec_differs(before, &after) {
            bump_generation(&mut after);
        }
        if has(&after, "/metadata/deletionTimestamp")
            && texts(&after, "/metadata/finalizers").is_empty()
        {
            self.remove(key);
            return Some(after);
        }
        Some(self.commit(key.clone(), after))
    }

    /// A delete: the object as it is afterwards, and whether it has gone.
    pub(crate) fn delete(&mut self, key: &Key) -> Option<(Value, bool)> {
        let object = self.objects.get(key)?;
        if texts(object, "/metadata/finalizers").is_empty() {
            return self.remove(key).map(|object| (object, true));
        }
        if has(object, "/metadata/deletionTimestamp") {
            return Some((object.clone(), false));
        }
        let now = self.clock.rfc3339();
        let mut after = object.clone();
        metadata(&mut after).insert("deletionTimestamp".to_owned(), now.into());
        metadata(&mut after).insert("deletionGracePeriodSeconds".to_owned(), 0.into());
        bump_generation(&mut after);
        Some((self.commit(key.clone(), after), false))
    }

    /// Takes an object away, finalizers or not.
    pub(crate) fn remove(&mut self, key: &Key) -> Option<Value> {
        let before = self.objects.remove(key)?;
        self.version += 1;
        let mut last = before.clone();
        metadata(&mut last).insert(
            "resourceVersion".to_owned(),
            self.version.to_string().into(),
        );
        self.record(key.clone(), Some(last.clone()), None);
        Some(last)
    }

    /// A new UID.
    pub(crate) fn uid(&mut self) -> String {
        let (high, low) = (self.random.u64(..), self.random.u64(..));
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    /// Puts an object in place as it is, with the next version.
    pub(crate) fn commit(&mut self, key: Key, mut object: Value) -> Value {
        self.version += 1;
        metadata(&mut object).insert(
            "resourceVersion".to_owned(),
            self.version.to_string().into(),
        );
        let before = self.objects.insert(key.clone(), object.clone());
        self.record(key, before, Some(object.clone()));
        object
    }

    fn record(&mut self, key: Key, before: Option<Value>, after: Option<Value>) {
        if self.log.len() >= LOG_LENGTH {
            self.log.pop_front();
        }
        self.log.push_back(Change {
            version: self.version,
            at: self.clock.elapsed(),
            key,
            before,
            after,
        });
        self.changed.send_replace(self.version);
    }

    fn suffix(&mut self) -> String {
        (0..5)
            .map(|_| char::from(self.random.choice(SUFFIX_LETTERS).copied().unwrap_or(b'x')))
            .collect()
    }
}

fn spec_differs(before: &Value, after: &Value) -> bool {
    let without = |object: &Value| {
        let mut map = object.as_object().cloned().unwrap_or_default();
        map.remove("metadata");
        map.remove("status");
        map
    };
    without(before) != without(after)
}

fn bump_generation(object: &mut Value) {
    if let Some(generation) = object.pointer_mut("/metadata/generation") {
        *generation = (generation.as_i64().unwrap_or(0) + 1).into();
    }
}
