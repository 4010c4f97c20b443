//! What a policy says is to happen with a volume.

use std::collections::BTreeMap;

use super::fault::Fault;
use super::yaml::Node;
use crate::model::names::POLICY_HANDLER;

/// The four actions that Velero knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// No backup of the data.
    Skip,
    /// Pod volume backup.
    FsBackup,
    /// Snapshot.
    Snapshot,
    /// None of Velero's own methods: another plugin takes the volume (1.18.1 and later).
    Custom,
}

impl ActionKind {
    /// As it is written in a policy.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::FsBackup => "fs-backup",
            Self::Snapshot => "snapshot",
            Self::Custom => "custom",
        }
    }
}

/// An action with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What is to happen.
    pub kind: ActionKind,
    /// Free parameters, each as the text of its value: numbers and booleans as YAML prints them,
    /// null as empty text, a list or map as a mark of its Go type. Servers differ in what they
    /// check here, so nothing is refused.
    pub parameters: BTreeMap<String, String>,
}

impl Action {
    /// Who is to handle the volume, if the action says so: the parameter `handler`, compared as
    /// text (B 9.1). `None` for a missing or empty one.
    #[must_use]
    pub fn handler(&self) -> Option<&str> {
        self.parameter(POLICY_HANDLER)
    }

    /// A parameter that is there and not empty.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let value = self.parameters.get(name).map(String::as_str)?;
        (!value.is_empty()).then_some(value)
    }

    /// Whether any parameter has a value.
    #[must_use]
    pub fn has_parameters(&self) -> bool {
        self.parameters.values().any(|value| !value.is_empty())
    }
}

/// An action as it was read; its type is checked later, as Velero does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RawAction {
    line: usize,
    kind: String,
    parameters: BTreeMap<String, String>,
}

impl RawAction {
    pub(super) fn read(node: &Node) -> Result<Self, Fault> {
        let mut action = Self {
            line: node.line,
            ..Self::default()
        };
        for (key, value) in node.fields("Action", &["type", "parameters"])? {
            match key {
                "type" => action.kind = value.string()?,
                _ => {
                    for (name, value) in value.entries()? {
                        let text = value
                            .printed()
                            .unwrap_or_else(|| value.go_type().to_owned());
                        action.parameters.insert(name.text().to_owned(), text);
                    }
                }
            }
        }
        Ok(action)
    }

    pub(super) fn check(&self, line: usize) -> Result<Action, Fault> {
        let kind = match self.kind.as_str() {
            "skip" => ActionKind::Skip,
            "fs-backup" => ActionKind::FsBackup,
            "snapshot" => ActionKind::Snapshot,
            "custom" => ActionKind::Custom,
            other => {
                let line = if self.line > 0 { self.line } else { line };
                return Err(Fault::at(line, format!("invalid action type {other}")));
            }
        };
        Ok(Action {
            kind,
            parameters: self.parameters.clone(),
        })
    }
}
