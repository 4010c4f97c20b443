//! The csi-snapshotter: asks the driver for snapshots, writes their handles on contents, and deletes.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    ControllerOptions, content, follow, keys,
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
    store::{Change, Key, Store},
};

const COMPONENT: &str = "csi-snapshotter";

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
                for key in keys(&self.api, CONTENTS.plural) {
                    self.queue.add(key);
                }
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
        let volume = text(content, "/spec/source/volumeHandle");
        let class = text(content, "/spec/volumeSnapshotClassName");
        if self.api.object(CLASSES.plural, "", class).is_none() {
            let name = text(content, "/metadata/name");
            let why = quoted(&content::class_not_found(class));
            let message = format!(
                "failed to get input parameters to create snapshot for content {name}: {why}"
            );
            return self.report(key, content, &message).await;
        }
        self.change(key, |object| mark(object, BEING_CREATED)).await;
        let name = format!("snapshot-{}", text(content, "/spec/volumeSnapshotRef/uid"));
        match self.call(self.storage.create(&name, volume)).await {
            Ok(snapshot) => self.take_over(key, &snapshot).await,
            Err(error) => {
                if error.is_final() {
                    self.change(key, |object| unmark(object, BEING_CREATED))
                        .await;
                }
                let why = quoted(&error.to_string());
                let message = format!("failed to take snapshot of the volume {volume}: {why}");
                self.report(key, content, &message).await
            }
        }
    }

    /// One call of the driver, given up after the sidecar's time-out.
    async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, DriverError> {
        let given_up = DriverError::new("DeadlineExceeded", "context deadline exceeded");
        tokio::time::timeout(self.options.csi_timeout, call)
            .await
            .unwrap_or(Err(given_up))
    }

    /// Writes what the driver answered. An earlier error stays until the snapshot is ready, as upstream leaves it.
    async fn take_over(&self, key: &Key, snapshot: &StoredSnapshot) -> Next {
        let ready = self.storage.is_ready(snapshot);
        // Upstream reads the object first, past its cache.
        self.limiter.take().await;
        self.change(key, |object| {
            let status = object_at(object, &["status"]);
            for (field, value) in [
                ("snapshotHandle", Value::from(snapshot.handle.clone())),
                ("creationTime", snapshot.creation_time.into()),
                ("restoreSize", snapshot.size.into()),
            ] {
                status.entry(field).or_insert(value);
            }
            status.insert("readyToUse".to_owned(), ready.into());
            if ready {
                status.remove("error");
            }
        })
        .await;
        self.change(key, |object| unmark(object, BEING_CREATED))
            .await;
        let look = |store: &mut Store| (store.get(key).is_some_and(is_deleting), store.version());
        let (deleting, version) = self.api.store(look);
        if self.options.lost_requeue && deleting && ready {
            let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
            missed.insert(key.clone(), version);
            self.queue.lose(key);
        }
        if ready { Next::Done } else { Next::Retry }
    }

    async fn delete(&self, key: &Key, content: &Value) -> Next {
        let handle = text(content, "/status/snapshotHandle");
        if text(content, "/spec/deletionPolicy") == "Delete" && !handle.is_empty() {
            if self.call(self.storage.delete(handle)).await.is_err() {
                let message = "Failed to delete snapshot";
                warn(
                    &self.api,
                    COMPONENT,
                    content,
                    "SnapshotDeleteError",
                    message,
                );
                return Next::Retry;
            }
            // Upstream reads the object first, past its cache.
            self.limiter.take().await;
            self.change(key, |object| {
                object_at(object, &[]).remove("status");
            })
            .await;
        }
        self.change(key, |object| remove_finalizers(object, &[CONTENT_BOUND]))
            .await;
        Next::Done
    }

    /// Writes an error, with an event, unless it is there already.
    async fn report(&self, key: &Key, content: &Value, why: &str) -> Next {
        let (reason, message) = if has(content, "/status") {
            let message = format!("Failed to check and update snapshot content: {why}");
            ("SnapshotContentCheckandUpdateFailed", message)
        } else {
            let message = format!("Failed to create snapshot: {why}");
            ("SnapshotCreationFailed", message)
        };
        if text(content, "/status/error/message") != message {
            let now = self.api.clock().rfc3339();
            self.change(key, |object| set_error(object, &message, &now, true))
                .await;
            warn(&self.api, COMPONENT, content, reason, &message);
        }
        Next::Retry
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

/// As Go's `%q`.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
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
