//! The snapshot-controller: binds VolumeSnapshots to contents, copies status, and starts deletions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

use super::{
    ControllerOptions, content, content_key, follow, keys,
    limit::Limiter,
    marks::{
        AS_SOURCE, BEING_DELETED, BOUND, CLAIM_SOURCE, CONTENT_BOUND, add_finalizer, has_finalizer,
        has_mark, is_deleting, mark, remove_finalizers, set_error, warn,
    },
    queue::{Next, Queue},
    run_all, snapshot_key,
};
use crate::{
    api::KubeApi,
    json::{object_at, text},
    resources::{CLAIMS, CONTENTS, SNAPSHOTS},
    store::{Change, Key},
};

pub(super) struct Common {
    api: KubeApi,
    options: Arc<ControllerOptions>,
    queue: Arc<Queue>,
    /// Of the client for snapshot objects.
    limiter: Limiter,
    /// Of the client for core objects.
    core_limiter: Limiter,
    /// When an object (by UID) was seen first.
    seen: Mutex<HashMap<String, Duration>>,
}

impl Common {
    pub(super) fn new(api: KubeApi, options: Arc<ControllerOptions>) -> Self {
        let limiter = Limiter::new(options.controller_limit);
        let core_limiter = Limiter::new(options.controller_limit);
        Self {
            api,
            options,
            queue: Queue::new(),
            limiter,
            core_limiter,
            seen: Mutex::default(),
        }
    }

    pub(super) async fn run(self: Arc<Self>) {
        let feed = {
            let common = Arc::clone(&self);
            follow(self.api.clone(), move |change| common.notice(change))
        };
        let work = || Arc::clone(&self).work();
        run_all(
            self.options.workers,
            work,
            feed,
            self.options.resync,
            || {
                for key in keys(&self.api, SNAPSHOTS.plural)
                    .into_iter()
                    .chain(keys(&self.api, CONTENTS.plural))
                {
                    self.queue.add(key);
                }
            },
        )
        .await;
    }

    async fn work(self: Arc<Self>) {
        loop {
            let key = self.queue.next().await;
            let next = if key.plural == SNAPSHOTS.plural {
                self.sync_snapshot(&key).await
            } else {
                self.sync_content(&key).await
            };
            self.queue.finish(key, next);
        }
    }

    fn notice(&self, change: &Change) {
        let plural = change.key.plural;
        match (&change.before, &change.after) {
            (_, Some(_)) if plural == SNAPSHOTS.plural || plural == CONTENTS.plural => {
                self.queue.add(change.key.clone());
            }
            (Some(gone), None) if plural == CONTENTS.plural => self.queue.add(owner(gone)),
            _ => {}
        }
    }

    /// How long until `delay` after the object was seen first.
    fn left(&self, object: &Value, delay: Duration) -> Duration {
        let now = self.api.elapsed();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let first = seen
            .entry(text(object, "/metadata/uid").to_owned())
            .or_insert(now);
        first.saturating_add(delay).saturating_sub(now)
    }

    async fn sync_snapshot(&self, key: &Key) -> Next {
        let Some(snapshot) = self.get(key) else {
            return Next::Done;
        };
        if is_deleting(&snapshot) {
            return self.sync_deleted(key, &snapshot).await;
        }
        let delay = self.options.finalizer_delay;
        let next = self.protect(key, &snapshot, AS_SOURCE, delay).await;
        let content = match self.content_of(&snapshot) {
            Some(content) => content,
            None if is_ready(&snapshot) => {
                let message = "VolumeSnapshotContent is missing";
                self.fail(&snapshot, "SnapshotContentMissing", message)
                    .await;
                return Next::Done;
            }
            None => {
                if let Some(late) = self.options.late_bind {
                    tokio::time::sleep(late).await;
                } else {
                    let left = self.left(&snapshot, self.options.bind_delay);
                    if !left.is_zero() {
                        return sooner(next, left);
                    }
                }
                match self.make_content(&snapshot).await {
                    Ok(content) => content,
                    Err((reason, message)) => {
                        self.fail(&snapshot, reason, &message).await;
                        return Next::Retry;
                    }
                }
            }
        };
        if !is_ready(&snapshot) {
            self.copy_status(key, &content).await;
        }
        if text(&content, "/spec/deletionPolicy") == "Delete" {
            self.change(key, |object| add_finalizer(object, BOUND))
                .await;
        }
        if is_ready(&content) {
            self.free_claim(&snapshot).await;
        }
        next
    }

    /// Adds a finalizer, not before `delay` after the object was seen first.
    async fn protect(
        &self,
        key: &Key,
        object: &Value,
        finalizer: &'static str,
        delay: Duration,
    ) -> Next {
        if is_deleting(object) || has_finalizer(object, finalizer) {
            return Next::Done;
        }
        let left = self.left(object, delay);
        if !left.is_zero() {
            return Next::After(left);
        }
        self.change(key, |object| add_finalizer(object, finalizer))
            .await;
        Next::Done
    }

    async fn make_content(&self, snapshot: &Value) -> Result<Value, (&'static str, String)> {
        let plan = content::plan(&self.api, snapshot)?;
        self.change(&plan.claim, |claim| add_finalizer(claim, CLAIM_SOURCE))
            .await;
        self.limiter.take().await;
        let key = content_key(text(&plan.content, "/metadata/name"));
        Ok(self.api.store(
            |store| match store.create(&CONTENTS, "", plan.content.clone()) {
                Ok(created) => created,
                Err(_) => store.get(&key).cloned().unwrap_or(plan.content),
            },
        ))
    }

    async fn copy_status(&self, key: &Key, content: &Value) {
        // Upstream reads the object first, past its cache.
        self.limiter.take().await;
        self.change(key, |snapshot| {
            let copied = content::status_for(content);
            let status = object_at(snapshot, &["status"]);
            status.remove("error");
            status.extend(copied);
        })
        .await;
    }

    async fn sync_deleted(&self, key: &Key, snapshot: &Value) -> Next {
        let ours = has_finalizer(snapshot, AS_SOURCE) || has_finalizer(snapshot, BOUND);
        let Some(content) = self.content_of(snapshot).filter(|_| ours) else {
            self.free_claim(snapshot).await;
            self.change(key, |object| remove_finalizers(object, &[AS_SOURCE, BOUND]))
                .await;
            return Next::Done;
        };
        let name = content_key(text(&content, "/metadata/name"));
        self.change(&name, |object| mark(object, BEING_DELETED))
            .await;
        let delete = self.policy_as_seen(&name) == "Delete";
        if delete && !is_deleting(&content) {
            self.limiter.take().await;
            self.api.store(|store| store.delete(&name));
        }
        if delete {
            // Bound protection stays until the content has gone; that event brings this snapshot here again.
            self.change(key, |object| remove_finalizers(object, &[AS_SOURCE]))
                .await;
        } else {
            self.free_claim(snapshot).await;
            self.change(key, |object| remove_finalizers(object, &[AS_SOURCE, BOUND]))
                .await;
        }
        Next::Done
    }

    async fn sync_content(&self, key: &Key) -> Next {
        let Some(content) = self.get(key) else {
            return Next::Done;
        };
        let delay = self.options.content_finalizer_delay;
        let next = self.protect(key, &content, CONTENT_BOUND, delay).await;
        let owner = owner(&content);
        // A content whose snapshot has gone is left alone, on purpose.
        let Some(snapshot) = self
            .get(&owner)
            .filter(|snapshot| is_of(&content, snapshot))
        else {
            return next;
        };
        let ours = has_finalizer(&snapshot, AS_SOURCE) || has_finalizer(&snapshot, BOUND);
        if is_deleting(&snapshot) && ours && !has_mark(&content, BEING_DELETED) {
            self.change(key, |object| mark(object, BEING_DELETED)).await;
        }
        self.queue.add(owner);
        next
    }

    fn policy_as_seen(&self, content: &Key) -> String {
        let at = self.api.elapsed().saturating_sub(self.options.stale_cache);
        self.api.store(|store| {
            let seen = if self.options.stale_cache.is_zero() {
                store.get(content)
            } else {
                store.as_of(content, at)
            };
            seen.map(|content| text(content, "/spec/deletionPolicy").to_owned())
                .unwrap_or_default()
        })
    }

    fn content_of(&self, snapshot: &Value) -> Option<Value> {
        let name = match text(snapshot, "/status/boundVolumeSnapshotContentName") {
            "" => content::name_for(snapshot),
            bound => bound.to_owned(),
        };
        self.get(&content_key(&name))
            .filter(|content| is_of(content, snapshot))
    }

    /// Lets go of the PVC, when no other snapshot of it is still unready.
    async fn free_claim(&self, snapshot: &Value) {
        let (namespace, claim) = (
            text(snapshot, "/metadata/namespace"),
            text(snapshot, "/spec/source/persistentVolumeClaimName"),
        );
        let busy = self.api.store(|store| {
            store
                .list(SNAPSHOTS.plural, namespace)
                .into_iter()
                .any(|(_, other)| {
                    text(other, "/spec/source/persistentVolumeClaimName") == claim
                        && text(other, "/metadata/uid") != text(snapshot, "/metadata/uid")
                        && other.pointer("/status/readyToUse") != Some(&Value::Bool(true))
                })
        });
        if !busy {
            self.change(&Key::new(&CLAIMS, namespace, claim), |object| {
                remove_finalizers(object, &[CLAIM_SOURCE]);
            })
            .await;
        }
    }

    async fn fail(&self, snapshot: &Value, reason: &str, message: &str) {
        let now = self.api.clock().rfc3339();
        let key = snapshot_key(
            text(snapshot, "/metadata/namespace"),
            text(snapshot, "/metadata/name"),
        );
        if text(snapshot, "/status/error/message") != message {
            self.change(&key, |object| {
                set_error(object, message, &now, reason != "GetSnapshotClassFailed");
            })
            .await;
            warn(&self.api, "snapshot-controller", snapshot, reason, message);
        }
    }

    fn get(&self, key: &Key) -> Option<Value> {
        self.api.store(|store| store.get(key).cloned())
    }

    /// Changes an object, with one request, unless it is as wanted already.
    async fn change(&self, key: &Key, edit: impl Fn(&mut Value)) {
        let Some(mut wanted) = self.get(key) else {
            return;
        };
        edit(&mut wanted);
        if self.get(key).as_ref() != Some(&wanted) {
            let core = key.plural == CLAIMS.plural;
            let limiter = if core {
                &self.core_limiter
            } else {
                &self.limiter
            };
            limiter.take().await;
            self.api.store(|store| store.change(key, &edit));
        }
    }
}

fn owner(content: &Value) -> Key {
    snapshot_key(
        text(content, "/spec/volumeSnapshotRef/namespace"),
        text(content, "/spec/volumeSnapshotRef/name"),
    )
}

fn is_ready(object: &Value) -> bool {
    object.pointer("/status/readyToUse") == Some(&Value::Bool(true))
}

fn sooner(next: Next, left: Duration) -> Next {
    match next {
        Next::After(other) => Next::After(other.min(left)),
        _ => Next::After(left),
    }
}

fn is_of(content: &Value, snapshot: &Value) -> bool {
    text(content, "/spec/volumeSnapshotRef/uid") == text(snapshot, "/metadata/uid")
}
