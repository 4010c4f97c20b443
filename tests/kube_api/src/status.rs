//! Errors as the API server sends them: `v1 Status` with the reason, the details and the text of apimachinery.

use serde_json::{Value, json};

use crate::resources::Resource;

/// A failed request's `v1 Status`.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// HTTP status and `code`.
    pub code: u16,
    /// `reason`, such as `NotFound`.
    pub reason: String,
    /// `message`.
    pub message: String,
    /// `details`, null when there are none.
    pub details: Value,
}

impl Status {
    /// A Status without details.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: Value::Null,
        }
    }

    fn about(
        code: u16,
        reason: &str,
        message: String,
        group: &str,
        kind: &str,
        name: &str,
    ) -> Self {
        let mut details = serde_json::Map::new();
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        Self {
            code,
            reason: reason.to_owned(),
            message,
            details: details.into(),
        }
    }

    /// 404 for an object that is not there.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        Self::about(
            404,
            "NotFound",
            format!("{} \"{name}\" not found", resource.qualified()),
            resource.group,
            resource.plural,
            name,
        )
    }

    /// 409 for a create of a name that is taken.
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::about(
            409,
            "AlreadyExists",
            format!("{} \"{name}\" already exists", resource.qualified()),
            resource.group,
            resource.plural,
            name,
        )
    }

    /// 409 for a write from an old version or a precondition that does not hold.
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            resource.qualified()
        );
        Self::about(
            409,
            "Conflict",
            message,
            resource.group,
            resource.plural,
            name,
        )
    }

    /// 422 for one bad field.
    pub fn invalid(resource: &Resource, name: &str, field: &str, why: &str) -> Self {
        let qualified = if resource.group.is_empty() {
            resource.kind.to_owned()
        } else {
            format!("{}.{}", resource.kind, resource.group)
        };
        let mut status = Self::about(
            422,
            "Invalid",
            format!("{qualified} \"{name}\" is invalid: {field}: {why}"),
            resource.group,
            resource.kind,
            name,
        );
        crate::json::object_at(&mut status.details, &[]).insert(
            "causes".to_owned(),
            json!([{"reason": "FieldValueInvalid", "message": why, "field": field}]),
        );
        status
    }

    /// 403 as admission words it. `name` is empty for a list.
    pub fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let qualified = if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{group}")
        };
        let subject = if name.is_empty() {
            qualified
        } else {
            format!("{qualified} \"{name}\"")
        };
        Self::about(
            403,
            "Forbidden",
            format!("{subject} is forbidden: {why}"),
            group,
            plural,
            name,
        )
    }

    /// 403 for a create in a namespace that is going away.
    pub fn terminating(group: &str, plural: &str, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut status = Self::forbidden(group, plural, name, &why);
        let cause = json!([{"reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"}]);
        crate::json::object_at(&mut status.details, &[]).insert("causes".to_owned(), cause);
        status
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 410 for a watch or a page from a version that is no longer kept.
    pub fn expired() -> Self {
        Self::new(
            410,
            "Expired",
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.",
        )
    }

    /// The body.
    pub fn to_json(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if !self.details.is_null() {
            crate::json::object_at(&mut body, &[])
                .insert("details".to_owned(), self.details.clone());
        }
        body
    }
}
