//! Reading JSON so that a failure says which field was wrong, and `null` means "not given".
//!
//! May use: nothing of this crate.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

/// A text that is not JSON of the wanted shape: where in it, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if field == "." { String::new() } else { format!("{field}: ") })]
pub struct DecodeError {
    /// Path of the field, for example `spec.accessModes[0]`; `.` is the whole document.
    pub field: String,
    /// What the decoder says, with line and column.
    pub reason: String,
}

/// Decodes JSON, naming the field when it does not fit.
///
/// # Errors
/// The text is not UTF-8, not JSON, or a field has another type than `T` wants.
pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let text = std::str::from_utf8(bytes).map_err(|error| DecodeError {
        field: ".".to_owned(),
        reason: format!("not UTF-8: {error}"),
    })?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| DecodeError {
        field: error.path().to_string(),
        reason: shortened(error.into_inner().to_string()),
    })?;
    reader.end().map_err(|error| DecodeError {
        field: ".".to_owned(),
        reason: error.to_string(),
    })?;
    Ok(value)
}

/// Longest reason in bytes. serde quotes what it found, which may be all the request holds (P-10).
const REASON_LIMIT: usize = 240;
/// Kept of a longer one: the kind of mistake, and what was expected where.
const REASON_HEAD: usize = 80;
const REASON_TAIL: usize = 120;

fn shortened(reason: String) -> String {
    if reason.len() <= REASON_LIMIT {
        return reason;
    }
    let (head, rest) = reason.split_at(reason.floor_char_boundary(REASON_HEAD));
    let (_, tail) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(REASON_TAIL)));
    format!("{head} … {tail}")
}

/// For `#[serde(deserialize_with)]`: `null` is the default, as Go's decoder has it.
///
/// # Errors
/// Those of `T`.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    struct Sample {
        #[serde(default, deserialize_with = "null_is_default")]
        labels: BTreeMap<String, String>,
    }

    #[test]
    fn null_map_then_empty() {
        let sample: Sample = json(br#"{"labels":null}"#).unwrap();
        assert!(sample.labels.is_empty());
    }

    #[test]
    fn wrong_type_then_the_field_is_named() {
        let error = json::<Sample>(br#"{"labels":{"a":1}}"#).unwrap_err();
        assert_eq!(error.field, "labels.a");
    }

    #[test]
    fn huge_value_of_a_wrong_type_then_the_reason_keeps_its_ends_only() {
        let text = format!(r#"{{"labels":"{}"}}"#, "ä".repeat(100_000));
        let error = json::<Sample>(text.as_bytes()).unwrap_err();
        assert!(error.reason.len() < REASON_LIMIT, "{error}");
        assert!(error.reason.starts_with("invalid type: string"), "{error}");
        assert!(error.reason.contains("expected a map at line 1"), "{error}");
    }

    #[test]
    fn unreadable_text_then_an_error() {
        for bytes in [
            &b""[..],
            b"{",
            b"{} x",
            b"\xff",
            b"{\"labels\":{\"a\":\"\xff\"}}",
        ] {
            assert!(json::<Sample>(bytes).is_err());
        }
    }
}
