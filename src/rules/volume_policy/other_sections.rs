//! Sections of a policy ConfigMap that choose resources, not volumes (B 4.6).
//!
//! The server has validated them and a volume's fate does not depend on them, so only what would
//! show a mistyped section is checked.

use super::fault::Fault;
use super::yaml::Node;

const LISTS: &[&str] = &[
    "includedClusterScopedResources",
    "excludedClusterScopedResources",
    "includedNamespaceScopedResources",
    "excludedNamespaceScopedResources",
];

/// `includeExcludePolicy`: resources by name.
#[derive(Debug, Default)]
pub(super) struct IncludeExclude {
    line: usize,
    lists: [Vec<String>; 4],
}

impl IncludeExclude {
    pub(super) fn read(node: &Node) -> Result<Self, Fault> {
        let mut section = Self {
            line: node.line,
            ..Self::default()
        };
        for (name, value) in node.fields("IncludeExcludePolicy", LISTS)? {
            let items = value.items("[]string")?.iter();
            let names = items
                .filter(|item| !item.is_null())
                .map(Node::string)
                .collect::<Result<_, _>>()?;
            let known = LISTS.iter().zip(section.lists.iter_mut());
            for (_, list) in known.filter(|(list, _)| **list == name) {
                list.clone_from(&names);
            }
        }
        Ok(section)
    }

    /// No `*`, and nothing both included and excluded.
    pub(super) fn validate(&self) -> Result<(), Fault> {
        let [in_cluster, out_cluster, in_namespace, out_namespace] = &self.lists;
        for (included, excluded) in [(in_cluster, out_cluster), (in_namespace, out_namespace)] {
            if included.iter().chain(excluded).any(|item| item == "*") {
                let fault = "cannot use '*' in includes or excludes filters in the policy";
                return Err(Fault::at(self.line, fault));
            }
            if let Some(item) = excluded.iter().find(|item| included.contains(item)) {
                let fault =
                    format!("excludes list cannot contain an item in the includes list: {item}");
                return Err(Fault::at(self.line, fault));
            }
        }
        Ok(())
    }
}

/// `clusterScopedFilterPolicy`.
pub(super) fn accept_cluster_scoped(node: &Node) -> Result<(), Fault> {
    for (_, filters) in node.fields("ClusterScopedFilterPolicy", &["resourceFilters"])? {
        filters.items("[]ResourceFilter")?;
    }
    Ok(())
}

/// `namespacedFilterPolicies`.
pub(super) fn accept_namespaced(node: &Node) -> Result<(), Fault> {
    for policy in node.items("[]NamespacedFilterPolicy")? {
        policy.fields("NamespacedFilterPolicy", &["namespaces", "resourceFilters"])?;
    }
    Ok(())
}
