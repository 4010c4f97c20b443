//! Discovery documents and the paths that are about the server itself.

use http::Response;
use serde_json::{Value, json};

use crate::{
    body::{self, ApiBody},
    request::Target,
    resources::Resource,
};

/// The plain text of a path that nobody serves.
pub(crate) fn page_not_found() -> Response<ApiBody> {
    body::answer(404, "text/plain; charset=utf-8", "404 page not found\n")
}

/// `/readyz` with the status that was set.
pub(crate) fn ready(code: u16) -> Response<ApiBody> {
    let text = if code == 200 {
        "ok"
    } else {
        "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"
    };
    body::answer(code, "text/plain; charset=utf-8", text)
}

/// Serves `/version`, `/apis` and the lists of groups and resources. None: not served.
pub(crate) fn serve(target: &Target, resources: &[Resource]) -> Option<Response<ApiBody>> {
    let document = match target {
        Target::Version => {
            json!({"major": "1", "minor": "33", "gitVersion": "v1.33.0", "platform": "linux/amd64"})
        }
        Target::Groups => {
            let mut names: Vec<&str> = resources
                .iter()
                .map(|resource| resource.group)
                .filter(|group| !group.is_empty())
                .collect();
            names.sort_unstable();
            names.dedup();
            let groups: Vec<Value> = names
                .into_iter()
                .filter_map(|name| group(name, resources))
                .collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        Target::Group(name) => {
            let mut document = group(name, resources)?;
            crate::json::merge(
                &mut document,
                &json!({"kind": "APIGroup", "apiVersion": "v1"}),
            );
            document
        }
        Target::Resources(group, version) => resource_list(group, version, resources)?,
        Target::Object(_) | Target::Ready | Target::Unknown => return None,
    };
    Some(body::json(200, &document))
}

fn group(name: &str, resources: &[Resource]) -> Option<Value> {
    let mut versions: Vec<&str> = Vec::new();
    for version in resources
        .iter()
        .filter(|resource| resource.group == name)
        .flat_map(|resource| resource.versions)
    {
        if !versions.contains(version) {
            versions.push(version);
        }
    }
    let entry =
        |version: &str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let preferred = entry(versions.first()?);
    let versions: Vec<Value> = versions.into_iter().map(entry).collect();
    Some(json!({"name": name, "versions": versions, "preferredVersion": preferred}))
}

fn resource_list(group: &str, version: &str, resources: &[Resource]) -> Option<Value> {
    let served: Vec<&Resource> = resources
        .iter()
        .filter(|resource| resource.group == group && resource.versions.contains(&version))
        .collect();
    let api_version = served.first()?.api_version(version);
    let verbs = json!([
        "create", "delete", "get", "list", "patch", "update", "watch"
    ]);
    let entry = |resource: &&Resource| json!({"name": resource.plural, "singularName": resource.kind.to_lowercase(), "namespaced": resource.namespaced, "kind": resource.kind, "verbs": verbs});
    let entries: Vec<Value> = served.iter().map(entry).collect();
    Some(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": entries}),
    )
}
