//! Label and field selectors of lists and watches.

use serde_json::Value;

use crate::status::Status;

/// Which objects a list or a watch wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl Selector {
    /// Reads `labelSelector` and `fieldSelector`.
    ///
    /// # Errors
    /// 400 for a selector that the API server would not take (or that this one does not know).
    pub(crate) fn parse(labels: &str, fields: &str, plural: &str) -> Result<Self, Status> {
        let mut selector = Self::default();
        for part in split_outside_parentheses(labels) {
            selector.labels.push(requirement(part)?);
        }
        for part in fields.split(',').filter(|part| !part.is_empty()) {
            let (key, equal, value) = comparison(part)
                .ok_or_else(|| Status::bad_request(format!("invalid field selector: {part}")))?;
            if !field_is_known(plural, key) {
                return Err(Status::bad_request(format!(
                    "field label not supported: {key}"
                )));
            }
            selector
                .fields
                .push((key.to_owned(), equal, value.to_owned()));
        }
        Ok(selector)
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether the object is wanted.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let label = |key: &str| {
            object
                .pointer("/metadata/labels")
                .and_then(|all| all.get(key))
                .and_then(Value::as_str)
        };
        self.labels.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => {
                label(key).is_some_and(|value| values.iter().any(|wanted| wanted == value))
            }
            Requirement::NotIn(key, values) => {
                label(key).is_none_or(|value| values.iter().all(|wanted| wanted != value))
            }
            Requirement::Exists(key) => label(key).is_some(),
            Requirement::Absent(key) => label(key).is_none(),
        }) && self.fields.iter().all(|(key, equal, value)| {
            let found = key
                .split('.')
                .try_fold(object, |at, step| at.get(step))
                .and_then(Value::as_str)
                .unwrap_or_default();
            (found == value) == *equal
        })
    }
}

fn field_is_known(plural: &str, key: &str) -> bool {
    match plural {
        "events" => {
            key.starts_with("involvedObject.")
                || matches!(
                    key,
                    "metadata.name" | "metadata.namespace" | "reason" | "type" | "source"
                )
        }
        "pods" => matches!(
            key,
            "metadata.name" | "metadata.namespace" | "spec.nodeName" | "status.phase"
        ),
        _ => matches!(key, "metadata.name" | "metadata.namespace"),
    }
}

fn comparison(part: &str) -> Option<(&str, bool, &str)> {
    let (key, equal, value) = if let Some((key, value)) = part.split_once("!=") {
        (key, false, value)
    } else if let Some((key, value)) = part.split_once("==") {
        (key, true, value)
    } else {
        let (key, value) = part.split_once('=')?;
        (key, true, value)
    };
    Some((key.trim(), equal, value.trim()))
}

fn requirement(part: &str) -> Result<Requirement, Status> {
    if let Some((head, values)) = part.strip_suffix(')').and_then(|part| part.split_once('(')) {
        let values = values
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => Ok(Requirement::In(key.to_owned(), values)),
            (Some(key), Some("notin"), None) => Ok(Requirement::NotIn(key.to_owned(), values)),
            _ => Err(Status::bad_request(format!(
                "unable to parse requirement: {part}"
            ))),
        };
    }
    if let Some((key, equal, value)) = comparison(part) {
        let (key, values) = (key.to_owned(), vec![value.to_owned()]);
        return Ok(if equal {
            Requirement::In(key, values)
        } else {
            Requirement::NotIn(key, values)
        });
    }
    Ok(match part.strip_prefix('!') {
        Some(key) => Requirement::Absent(key.trim().to_owned()),
        None => Requirement::Exists(part.to_owned()),
    })
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_match_as_the_api_server_does() {
        let object = json!({"metadata": {"name": "n", "labels": {"a": "1", "b": ""}}});
        for (selector, expected) in [
            ("a=1", true),
            ("a==1", true),
            ("a=2", false),
            ("a!=2", true),
            ("c!=2", true),
            ("a", true),
            ("b", true),
            ("c", false),
            ("!c", true),
            ("!a", false),
            ("a in (0,1)", true),
            ("a notin (0, 1)", false),
            ("c notin (0)", true),
            ("a in (1),b", true),
            ("b=", true),
        ] {
            assert_eq!(
                Selector::parse(selector, "", "pods")
                    .unwrap()
                    .matches(&object),
                expected,
                "{selector}"
            );
        }
    }

    #[test]
    fn fields_match_by_name_and_unknown_ones_are_refused() {
        let object = json!({"metadata": {"name": "n"}});
        assert!(
            Selector::parse("", "metadata.name=n", "configmaps")
                .unwrap()
                .matches(&object)
        );
        assert!(
            !Selector::parse("", "metadata.name!=n", "configmaps")
                .unwrap()
                .matches(&object)
        );
        assert_eq!(
            Selector::parse("", "spec.x=n", "configmaps")
                .unwrap_err()
                .code,
            400
        );
    }
}
