//! What was asked of the API, in order. Only clients' requests are recorded, never the controllers' own work.

use std::time::Duration;

use serde_json::Value;

use crate::request::{Request, Target};

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// When it arrived, since the cluster's start.
    pub at: Duration,
    /// `get`, `list`, `watch`, `create`, `patch`, `update`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// API group; empty for core and for paths that name no resource.
    pub group: String,
    /// Plural, with `/status` when it is about that; a path that names no resource is here as it is, such as `/readyz`.
    pub resource: String,
    /// Empty for cluster-wide ones.
    pub namespace: String,
    /// Empty for collections.
    pub name: String,
    /// Query parameters as they came, decoded.
    pub query: Vec<(String, String)>,
    /// `User-Agent`.
    pub user_agent: String,
    /// `Authorization`.
    pub authorization: String,
    /// The body, null when there is none or it is not JSON.
    pub body: Value,
    /// The HTTP status answered; none as long as there is no answer, or when it never came.
    pub answered: Option<u16>,
}

impl Recorded {
    pub(crate) fn of(request: &Request, at: Duration) -> Self {
        let (group, resource, namespace, name) = match &request.target {
            Target::Object(object) => {
                let plural = if object.status {
                    format!("{}/status", object.resource.plural)
                } else {
                    object.resource.plural.to_owned()
                };
                (
                    object.resource.group.to_owned(),
                    plural,
                    object.namespace.clone(),
                    object.name.clone(),
                )
            }
            _ => (
                String::new(),
                request.path.clone(),
                String::new(),
                String::new(),
            ),
        };
        Self {
            at,
            verb: request.verb,
            group,
            resource,
            namespace,
            name,
            query: request.query.clone().into_iter().collect(),
            user_agent: request.user_agent.clone(),
            authorization: request.authorization.clone(),
            body: serde_json::from_slice(&request.body).unwrap_or_default(),
            answered: None,
        }
    }

    /// `verb resource`, or `verb resource namespace/name`: short to assert on.
    pub fn line(&self) -> String {
        let place = match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => return format!("{} {}", self.verb, self.resource),
            ("", name) => name.to_owned(),
            (namespace, "") => format!("{namespace}/"),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        format!("{} {} {place}", self.verb, self.resource)
    }
}

/// The record; cleared entries do not move the numbers of later ones.
#[derive(Debug, Default)]
pub(crate) struct Record {
    cleared: usize,
    entries: Vec<Recorded>,
}

impl Record {
    pub(crate) fn add(&mut self, entry: Recorded) -> usize {
        self.entries.push(entry);
        self.cleared + self.entries.len() - 1
    }

    pub(crate) fn answered(&mut self, number: usize, status: u16) {
        if let Some(entry) = number
            .checked_sub(self.cleared)
            .and_then(|index| self.entries.get_mut(index))
        {
            entry.answered = Some(status);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.cleared += self.entries.len();
        self.entries.clear();
    }

    pub(crate) fn entries(&self) -> &[Recorded] {
        &self.entries
    }
}
