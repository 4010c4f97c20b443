//! The checks of an API server that a client can fall foul of: names, labels, annotations' shape, finalizers.

use serde_json::Value;

use crate::{
    json::{has, text, texts},
    resources::Resource,
    status::Status,
};

const NAME_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const MAX_LABEL: usize = 63;

/// Checks a new or changed object.
///
/// # Errors
/// 422 naming the bad field.
pub(crate) fn object(resource: &Resource, object: &Value) -> Result<(), Status> {
    let name = text(object, "/metadata/name");
    if !name.is_empty() && !is_subdomain(name) {
        return Err(Status::invalid(
            resource,
            name,
            "metadata.name",
            &format!("Invalid value: \"{name}\": {NAME_RULE}"),
        ));
    }
    let generated = text(object, "/metadata/generateName");
    if name.is_empty() && !generated.is_empty() && !is_subdomain(&format!("{generated}x")) {
        return Err(Status::invalid(
            resource,
            generated,
            "metadata.generateName",
            &format!("Invalid value: \"{generated}\": {NAME_RULE}"),
        ));
    }
    for (key, value) in object
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let Some(value) = value.as_str() else {
            return Err(Status::bad_request(format!(
                "cannot unmarshal metadata.labels.{key} into a string"
            )));
        };
        check_key(resource, name, "metadata.labels", key)?;
        if value.len() > MAX_LABEL {
            return Err(Status::invalid(
                resource,
                name,
                "metadata.labels",
                &format!("Invalid value: \"{value}\": must be no more than 63 bytes"),
            ));
        }
        if !is_qualified_part(value) && !value.is_empty() {
            return Err(Status::invalid(
                resource,
                name,
                "metadata.labels",
                &format!("Invalid value: \"{value}\": {LABEL_RULE}"),
            ));
        }
    }
    for (key, value) in object
        .pointer("/metadata/annotations")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if !value.is_string() {
            return Err(Status::bad_request(format!(
                "cannot unmarshal metadata.annotations.{key} into a string"
            )));
        }
        check_key(resource, name, "metadata.annotations", key)?;
    }
    Ok(())
}

/// Refuses a finalizer that comes when the object is already being deleted.
///
/// # Errors
/// 422.
pub(crate) fn finalizers(resource: &Resource, before: &Value, after: &Value) -> Result<(), Status> {
    let had = texts(before, "/metadata/finalizers");
    let added: Vec<&str> = texts(after, "/metadata/finalizers")
        .into_iter()
        .filter(|one| !had.contains(one))
        .collect();
    if !has(before, "/metadata/deletionTimestamp") || added.is_empty() {
        return Ok(());
    }
    let why = format!(
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
    );
    Err(Status::invalid(
        resource,
        text(before, "/metadata/name"),
        "metadata.finalizers",
        &why,
    ))
}

fn check_key(resource: &Resource, name: &str, field: &str, key: &str) -> Result<(), Status> {
    let (prefix, part) = key
        .split_once('/')
        .map_or((None, key), |(prefix, part)| (Some(prefix), part));
    if prefix.is_none_or(is_subdomain) && part.len() <= MAX_LABEL && is_qualified_part(part) {
        return Ok(());
    }
    Err(Status::invalid(
        resource,
        name,
        field,
        &format!(
            "Invalid value: \"{key}\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
        ),
    ))
}

fn is_subdomain(name: &str) -> bool {
    let inner = |byte: &u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
    };
    let edge = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let bytes = name.as_bytes();
    name.len() <= 253 && bytes.iter().all(inner) && edge(bytes.first()) && edge(bytes.last())
}

fn is_qualified_part(part: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = part.as_bytes();
    bytes.iter().all(inner) && edge(bytes.first()) && edge(bytes.last())
}
