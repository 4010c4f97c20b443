//! The csi-snapshotter: asks the driver for snapshots, writes their handles on contents, and deletes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    ControllerOptions, follow, keys,
    limit::Limiter,
    marks::{
        BEING_CREATED, BEING_DELETED, CONTENT_BOUND, has_mark, is_deleting, mark,
        remove_finalizers, set_error, unmark, warn,
    },
    queue::{Next, Queue},
    run_all,
};
use crate::{
    api::KubeApi,
    json::{has, metadata, object_at, text},
    resources::{CLASSES, CONTENTS},
    storage::{DriverError, Storage, StoredSnapshot},
    store::{Change, Key},
};

pub(super) struct Sidecar {
    api: KubeApi,
    storage: Storage,
    options: Arc<ControllerOptions>,
    queue: Arc<Queue>,
    limiter: Limiter,
    /// Changes of a content up to this version are not noticed (see `lost_requeue`).
    missed: Mutex<HashMap<Key, u64>>,
}

impl Sidecar {
    pub(super) fn new(api: KubeApi, storage: Storage, options: Arc<ControllerOptions>) -> Self {
        let limiter = Limiter::new(options.sidecar_limit);
        Self {
            api,
            storage,
            options,
            queue: Queue::new(),
            limiter,
            missed: Mutex::default(),
        }
    }

    pub(super) async fn run(self: Arc<Self>) {
        let feed = {
            let sidecar = Arc::clone(&self);
            follow(self.api.clone(), move |change| sidecar.notice(change))
        };
        let work = || Arc::clone(&self).work();
        run_all(
            self.options.workers,
            work,
            feed,
            self.options.resync,
            || {
                keys(&self.api, CONTENTS.plural)
                    .into_iter()
                    .for_each(|key| self.queue.add(key));
            },
        )
        .await;
    }

    async fn work(self: Arc<Self>) {
        loop {
            let key = self.queue.next().await;
            let next = self.sync(&key).await;
            self.queue.finish(key, next);
        }
    }

    fn notice(&self, change: &Change) {
        let Some(after) = change
            .after
            .as_ref()
            .filter(|_| change.key.plural == CONTENTS.plural)
        else {
            return;
        };
        let wanted = change
            .before
            .as_ref()
            .is_none_or(|before| calls_for_a_look(before, after));
        let missed = self
            .missed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&change.key)
            .copied()
            .unwrap_or(0);
        if wanted && change.version > missed {
            self.queue.add(change.key.clone());
        }
    }

    async fn sync(&self, key: &Key) -> Next {
        let Some(content) = self.api.store(|store| store.get(key).cloned()) else {
            return Next::Done;
        };
        let driver = text(&content, "/spec/driver");
        if !self.options.drivers.is_empty()
            && !self.options.drivers.iter().any(|served| served == driver)
        {
            return Next::Done;
        }
        if should_delete(&content) {
            return self.delete(key, &content).await;
        }
        let ready = content.pointer("/status/readyToUse") == Some(&Value::Bool(true));
        if ready || !has(&content, "/spec/source/volumeHandle") {
            return Next::Done;
        }
        self.create(key, &content).await
    }

    async fn create(&self, key: &Key, content: &Value) -> Next {
        let attempt = if has(content, "/status") {
            "Failed to check and update snapshot content"
        } else {
            "Failed to create snapshot"
        };
        let class = text(content, "/spec/volumeSnapshotClassName");
        if self.api.object(CLASSES.plural, "", class).is_none() {
            let why =
                format!("failed to retrieve snapshot class {class} from the informer: not found");
            self.report(key, content, &format!("{attempt}: {why}"))
                .await;
            return Next::Retry;
        }
        self.change(key, |object| mark(object, BEING_CREATED)).await;
        let volume = text(content, "/spec/source/volumeHandle");
        let name = format!("snapshot-{}", text(content, "/spec/volumeSnapshotRef/uid"));
        let call =
            tokio::time::timeout(self.options.csi_timeout, self.storage.create(&name, volume))
                .await;
        match call.unwrap_or_else(|_| {
            Err(DriverError::new(
                "DeadlineExceeded",
                "context deadline exceeded",
            ))
        }) {
            Ok(snapshot) => self.take_over(key, &snapshot).await,
            Err(error) => {
                if error.is_final() {
                    self.change(key, |object| unmark(object, BEING_CREATED))
                        .await;
                }
                let why = Value::from(error.to_string());
                self.report(
                    key,
                    content,
                    &format!("{attempt}: failed to take snapshot of the volume {volume}: {why}"),
                )
                .await;
                Next::Retry
            }
        }
    }

    async fn take_over(&self, key: &Key, snapshot: &StoredSnapshot) -> Next {
        let ready = self.storage.is_ready(snapshot);
        self.change(key, |object| {
            let status = object_at(object, &["status"]);
            status.remove("error");
            status.insert("snapshotHandle".to_owned(), snapshot.handle.clone().into());
            status.insert("creationTime".to_owned(), snapshot.creation_time.into());
            status.insert("restoreSize".to_owned(), snapshot.size.into());
            status.insert("readyToUse".to_owned(), ready.into());
        })
        .await;
        self.change(key, |object| unmark(object, BEING_CREATED))
            .await;
        let deleting = self
            .api
            .store(|store| store.get(key).is_some_and(is_deleting));
        if self.options.lost_requeue && deleting && ready {
            let version = self.api.store(|store| store.version());
            self.missed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key.clone(), version);
            self.queue.lose(key);
        }
        if ready { Next::Done } else { Next::Retry }
    }

    async fn delete(&self, key: &Key, content: &Value) -> Next {
        let handle = text(content, "/status/snapshotHandle");
        if text(content, "/spec/deletionPolicy") == "Delete" && !handle.is_empty() {
            let call =
                tokio::time::timeout(self.options.csi_timeout, self.storage.delete(handle)).await;
            let deleted = call.unwrap_or_else(|_| {
                Err(DriverError::new(
                    "DeadlineExceeded",
                    "context deadline exceeded",
                ))
            });
            if let Err(error) = deleted {
                let message = format!("Failed to delete snapshot: {error}");
                self.report_as(key, content, "SnapshotDeleteError", &message)
                    .await;
                return Next::Retry;
            }
            self.change(key, |object| {
                object_at(object, &[]).remove("status");
            })
            .await;
        }
        self.change(key, |object| remove_finalizers(object, &[CONTENT_BOUND]))
            .await;
        Next::Done
    }

    async fn report(&self, key: &Key, content: &Value, message: &str) {
        self.report_as(key, content, "SnapshotCreationFailed", message)
            .await;
    }

    async fn report_as(&self, key: &Key, content: &Value, reason: &str, message: &str) {
        let now = self.api.clock().rfc3339();
        self.change(key, |object| set_error(object, message, &now))
            .await;
        warn(&self.api, "csi-snapshotter", content, reason, message);
    }

    /// Changes the content, with one request, unless it is as wanted already. One that has gone stays gone.
    async fn change(&self, key: &Key, edit: impl Fn(&mut Value)) {
        let Some(present) = self.api.store(|store| store.get(key).cloned()) else {
            return;
        };
        let mut wanted = present.clone();
        edit(&mut wanted);
        if wanted != present {
            self.limiter.take().await;
            self.api.store(|store| store.change(key, &edit));
        }
    }
}

/// `shouldDelete` of the sidecar: both marks must be right, whatever else is asked.
fn should_delete(content: &Value) -> bool {
    is_deleting(content) && !has_mark(content, BEING_CREATED) && has_mark(content, BEING_DELETED)
}

/// `ShouldEnqueueContentChange`: what the sidecar writes itself calls for nothing, except that the snapshot has become ready.
fn calls_for_a_look(before: &Value, after: &Value) -> bool {
    let ready = |content: &Value| content.pointer("/status/readyToUse") == Some(&Value::Bool(true));
    (!ready(before) && ready(after)) || without_own_writes(before) != without_own_writes(after)
}

fn without_own_writes(content: &Value) -> Value {
    let mut rest = content.clone();
    unmark(&mut rest, BEING_CREATED);
    object_at(&mut rest, &[]).remove("status");
    metadata(&mut rest).remove("finalizers");
    metadata(&mut rest).remove("resourceVersion");
    rest
}
