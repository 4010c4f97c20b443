//! A policy text as a whole: version, volume policies, and the sections that others use.

use super::action::RawAction;
use super::conditions::Conditions;
use super::fault::Fault;
use super::other_sections::{self, IncludeExclude};
use super::yaml::{self, Node};
use super::{PolicySource, Rule, VolumePolicies};

/// The only version that Velero knows.
const VERSION: &str = "v1";

const SECTIONS: &[&str] = &[
    "version",
    "volumePolicies",
    "includeExcludePolicy",
    "clusterScopedFilterPolicy",
    "namespacedFilterPolicies",
];

/// A text that could be read; not yet validated.
#[derive(Debug, Default)]
pub(super) struct Document {
    line: usize,
    version: String,
    policies: Vec<Policy>,
    include_exclude: IncludeExclude,
}

#[derive(Debug)]
struct Policy {
    line: usize,
    conditions: Conditions,
    action: RawAction,
}

/// Reads the first YAML document of a text.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let Some(root) = yaml::read(text)? else {
        return Err(Fault::at(0, "EOF: the text holds no YAML document"));
    };
    let mut document = Document {
        line: root.line,
        ..Document::default()
    };
    for (section, node) in root.fields("ResourcePolicies", SECTIONS)? {
        match section {
            "version" => {
                document.line = node.line;
                document.version = node.string()?;
            }
            "volumePolicies" => {
                let items = node.items("[]VolumePolicy")?.iter();
                document.policies = items
                    .filter(|item| !item.is_null())
                    .map(Policy::read)
                    .collect::<Result<_, _>>()?;
            }
            "includeExcludePolicy" => document.include_exclude = IncludeExclude::read(node)?,
            "clusterScopedFilterPolicy" => other_sections::accept_cluster_scoped(node)?,
            _ => other_sections::accept_namespaced(node)?,
        }
    }
    Ok(document)
}

impl Policy {
    fn read(node: &Node) -> Result<Self, Fault> {
        let mut policy = Self {
            line: node.line,
            conditions: Conditions::default(),
            action: RawAction::default(),
        };
        for (field, value) in node.fields("VolumePolicy", &["conditions", "action"])? {
            match field {
                "conditions" => policy.conditions = Conditions::read(value)?,
                _ => policy.action = RawAction::read(value)?,
            }
        }
        Ok(policy)
    }
}

impl Document {
    /// Velero's `Policies.Validate`.
    pub(super) fn validate(&self) -> Result<(), Fault> {
        if self.version != VERSION {
            let fault = format!(
                "incompatible version number {} with supported version {VERSION}",
                self.version
            );
            return Err(Fault::at(self.line, fault));
        }
        for policy in &self.policies {
            policy.action.check(policy.line)?;
            policy.conditions.validate()?;
        }
        self.include_exclude.validate()
    }

    /// The policies of a valid document.
    pub(super) fn into_policies(self, source: &PolicySource) -> VolumePolicies {
        let mut policies = VolumePolicies::default();
        for policy in self.policies {
            for (line, name) in policy.conditions.without_value() {
                policies.warnings.push(format!(
                    "volume policies in ConfigMap {source}, line {line}: condition {name} has no \
                     value and so holds for every volume; write its value, for example {{}} for \
                     csi or nfs, or remove it"
                ));
            }
            if let Ok(action) = policy.action.check(policy.line) {
                policies.rules.push(Rule {
                    conditions: policy.conditions,
                    action,
                });
            }
        }
        policies
    }
}
