//! A Kubernetes object by group, resource, namespace and name, as Velero's answers name it.

use std::fmt;

/// One Kubernetes object; `group` is empty for the core group, `namespace` for cluster scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// API group without version, for example `snapshot.storage.k8s.io`.
    pub group: String,
    /// Plural lower-case resource, for example `volumesnapshots`.
    pub resource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Object name.
    pub name: String,
}

/// `resource.group namespace/name`, as kubectl would accept it.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        f.write_str(" ")?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaced_object_of_a_group_prints_all_four_parts() {
        let object = ObjectRef {
            group: "snapshot.storage.k8s.io".into(),
            resource: "volumesnapshots".into(),
            namespace: "db".into(),
            name: "velero-data-x".into(),
        };
        assert_eq!(
            object.to_string(),
            "volumesnapshots.snapshot.storage.k8s.io db/velero-data-x"
        );
    }

    #[test]
    fn core_cluster_object_prints_resource_and_name() {
        let object = ObjectRef {
            resource: "persistentvolumes".into(),
            name: "pv-1".into(),
            ..ObjectRef::default()
        };
        assert_eq!(object.to_string(), "persistentvolumes pv-1");
    }
}
