//! Velero's volume policies: which action the first matching rule of a ConfigMap gives a volume.
//!
//! Decoding and matching follow `internal/resourcepolicies` case by case (VP-10 … VP-35), since
//! server and plugin must come to the same answer. What any Velero from 1.14 on accepts is
//! accepted: the server has validated the policy by its own rules before a plugin is asked (VP-5).
//! May use: model.

mod action;
mod capacity;
mod conditions;
mod document;
mod facts;
mod fault;
mod other_sections;
mod scalar;
mod timestamp;
mod volume_type;
mod yaml;

use std::collections::BTreeMap;
use std::fmt;

pub use action::{Action, ActionKind};
pub use facts::{CsiFacts, NfsFacts, VolumeFacts};
pub use fault::Fault;

use conditions::Conditions;

/// The ConfigMap that policies come from, for texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicySource {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl fmt::Display for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A ConfigMap that is no valid policy. The texts begin as Velero's do, but name the ConfigMap
/// where Velero names the Backup (W-38), and the line (F50).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// `data` must have exactly one key; which one does not matter (VP-3).
    #[error(
        "illegal resource policies {config_map} configmap: data has {keys} keys, expected exactly one"
    )]
    Keys {
        /// Where.
        config_map: PolicySource,
        /// How many keys there are.
        keys: usize,
    },
    /// Not YAML, an unknown or duplicate key, or a value of the wrong type (VP-10 … VP-14).
    #[error("fail to read the ResourcePolicies from ConfigMap {config_map}: {fault}")]
    Unreadable {
        /// Where.
        config_map: PolicySource,
        /// What, and on which line.
        fault: Fault,
    },
    /// Readable, but not allowed: version, action type, capacity range, CSI attributes.
    #[error("fail to validate ResourcePolicies in ConfigMap {config_map}: {fault}")]
    Invalid {
        /// Where.
        config_map: PolicySource,
        /// What, and on which line.
        fault: Fault,
    },
}

/// Volume policies in the order in which they are tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumePolicies {
    rules: Vec<Rule>,
    warnings: Vec<String>,
}

/// One policy: all conditions must hold.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    conditions: Conditions,
    action: Action,
}

impl VolumePolicies {
    /// Reads the `data` of a ConfigMap.
    ///
    /// # Errors
    /// There is not exactly one key, or its text is no valid policy.
    pub fn from_config_map(
        data: &BTreeMap<String, String>,
        source: PolicySource,
    ) -> Result<Self, PolicyError> {
        let mut texts = data.values();
        let (Some(text), None) = (texts.next(), texts.next()) else {
            return Err(PolicyError::Keys {
                config_map: source,
                keys: data.len(),
            });
        };
        let document = match document::read(text) {
            Ok(document) => document,
            Err(fault) => {
                return Err(PolicyError::Unreadable {
                    config_map: source,
                    fault,
                });
            }
        };
        if let Err(fault) = document.validate() {
            return Err(PolicyError::Invalid {
                config_map: source,
                fault,
            });
        }
        Ok(document.into_policies(&source))
    }

    /// These policies, then `global` ones: the first match wins (VP-32).
    #[must_use]
    pub fn followed_by(mut self, global: Self) -> Self {
        self.rules.extend(global.rules);
        self.warnings.extend(global.warnings);
        self
    }

    /// The action of the first policy of which all conditions hold (VP-20).
    #[must_use]
    pub fn first_match(&self, volume: &VolumeFacts) -> Option<&Action> {
        self.rules
            .iter()
            .find(|rule| rule.conditions.hold(volume))
            .map(|rule| &rule.action)
    }

    /// How many policies there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is no policy at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What is valid but surely not meant, one line each: conditions without a value match
    /// everything (VP-13, W-39). For one Warn.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

#[cfg(test)]
mod tests;
