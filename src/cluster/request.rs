//! Paths and requests: which object is asked for what.
//!
//! May use: model.

use std::fmt;

use http::{Method, Request, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// One kind of object, by its place in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Plural, as in paths and RBAC rules.
    pub resource: &'static str,
    /// Kind, as a person reads it.
    pub kind: &'static str,
}

/// Kinds that this plugin reads or writes.
impl Kind {
    /// PersistentVolume.
    pub const VOLUME: Self = Self {
        group: "",
        version: "v1",
        resource: "persistentvolumes",
        kind: "PersistentVolume",
    };
    /// ConfigMap.
    pub const CONFIG_MAP: Self = Self {
        group: "",
        version: "v1",
        resource: "configmaps",
        kind: "ConfigMap",
    };
    /// Pod.
    pub const POD: Self = Self {
        group: "",
        version: "v1",
        resource: "pods",
        kind: "Pod",
    };
    /// StorageClass.
    pub const STORAGE_CLASS: Self = Self {
        group: "storage.k8s.io",
        version: "v1",
        resource: "storageclasses",
        kind: "StorageClass",
    };
    /// VolumeSnapshot.
    pub const SNAPSHOT: Self = Self {
        group: SNAPSHOT_GROUP,
        version: "v1",
        resource: "volumesnapshots",
        kind: "VolumeSnapshot",
    };
    /// VolumeSnapshotContent.
    pub const CONTENT: Self = Self {
        group: SNAPSHOT_GROUP,
        version: "v1",
        resource: "volumesnapshotcontents",
        kind: "VolumeSnapshotContent",
    };
    /// VolumeSnapshotClass.
    pub const SNAPSHOT_CLASS: Self = Self {
        group: SNAPSHOT_GROUP,
        version: "v1",
        resource: "volumesnapshotclasses",
        kind: "VolumeSnapshotClass",
    };
}

const SNAPSHOT_GROUP: &str = "snapshot.storage.k8s.io";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read all that match.
    List,
    /// Write a new object.
    Create,
    /// Change an object.
    Patch,
    /// Delete an object.
    Delete,
}

/// One request as a person would say it, for errors and logs: `get VolumeSnapshot ns/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What is done.
    pub verb: Verb,
    /// To which kind of object.
    pub kind: Kind,
    /// In which namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// To which object; empty for lists.
    pub name: String,
}

impl Call {
    /// A request for `kind`; namespace and name are empty where they do not apply.
    #[must_use]
    pub fn new(verb: Verb, kind: Kind, namespace: &str, name: &str) -> Self {
        Self {
            verb,
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The HTTP request, with `query` (without `?`) and `body`.
    ///
    /// # Errors
    /// When namespace or name cannot stand in a path.
    pub fn request(&self, query: &str, body: Vec<u8>) -> Result<Request<Vec<u8>>, http::Error> {
        let (method, content_type) = match self.verb {
            Verb::Get | Verb::List => (Method::GET, None),
            Verb::Create => (Method::POST, Some("application/json")),
            Verb::Patch => (Method::PATCH, Some("application/merge-patch+json")),
            Verb::Delete => (Method::DELETE, Some("application/json")),
        };
        let mut request = Request::builder().method(method).uri(self.uri(query));
        request = request.header(header::ACCEPT, "application/json");
        if let Some(content_type) = content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        request.body(body)
    }

    fn uri(&self, query: &str) -> String {
        let Kind {
            group,
            version,
            resource,
            ..
        } = self.kind;
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let namespace = if self.namespace.is_empty() {
            String::new()
        } else {
            format!("/namespaces/{}", escape(&self.namespace))
        };
        let name = if self.name.is_empty() || self.verb == Verb::Create {
            String::new()
        } else {
            format!("/{}", escape(&self.name))
        };
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{query}")
        };
        format!("{root}{namespace}/{resource}{name}{query}")
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.verb {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Create => "create",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
        };
        write!(f, "{verb} {}", self.kind.kind)?;
        match (self.namespace.is_empty(), self.name.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => write!(f, " {}", self.name),
            (false, true) => write!(f, " in namespace {}", self.namespace),
            (false, false) => write!(f, " {}/{}", self.namespace, self.name),
        }
    }
}

/// What may stay as it is in a path segment or query value.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Percent-encodes what may not stand in a path segment or query value.
#[must_use]
pub fn escape(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaced_object_then_its_full_path_and_words() {
        let call = Call::new(Verb::Get, Kind::SNAPSHOT, "shop", "velero-data-x");
        assert_eq!(
            call.uri(""),
            "/apis/snapshot.storage.k8s.io/v1/namespaces/shop/volumesnapshots/velero-data-x"
        );
        assert_eq!(call.to_string(), "get VolumeSnapshot shop/velero-data-x");
    }

    #[test]
    fn core_list_with_query_then_no_name_in_the_path() {
        let call = Call::new(Verb::List, Kind::POD, "shop", "");
        assert_eq!(
            call.uri("limit=500"),
            "/api/v1/namespaces/shop/pods?limit=500"
        );
        assert_eq!(call.to_string(), "list Pod in namespace shop");
    }

    #[test]
    fn create_then_the_name_is_in_the_words_only() {
        let call = Call::new(Verb::Create, Kind::SNAPSHOT, "shop", "velero-data-x");
        assert_eq!(
            call.uri(""),
            "/apis/snapshot.storage.k8s.io/v1/namespaces/shop/volumesnapshots"
        );
    }

    #[test]
    fn hostile_name_then_it_stays_one_path_segment() {
        let call = Call::new(Verb::Get, Kind::VOLUME, "", "../secrets?x=1");
        assert_eq!(
            call.uri(""),
            "/api/v1/persistentvolumes/..%2Fsecrets%3Fx%3D1"
        );
    }
}
