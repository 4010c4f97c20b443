//! WATCH: what changes, as chunked lines of JSON, until the client goes, the time is up, or the connections are killed.

use std::{io, time::Duration};

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    api::KubeApi,
    body::{self, ApiBody},
    request::{ObjectTarget, Request},
    selector::Selector,
    status::Status,
    store::Change,
    verbs,
};

/// Events that wait for a slow client.
const QUEUED: usize = 16;
/// As long as a real API server keeps a watch at most.
const LONGEST: Duration = Duration::from_hours(1);

/// Starts a watch.
pub(crate) fn serve(api: &KubeApi, target: &ObjectTarget, request: &Request) -> Response<ApiBody> {
    let selector = match Selector::parse(
        request.parameter("labelSelector"),
        request.parameter("fieldSelector"),
        target.resource.plural,
    ) {
        Ok(selector) => selector,
        Err(status) => return verbs::refusal(&status),
    };
    let limit = request
        .parameter("timeoutSeconds")
        .parse()
        .map_or(LONGEST, Duration::from_secs);
    let (first, from) = match request.parameter("resourceVersion") {
        "" | "0" => present(api, target, &selector),
        version => match version.parse() {
            Ok(version) => (Vec::new(), version),
            Err(_) => {
                return verbs::refusal(&Status::bad_request(format!(
                    "invalid resource version {version}"
                )));
            }
        },
    };
    let (events, receiver) = mpsc::channel(QUEUED);
    let watch = Watch {
        api: api.clone(),
        target: target.clone(),
        selector,
        events,
    };
    tokio::spawn(async move {
        let killed = watch.api.killed();
        tokio::select! {
            () = watch.run(first, from) => {}
            () = watch.events.closed() => {}
            () = tokio::time::sleep(limit) => {}
            () = killed => {
                let _ = watch.events.send(Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset"))).await;
            }
        }
    });
    let mut response = body::json(200, &Value::Null);
    *response.body_mut() = ApiBody::stream(receiver);
    response
}

fn present(api: &KubeApi, target: &ObjectTarget, selector: &Selector) -> (Vec<Value>, u64) {
    api.store(|store| {
        let found = store.list(target.resource.plural, &target.namespace);
        let events = found
            .into_iter()
            .filter(|(_, object)| selector.matches(object));
        (
            events
                .map(|(_, object)| event("ADDED", &verbs::shown(target, object)))
                .collect(),
            store.version(),
        )
    })
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

struct Watch {
    api: KubeApi,
    target: ObjectTarget,
    selector: Selector,
    events: mpsc::Sender<io::Result<Bytes>>,
}

impl Watch {
    async fn run(&self, first: Vec<Value>, mut from: u64) {
        let mut news = self.api.store(|store| store.subscribe());
        for line in first {
            self.send(&line).await;
        }
        loop {
            news.mark_unchanged();
            let Some(changes) = self.api.store(|store| store.changes_since(from)) else {
                let gone = Status::new(410, "Expired", format!("too old resource version: {from}"));
                self.send(&event("ERROR", &gone.to_json())).await;
                return;
            };
            for change in changes {
                from = change.version;
                if let Some(line) = self.line(&change) {
                    self.send(&line).await;
                }
            }
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    fn line(&self, change: &Change) -> Option<Value> {
        let here = change.key.plural == self.target.resource.plural
            && (self.target.namespace.is_empty() || change.key.namespace == self.target.namespace);
        if !here {
            return None;
        }
        let wanted = |object: &Option<Value>| {
            object
                .as_ref()
                .filter(|object| self.selector.matches(object))
                .cloned()
        };
        let (kind, object) = match (wanted(&change.before), wanted(&change.after)) {
            (None, None) => return None,
            (None, Some(after)) => ("ADDED", after),
            (Some(_), Some(after)) => ("MODIFIED", after),
            (Some(before), None) => ("DELETED", change.after.clone().unwrap_or(before)),
        };
        Some(event(kind, &verbs::shown(&self.target, &object)))
    }

    async fn send(&self, line: &Value) {
        // A client that has gone ends the watch through `closed`.
        let _ = self.events.send(Ok(Bytes::from(format!("{line}\n")))).await;
    }
}
