//! The handle on one cluster: its objects, its record, its faults.

use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::watch;

use crate::{
    clock::Clock,
    fault::Fault,
    fault_rules::{FaultId, Faults, Matcher, When},
    json::{metadata, text},
    record::{Record, Recorded},
    resources::{NAMESPACES, RESOURCES, Resource},
    seed,
    status::Status,
    store::{Key, Store},
};

type Hook = Arc<dyn Fn(&Recorded) -> Option<Fault> + Send + Sync>;

/// One cluster's API. Clones are handles on the same cluster.
#[derive(Clone)]
pub struct KubeApi(Arc<Inner>);

struct Inner {
    clock: Clock,
    state: Mutex<State>,
    /// Counts releases of hanging requests.
    releases: watch::Sender<u64>,
    /// Counts kills of all connections.
    kills: watch::Sender<u64>,
}

struct State {
    store: Store,
    resources: Vec<Resource>,
    record: Record,
    faults: Faults,
    hook: Option<Hook>,
    ready: u16,
    unexpected: Vec<String>,
}

impl fmt::Debug for KubeApi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KubeApi")
            .field("elapsed", &self.elapsed())
            .finish_non_exhaustive()
    }
}

impl Default for KubeApi {
    fn default() -> Self {
        Self::new()
    }
}

impl KubeApi {
    /// An empty cluster with the namespaces `default` and `velero`. Its clock starts now.
    pub fn new() -> Self {
        let clock = Clock::start();
        let state = State {
            store: Store::new(clock),
            resources: RESOURCES.to_vec(),
            record: Record::default(),
            faults: Faults::default(),
            hook: None,
            ready: 200,
            unexpected: Vec::new(),
        };
        let inner = Inner {
            clock,
            state: Mutex::new(state),
            releases: watch::Sender::new(0),
            kills: watch::Sender::new(0),
        };
        let api = Self(Arc::new(inner));
        seed::namespace(&api, "default");
        seed::namespace(&api, "velero");
        api
    }

    /// How long the cluster has been there; all recorded instants count from the same start.
    pub fn elapsed(&self) -> Duration {
        self.0.clock.elapsed()
    }

    /// The cluster's clock.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// Serves one more resource, or serves it differently (in other versions, say).
    pub fn serve_resource(&self, resource: Resource) {
        let mut state = self.state();
        state
            .resources
            .retain(|served| served.plural != resource.plural);
        state.resources.push(resource);
    }

    /// No longer serves a resource: its CRD is not installed.
    pub fn withdraw_resource(&self, plural: &str) {
        self.state()
            .resources
            .retain(|served| served.plural != plural);
    }

    // ---- objects, past every check and record ----

    /// Puts an object in place as it is, `status` included; it gets a UID and a date when it has none.
    ///
    /// # Errors
    /// 404 when its `apiVersion` and `kind` are not served.
    pub fn put(&self, object: Value) -> Result<Value, Status> {
        let (api_version, kind) = (text(&object, "/apiVersion"), text(&object, "/kind"));
        let found = self.resources().into_iter().find(|served| {
            served.kind == kind
                && served
                    .versions
                    .iter()
                    .any(|version| served.api_version(version) == api_version)
        });
        let resource = found.ok_or_else(|| {
            Status::new(
                404,
                "NotFound",
                format!("no resource for {api_version} {kind}"),
            )
        })?;
        Ok(self.put_as(&resource, object))
    }

    /// The object as it is now. `namespace` is empty for cluster-wide ones.
    pub fn object(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let resource = self.find(plural)?;
        self.store(|store| store.get(&Key::new(&resource, namespace, name)).cloned())
    }

    /// All objects of a resource, in all namespaces.
    pub fn objects(&self, plural: &str) -> Vec<Value> {
        self.store(|store| {
            store
                .list(plural, "")
                .into_iter()
                .map(|(_, object)| object.clone())
                .collect()
        })
    }

    /// Changes an object in any way, `status` included; answers what it is afterwards.
    pub fn edit(
        &self,
        plural: &str,
        namespace: &str,
        name: &str,
        edit: impl FnOnce(&mut Value),
    ) -> Option<Value> {
        let resource = self.find(plural)?;
        self.store(|store| store.change(&Key::new(&resource, namespace, name), edit))
    }

    /// Deletes as somebody else would: finalizers are honoured.
    pub fn delete(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let resource = self.find(plural)?;
        self.store(|store| store.delete(&Key::new(&resource, namespace, name)))
            .map(|(object, _)| object)
    }

    /// Takes an object away, finalizers or not.
    pub fn remove(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let resource = self.find(plural)?;
        self.store(|store| store.remove(&Key::new(&resource, namespace, name)))
    }

    /// Lets a namespace go away: creates in it are refused from now on.
    pub fn terminate_namespace(&self, namespace: &str) {
        let now = self.0.clock.rfc3339();
        self.store(|store| {
            store.change(&Key::new(&NAMESPACES, "", namespace), |object| {
                metadata(object).insert("deletionTimestamp".to_owned(), now.into());
                metadata(object).insert("finalizers".to_owned(), serde_json::json!(["kubernetes"]));
                crate::json::merge(
                    object,
                    &serde_json::json!({"status": {"phase": "Terminating"}}),
                );
            })
        });
    }

    /// Waits until `found` answers something, looking at every change.
    pub async fn until<T>(&self, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changed = self.store(|store| store.subscribe());
        loop {
            changed.mark_unchanged();
            if let Some(value) = found(self) {
                return value;
            }
            // The sender lives as long as this handle does.
            let _ = changed.changed().await;
        }
    }

    // ---- the record ----

    /// All requests since the start or the last clearing, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state().record.entries().to_vec()
    }

    /// Requests that match.
    pub fn requests_matching(&self, matcher: &Matcher) -> Vec<Recorded> {
        self.state()
            .record
            .entries()
            .iter()
            .filter(|request| matcher.matches(request))
            .cloned()
            .collect()
    }

    /// How many requests of this verb about this resource there were; empty texts count all.
    pub fn count(&self, verb: &str, resource: &str) -> usize {
        self.requests_matching(&Matcher::on(verb, resource)).len()
    }

    /// How many requests there were of each verb and resource.
    pub fn counts(&self) -> std::collections::BTreeMap<(String, String), usize> {
        let mut counts = std::collections::BTreeMap::new();
        for request in self.state().record.entries() {
            *counts
                .entry((request.verb.to_owned(), request.resource.clone()))
                .or_insert(0) += 1;
        }
        counts
    }

    /// Forgets the record. Faults, objects and unexpected requests stay.
    pub fn clear_requests(&self) {
        self.state().record.clear();
    }

    /// Requests that nobody should send: unknown paths, verbs and query parameters. A test asserts that there are none.
    pub fn unexpected_requests(&self) -> Vec<String> {
        self.state().unexpected.clone()
    }

    // ---- faults ----

    /// Lets a fault happen. Of several that match the one set first wins.
    pub fn fault(&self, matcher: Matcher, fault: Fault, when: When) -> FaultId {
        self.state().faults.add(matcher, fault, when)
    }

    /// Takes one fault back.
    pub fn clear_fault(&self, id: FaultId) {
        self.state().faults.remove(id);
    }

    /// Takes all faults and the hook back.
    pub fn clear_faults(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.hook = None;
    }

    /// Asked at every request, before the faults that were set; it sees the request with its body and may look at this cluster.
    pub fn on_request(&self, hook: impl Fn(&Recorded) -> Option<Fault> + Send + Sync + 'static) {
        self.state().hook = Some(Arc::new(hook));
    }

    /// Lets every hanging request go on, and no further one hang.
    pub fn release(&self) {
        self.state().faults.remove_hangs();
        self.0.releases.send_modify(|count| *count += 1);
    }

    /// What `/readyz` answers from now on.
    pub fn set_readyz(&self, status: u16) {
        self.state().ready = status;
    }

    /// Breaks every open watch, as a restart does.
    pub fn kill_watches(&self) {
        self.0.kills.send_modify(|count| *count += 1);
    }

    // ---- for the rest of this crate ----

    pub(crate) fn put_as(&self, resource: &Resource, mut object: Value) -> Value {
        let namespace = if resource.namespaced {
            text(&object, "/metadata/namespace").to_owned()
        } else {
            String::new()
        };
        let key = Key::new(resource, &namespace, text(&object, "/metadata/name"));
        self.store(|store| {
            if let Some(present) = store.get(&key) {
                let (uid, created) = (
                    text(present, "/metadata/uid").to_owned(),
                    text(present, "/metadata/creationTimestamp").to_owned(),
                );
                let meta = metadata(&mut object);
                meta.entry("uid").or_insert_with(|| uid.into());
                meta.entry("creationTimestamp")
                    .or_insert_with(|| created.into());
                return store.commit(key, object);
            }
            // An object without a name is the caller's mistake and shows as such.
            store
                .create(resource, &namespace, object)
                .unwrap_or_else(|status| status.to_json())
        })
    }

    pub(crate) fn store<T>(&self, look: impl FnOnce(&mut Store) -> T) -> T {
        look(&mut self.state().store)
    }

    pub(crate) fn resources(&self) -> Vec<Resource> {
        self.state().resources.clone()
    }

    pub(crate) fn ready_status(&self) -> u16 {
        self.state().ready
    }

    /// Records a request and says what goes wrong with it.
    pub(crate) fn admit(&self, request: &Recorded) -> (usize, Option<Fault>) {
        let hook = self.state().hook.clone();
        // Outside the lock, so that the hook may use this cluster.
        let hooked = hook.and_then(|hook| hook(request));
        let mut state = self.state();
        let number = state.record.add(request.clone());
        let fault = hooked.or_else(|| state.faults.take(request));
        (number, fault)
    }

    pub(crate) fn note_answer(&self, number: usize, status: u16) {
        self.state().record.answered(number, status);
    }

    pub(crate) fn note_unexpected(&self, what: String) {
        self.state().unexpected.push(what);
    }

    /// Ends at the next release.
    pub(crate) fn released(&self) -> impl Future<Output = ()> + Send + 'static {
        next(&self.0.releases)
    }

    /// Ends at the next kill of all connections.
    pub(crate) fn killed(&self) -> impl Future<Output = ()> + Send + 'static {
        next(&self.0.kills)
    }

    fn find(&self, plural: &str) -> Option<Resource> {
        self.state()
            .resources
            .iter()
            .find(|served| served.plural == plural)
            .copied()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn next(sender: &watch::Sender<u64>) -> impl Future<Output = ()> + Send + 'static {
    let mut receiver = sender.subscribe();
    async move {
        if receiver.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
