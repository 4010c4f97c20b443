//! Faults: what goes wrong, for which requests, and when.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{record::Recorded, status::Status};

/// What happens to a request instead of its proper answer.
#[derive(Clone)]
pub enum Fault {
    /// This answer; nothing is read or written.
    Answer(Answer),
    /// An answer made for the request; nothing is read or written.
    AnswerWith(Arc<dyn Fn(&Recorded) -> Answer + Send + Sync>),
    /// No connection (over loopback: the connection is closed, see [`crate::Served::stop`] for a refused one).
    Refuse,
    /// The connection breaks before any answer; nothing is read or written.
    Reset,
    /// The request is served, but its answer breaks off in the middle of the body.
    Cut,
    /// No answer until [`crate::KubeApi::release`]; then the request is served.
    Hang,
    /// The request is served after this long.
    Slow(Duration),
    /// The request is served, then the fault happens to its answer: `AfterWrite(Reset)` is a lost answer,
    /// `AfterWrite(Answer(504))` a write that took place although it is reported as failed, `AfterWrite(Slow)` a late answer.
    AfterWrite(Box<Fault>),
}

impl fmt::Debug for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(answer) => formatter.debug_tuple("Answer").field(answer).finish(),
            Self::AnswerWith(_) => formatter.write_str("AnswerWith(..)"),
            Self::Refuse => formatter.write_str("Refuse"),
            Self::Reset => formatter.write_str("Reset"),
            Self::Cut => formatter.write_str("Cut"),
            Self::Hang => formatter.write_str("Hang"),
            Self::Slow(time) => formatter.debug_tuple("Slow").field(time).finish(),
            Self::AfterWrite(fault) => formatter.debug_tuple("AfterWrite").field(fault).finish(),
        }
    }
}

/// A made-up answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// `Content-Type`.
    pub content_type: String,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: String,
}

impl Answer {
    /// Any answer.
    pub fn raw(code: u16, content_type: &str, body: impl Into<String>) -> Self {
        Self {
            code,
            content_type: content_type.to_owned(),
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// A JSON body.
    pub fn json(code: u16, body: &Value) -> Self {
        Self::raw(code, "application/json", body.to_string())
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self::json(status.code, &status.to_json())
    }
}

impl Fault {
    /// A `v1 Status`.
    pub fn status(status: Status) -> Self {
        Self::Answer(status.into())
    }

    /// Any code and body.
    pub fn raw(code: u16, content_type: &str, body: &str) -> Self {
        Self::Answer(Answer::raw(code, content_type, body))
    }

    /// 500 whose body is `{}`: the client sees a Status with code 0.
    pub fn empty_500() -> Self {
        Self::raw(500, "application/json", "{}")
    }

    /// 500 with a Status, such as `etcdserver: leader changed`.
    pub fn internal(message: &str) -> Self {
        Self::status(Status::new(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        ))
    }

    /// The plain-text 404 of a path that is not (yet) served.
    pub fn plain_404() -> Self {
        Self::raw(404, "text/plain; charset=utf-8", "404 page not found\n")
    }

    /// A real NotFound of the named object.
    pub fn not_found() -> Self {
        Self::made(|request| {
            let resource = crate::resources::RESOURCES
                .iter()
                .find(|resource| resource.plural == request.resource);
            resource.map_or_else(
                || Answer::raw(404, "text/plain", "404 page not found\n"),
                |found| Status::not_found(found, &request.name).into(),
            )
        })
    }

    /// 503 of a starting API server, in plain text.
    pub fn unavailable() -> Self {
        Self::status(Status::new(
            503,
            "ServiceUnavailable",
            "apiserver not ready",
        ))
    }

    /// 504 with a Status.
    pub fn gateway_timeout() -> Self {
        Self::status(Status::new(
            504,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
        ))
    }

    /// 429 with `Retry-After`, as priority and fairness sends it.
    pub fn too_many_requests(retry_after_seconds: u32) -> Self {
        let mut status = Status::new(
            429,
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        );
        status.details = json!({"retryAfterSeconds": retry_after_seconds});
        Self::Answer(Answer::from(status).header("retry-after", retry_after_seconds.to_string()))
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::status(Status::new(401, "Unauthorized", "Unauthorized"))
    }

    /// 403 by RBAC, in the API server's words.
    pub fn forbidden() -> Self {
        Self::made(|request| {
            let plural = request.resource.split('/').next().unwrap_or_default();
            let place = if request.namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace \"{}\"", request.namespace)
            };
            let why = format!(
                "User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {place}",
                crate::USER,
                request.verb,
                request.resource,
                request.group
            );
            Status::forbidden(&request.group, plural, &request.name, &why).into()
        })
    }

    /// 403 of a create because a quota on the resource's count is used up.
    pub fn quota_exceeded(quota: &str, limit: u32) -> Self {
        let quota = quota.to_owned();
        Self::made(move |request| {
            let counted = format!("count/{}.{}", request.resource, request.group);
            let counted = counted.trim_end_matches('.');
            let why = format!(
                "exceeded quota: {quota}, requested: {counted}=1, used: {counted}={limit}, limited: {counted}={limit}"
            );
            Status::forbidden(
                &request.group,
                &request.resource,
                created_name(request),
                &why,
            )
            .into()
        })
    }

    /// 403 of a create because the namespace is going away.
    pub fn namespace_terminating() -> Self {
        Self::made(|request| {
            Status::terminating(
                &request.group,
                &request.resource,
                created_name(request),
                &request.namespace,
            )
            .into()
        })
    }

    /// The write happens, its answer is lost.
    pub fn lost_answer() -> Self {
        Self::Reset.after_write()
    }

    /// The request is served first.
    #[must_use]
    pub fn after_write(self) -> Self {
        Self::AfterWrite(Box::new(self))
    }

    fn made(answer: impl Fn(&Recorded) -> Answer + Send + Sync + 'static) -> Self {
        Self::AnswerWith(Arc::new(answer))
    }
}

fn created_name(request: &Recorded) -> &str {
    let metadata = |field| {
        request
            .body
            .pointer(field)
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
    };
    metadata("/metadata/name")
        .or_else(|| metadata("/metadata/generateName"))
        .unwrap_or(&request.name)
}
