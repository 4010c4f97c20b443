//! The verbs on objects: get, list, create, update, patch, delete. Pure functions of the store and the request.

use http::Response;
use serde_json::{Value, json};

use crate::{
    body::{self, ApiBody},
    json::{has, merge, metadata, object_at, text},
    request::{ObjectTarget, Request},
    resources::NAMESPACES,
    selector::Selector,
    status::Status,
    store::{Key, Store},
    validate,
};

type Answered = Result<(u16, Value), Status>;

/// Serves everything but a watch. None: this verb is not served here.
pub(crate) fn serve(
    store: &mut Store,
    target: &ObjectTarget,
    request: &Request,
) -> Option<Response<ApiBody>> {
    let answered = match (request.verb, target.status) {
        ("get", _) => get(store, target),
        ("list", false) => list(store, target, request),
        ("create", false) if target.name.is_empty() => create(store, target, request),
        ("update", _) => update(store, target, request),
        ("patch", _) => patch(store, target, request),
        ("delete", false) => delete(store, target, request),
        _ => return None,
    };
    Some(match answered {
        Ok((code, body)) => body::json(code, &body),
        Err(status) => refusal(&status),
    })
}

/// A Status as an answer.
pub(crate) fn refusal(status: &Status) -> Response<ApiBody> {
    body::json(status.code, &status.to_json())
}

/// The object as the asked version shows it.
pub(crate) fn shown(target: &ObjectTarget, object: &Value) -> Value {
    let mut object = object.clone();
    let map = object_at(&mut object, &[]);
    map.insert(
        "apiVersion".to_owned(),
        target.resource.api_version(&target.version).into(),
    );
    map.insert("kind".to_owned(), target.resource.kind.into());
    object
}

fn key(target: &ObjectTarget) -> Key {
    Key::new(&target.resource, &target.namespace, &target.name)
}

fn get(store: &Store, target: &ObjectTarget) -> Answered {
    let object = store
        .get(&key(target))
        .ok_or_else(|| Status::not_found(&target.resource, &target.name))?;
    Ok((200, shown(target, object)))
}

fn list(store: &Store, target: &ObjectTarget, request: &Request) -> Answered {
    let selector = Selector::parse(
        request.parameter("labelSelector"),
        request.parameter("fieldSelector"),
        target.resource.plural,
    )?;
    let limit = match request.parameter("limit") {
        "" | "0" => usize::MAX,
        text => text
            .parse()
            .map_err(|_| Status::bad_request(format!("invalid limit {text}")))?,
    };
    let (version, after) = page_start(request.parameter("continue"), store.version())?;
    let wanted: Vec<_> = store
        .list(target.resource.plural, &target.namespace)
        .into_iter()
        .filter(|(key, object)| {
            after.is_none_or(|after| (key.namespace.as_str(), key.name.as_str()) > after)
                && selector.matches(object)
        })
        .collect();
    let mut meta = json!({"resourceVersion": version.to_string()});
    if let Some((last, _)) = wanted
        .get(limit.saturating_sub(1))
        .filter(|_| wanted.len() > limit)
    {
        let meta = object_at(&mut meta, &[]);
        meta.insert(
            "continue".to_owned(),
            format!("{version}:{}/{}", last.namespace, last.name).into(),
        );
        if selector.is_empty() {
            meta.insert(
                "remainingItemCount".to_owned(),
                (wanted.len() - limit).into(),
            );
        }
    }
    let items: Vec<Value> = wanted
        .iter()
        .take(limit)
        .map(|(_, object)| shown(target, object))
        .collect();
    let kind = format!("{}List", target.resource.kind);
    Ok((
        200,
        json!({"kind": kind, "apiVersion": target.resource.api_version(&target.version), "metadata": meta, "items": items}),
    ))
}

/// The list's version and the place (namespace and name) after which the page starts.
type PageStart<'a> = (u64, Option<(&'a str, &'a str)>);

fn page_start(token: &str, now: u64) -> Result<PageStart<'_>, Status> {
    if token.is_empty() {
        return Ok((now, None));
    }
    let parsed = token
        .split_once(':')
        .and_then(|(version, place)| Some((version.parse().ok()?, place.split_once('/')?)));
    parsed
        .map(|(version, place)| (version, Some(place)))
        .ok_or_else(|| Status::bad_request("continue key is not valid"))
}

fn create(store: &mut Store, target: &ObjectTarget, request: &Request) -> Answered {
    let mut object = decoded(request)?;
    let resource = &target.resource;
    if resource.namespaced {
        let named = text(&object, "/metadata/namespace");
        if !named.is_empty() && named != target.namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        namespace_takes(store, target, &object)?;
    }
    validate::object(resource, &object)?;
    if resource.status {
        object_at(&mut object, &[]).remove("status");
    }
    for assigned in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "resourceVersion",
        "generation",
    ] {
        metadata(&mut object).remove(assigned);
    }
    let created = store.create(resource, &target.namespace, object)?;
    Ok((201, shown(target, &created)))
}

fn namespace_takes(store: &Store, target: &ObjectTarget, object: &Value) -> Result<(), Status> {
    let namespace = store
        .get(&Key::new(&NAMESPACES, "", &target.namespace))
        .ok_or_else(|| Status::not_found(&NAMESPACES, &target.namespace))?;
    if text(namespace, "/status/phase") != "Terminating"
        && !has(namespace, "/metadata/deletionTimestamp")
    {
        return Ok(());
    }
    let name = [
        text(object, "/metadata/name"),
        text(object, "/metadata/generateName"),
    ]
    .into_iter()
    .find(|name| !name.is_empty());
    Err(Status::terminating(
        target.resource.group,
        target.resource.plural,
        name.unwrap_or("Unknown"),
        &target.namespace,
    ))
}

fn update(store: &mut Store, target: &ObjectTarget, request: &Request) -> Answered {
    let object = decoded(request)?;
    let before = store
        .get(&key(target))
        .ok_or_else(|| Status::not_found(&target.resource, &target.name))?
        .clone();
    write(store, target, &before, object)
}

fn patch(store: &mut Store, target: &ObjectTarget, request: &Request) -> Answered {
    let format = request
        .content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    if format != "application/merge-patch+json" {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: application/merge-patch+json (got {format})"
        );
        return Err(Status::new(415, "UnsupportedMediaType", message));
    }
    let change = decoded(request)?;
    let before = store
        .get(&key(target))
        .ok_or_else(|| Status::not_found(&target.resource, &target.name))?
        .clone();
    let mut after = before.clone();
    merge(&mut after, &change);
    write(store, target, &before, after)
}

/// Puts `after` in the place of `before`, as far as a client may: server-made metadata stay, and `status` changes only at `/status`.
fn write(store: &mut Store, target: &ObjectTarget, before: &Value, mut after: Value) -> Answered {
    let resource = &target.resource;
    let wanted = text(&after, "/metadata/resourceVersion").to_owned();
    if !wanted.is_empty() && wanted != text(before, "/metadata/resourceVersion") {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Status::conflict(resource, &target.name, why));
    }
    let uid = text(&after, "/metadata/uid");
    if !uid.is_empty() && uid != text(before, "/metadata/uid") {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            text(before, "/metadata/uid")
        );
        return Err(Status::conflict(resource, &target.name, &why));
    }
    if target.status {
        let status = after.get("status").cloned();
        after = before.clone();
        place(&mut after, "status", status);
    } else if resource.status {
        place(&mut after, "status", before.get("status").cloned());
    }
    for kept in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
    ] {
        let value = before
            .pointer("/metadata")
            .and_then(|meta| meta.get(kept))
            .cloned();
        match value {
            Some(value) => metadata(&mut after).insert(kept.to_owned(), value),
            None => metadata(&mut after).remove(kept),
        };
    }
    validate::object(resource, &after)?;
    validate::finalizers(resource, before, &after)?;
    let changed = store
        .change(&key(target), |object| *object = after)
        .ok_or_else(|| Status::not_found(resource, &target.name))?;
    Ok((200, shown(target, &changed)))
}

fn place(object: &mut Value, field: &str, value: Option<Value>) {
    let map = object_at(object, &[]);
    match value {
        Some(value) => map.insert(field.to_owned(), value),
        None => map.remove(field),
    };
}

fn delete(store: &mut Store, target: &ObjectTarget, request: &Request) -> Answered {
    let resource = &target.resource;
    let options = if request.body.is_empty() {
        json!({})
    } else {
        decoded(request)?
    };
    let object = store
        .get(&key(target))
        .ok_or_else(|| Status::not_found(resource, &target.name))?;
    let uid = text(object, "/metadata/uid").to_owned();
    for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let wanted = options
            .pointer("/preconditions")
            .and_then(|all| all.get(field))
            .and_then(Value::as_str);
        let found = object
            .pointer("/metadata")
            .and_then(|all| all.get(field))
            .and_then(Value::as_str)
            .unwrap_or_default();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            return Err(Status::conflict(resource, &target.name, &why));
        }
    }
    let (object, gone) = store
        .delete(&key(target))
        .ok_or_else(|| Status::not_found(resource, &target.name))?;
    if !gone {
        return Ok((200, shown(target, &object)));
    }
    let mut details = json!({"name": target.name, "kind": resource.plural, "uid": uid});
    if !resource.group.is_empty() {
        object_at(&mut details, &[]).insert("group".to_owned(), resource.group.into());
    }
    Ok((
        200,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}),
    ))
}

fn decoded(request: &Request) -> Result<Value, Status> {
    let object: Value = serde_json::from_slice(&request.body)
        .map_err(|error| Status::bad_request(format!("couldn't read the body: {error}")))?;
    let shaped = object.is_object()
        && object
            .get("metadata")
            .is_none_or(|meta| meta.is_object() || meta.is_null());
    if shaped {
        Ok(object)
    } else {
        Err(Status::bad_request("the body is no object with metadata"))
    }
}
