//! What a request asks for: verb, resource, object and query, read from method and path.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Method, request::Parts};

use crate::resources::Resource;

/// What a path names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// One object or a collection (empty name).
    Object(ObjectTarget),
    /// `/readyz`, `/livez`, `/healthz`.
    Ready,
    /// `/version`.
    Version,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` or `/apis/GROUP/VERSION`: group and version.
    Resources(String, String),
    /// Nothing that is served.
    Unknown,
}

/// An object, or a collection when the name is empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectTarget {
    pub(crate) resource: Resource,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) status: bool,
}

/// A request, understood as far as it can be.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) verb: &'static str,
    pub(crate) target: Target,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) content_type: String,
    pub(crate) user_agent: String,
    pub(crate) authorization: String,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn read(parts: &Parts, body: Bytes, resources: &[Resource]) -> Self {
        let header = |name: http::HeaderName| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        let query: BTreeMap<String, String> =
            form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        let target = target(parts.uri.path(), resources);
        Self {
            verb: verb(&parts.method, &target, &query),
            target,
            path: parts.uri.path().to_owned(),
            query,
            content_type: header(http::header::CONTENT_TYPE),
            user_agent: header(http::header::USER_AGENT),
            authorization: header(http::header::AUTHORIZATION),
            body,
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The first query parameter that this verb does not take.
    pub(crate) fn unknown_parameter(&self) -> Option<&str> {
        let known: &[&str] = match self.verb {
            "list" | "watch" => &[
                "labelSelector",
                "fieldSelector",
                "limit",
                "continue",
                "resourceVersion",
                "resourceVersionMatch",
                "watch",
                "allowWatchBookmarks",
                "timeoutSeconds",
                "sendInitialEvents",
            ],
            "create" | "update" | "patch" => &["fieldManager", "fieldValidation"],
            "delete" => &["gracePeriodSeconds", "propagationPolicy"],
            "get" if self.target == Target::Ready => &["verbose", "exclude"],
            _ => &["resourceVersion"],
        };
        self.query
            .keys()
            .map(String::as_str)
            .find(|key| *key != "pretty" && *key != "timeout" && !known.contains(key))
    }
}

fn verb(method: &Method, target: &Target, query: &BTreeMap<String, String>) -> &'static str {
    let collection = matches!(target, Target::Object(object) if object.name.is_empty());
    match *method {
        Method::GET if collection => {
            let watches = query
                .get("watch")
                .is_some_and(|value| matches!(value.as_str(), "true" | "1"));
            if watches { "watch" } else { "list" }
        }
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "other",
    }
}

fn target(path: &str, resources: &[Resource]) -> Target {
    let steps: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match steps.as_slice() {
        ["readyz" | "livez" | "healthz"] => Target::Ready,
        ["version"] => Target::Version,
        ["apis"] => Target::Groups,
        ["apis", group] => Target::Group((*group).to_owned()),
        ["api", version] => Target::Resources(String::new(), (*version).to_owned()),
        ["apis", group, version] => Target::Resources((*group).to_owned(), (*version).to_owned()),
        ["api", version, rest @ ..] => object("", version, rest, resources),
        ["apis", group, version, rest @ ..] => object(group, version, rest, resources),
        _ => Target::Unknown,
    }
}

fn object(group: &str, version: &str, rest: &[&str], resources: &[Resource]) -> Target {
    let (namespace, plural, name, status) = match rest {
        ["namespaces"] => ("", "namespaces", "", false),
        ["namespaces", name] => ("", "namespaces", *name, false),
        ["namespaces", name, "status"] => ("", "namespaces", *name, true),
        ["namespaces", namespace, plural] => (*namespace, *plural, "", false),
        ["namespaces", namespace, plural, name] => (*namespace, *plural, *name, false),
        ["namespaces", namespace, plural, name, "status"] => (*namespace, *plural, *name, true),
        [plural] => ("", *plural, "", false),
        [plural, name] => ("", *plural, *name, false),
        [plural, name, "status"] => ("", *plural, *name, true),
        _ => return Target::Unknown,
    };
    let served = resources
        .iter()
        .find(|resource| {
            resource.group == group
                && resource.plural == plural
                && resource.versions.contains(&version)
        })
        .filter(|resource| {
            resource.namespaced != namespace.is_empty() || (resource.namespaced && name.is_empty())
        })
        .filter(|resource| resource.status || !status);
    // A trailing slash leaves the last step empty: nothing has that name.
    if rest.last().is_some_and(|step| step.is_empty()) {
        return Target::Unknown;
    }
    served.map_or(Target::Unknown, |resource| {
        Target::Object(ObjectTarget {
            resource: *resource,
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            status,
        })
    })
}
