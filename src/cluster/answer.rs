//! HTTP answers to faults: what a code and a body mean for the object that was asked for.
//!
//! Pure. May use: model.

use http::StatusCode;
use serde::Deserialize;

use super::error::Fault;
use super::request::{Call, Verb};
use crate::model::one_line::one_line;

/// The parts of a `v1` Status that decide.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: Option<String>,
    message: Option<String>,
    reason: Option<String>,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    name: Option<String>,
    group: Option<String>,
    kind: Option<String>,
}

/// What an answer with an error code means.
///
/// A 404 is [`Fault::NotFound`] only if reason, group, kind and name all name the object of `call`: an
/// API server that has just started answers 404 for paths that it does not serve yet. A body that is no
/// Status, such as a proxy's page, is trouble on the way, whatever its code (T14), except for a 4xx
/// that cannot be anything else.
#[must_use]
pub fn fault(call: &Call, code: StatusCode, body: &[u8]) -> Fault {
    let status: Option<Status> = serde_json::from_slice(body)
        .ok()
        .filter(|status: &Status| status.kind.as_deref() == Some("Status"));
    let Some(status) = status else {
        return foreign(code, body);
    };
    let message = one_line(status.message.as_deref().unwrap_or_default());
    let reason = status.reason.as_deref().unwrap_or_default();
    match code.as_u16() {
        401 => Fault::Unauthorized(message),
        403 => Fault::Forbidden(message),
        404 if names_object(call, reason, status.details.as_ref()) => Fault::NotFound,
        // A create names no object of ours: it is the namespace that is missing, or the path.
        404 if call.verb == Verb::Create
            && reason == "NotFound"
            && has_name(status.details.as_ref()) =>
        {
            Fault::Refused { code: 404, message }
        }
        404 => Fault::Unserved(message),
        409 if reason == "AlreadyExists" => Fault::AlreadyExists,
        409 => Fault::Conflict(message),
        429 => Fault::Throttled(message),
        408 | 500..=599 => Fault::Unavailable(format!("{} {message}", code.as_u16())),
        code => Fault::Refused { code, message },
    }
}

fn foreign(code: StatusCode, body: &[u8]) -> Fault {
    let text = one_line(&String::from_utf8_lossy(body));
    match code.as_u16() {
        401 => Fault::Unauthorized(text),
        403 => Fault::Forbidden(text),
        404 => Fault::Unserved(text),
        429 => Fault::Throttled(text),
        408 | 500..=599 => Fault::Unavailable(format!("{} {text}", code.as_u16())),
        code => Fault::Refused {
            code,
            message: text,
        },
    }
}

fn names_object(call: &Call, reason: &str, details: Option<&Details>) -> bool {
    let Some(details) = details else { return false };
    reason == "NotFound"
        && details.group.as_deref().unwrap_or_default() == call.kind.group
        && details.kind.as_deref() == Some(call.kind.resource)
        && !call.name.is_empty()
        && details.name.as_deref() == Some(call.name.as_str())
}

fn has_name(details: Option<&Details>) -> bool {
    details
        .and_then(|details| details.name.as_deref())
        .is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::request::Kind;

    fn get() -> Call {
        Call::new(Verb::Get, Kind::SNAPSHOT, "shop", "data")
    }

    fn judge(code: u16, body: &str) -> Fault {
        fault(&get(), StatusCode::from_u16(code).unwrap(), body.as_bytes())
    }

    fn not_found(group: &str, kind: &str, name: &str) -> String {
        format!(
            r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,
                "message":"x","details":{{"group":"{group}","kind":"{kind}","name":"{name}"}}}}"#
        )
    }

    #[test]
    fn status_names_our_object_then_it_does_not_exist() {
        assert_eq!(
            judge(
                404,
                &not_found("snapshot.storage.k8s.io", "volumesnapshots", "data")
            ),
            Fault::NotFound
        );
    }

    #[test]
    fn status_404_for_anything_else_then_the_path_is_not_served_yet() {
        for body in [
            not_found("", "volumesnapshots", "data"),
            not_found("snapshot.storage.k8s.io", "volumesnapshots", "other"),
            not_found("snapshot.storage.k8s.io", "volumesnapshotcontents", "data"),
            not_found("snapshot.storage.k8s.io", "volumesnapshots", ""),
            r#"{"kind":"Status","reason":"NotFound","code":404,"message":"the server could not find it"}"#.to_owned(),
            "404 page not found\n".to_owned(),
        ] {
            assert!(matches!(judge(404, &body), Fault::Unserved(_)), "{body}");
        }
    }

    #[test]
    fn missing_namespace_on_create_then_a_refusal_and_no_retry() {
        let call = Call::new(Verb::Create, Kind::SNAPSHOT, "shop", "data");
        let fault = fault(
            &call,
            StatusCode::NOT_FOUND,
            not_found("", "namespaces", "shop").as_bytes(),
        );
        assert_eq!(
            fault,
            Fault::Refused {
                code: 404,
                message: "x".into()
            }
        );
    }

    #[test]
    fn server_error_with_an_empty_object_then_it_is_trouble_on_the_way() {
        assert_eq!(judge(500, "{}"), Fault::Unavailable("500 {}".into()));
    }

    #[test]
    fn throttled_then_its_words_are_kept() {
        let body = r#"{"kind":"Status","code":429,"message":"slow"}"#;
        assert_eq!(judge(429, body), Fault::Throttled("slow".into()));
    }
}
