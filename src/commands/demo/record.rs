//! A line of the plugin's log, read as Velero reads it. May use: model.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::go_duration::GoDuration;

/// Fields that say nothing to a person who watches.
const UNINTERESTING: [&str; 4] = ["@level", "@message", "logSource", "@logSourceSetBy"];

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    fields: Map<String, Value>,
    /// The whole line when it is no JSON object.
    raw: Option<String>,
}

impl Record {
    /// Reads a line.
    pub fn read(line: &str) -> Self {
        match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => Self { fields, raw: None },
            _ => Self {
                fields: Map::new(),
                raw: Some(line.to_owned()),
            },
        }
    }

    /// A field's text; empty when there is none.
    pub fn text(&self, field: &str) -> &str {
        self.fields
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// A field that is a Go duration.
    pub fn time(&self, field: &str) -> Option<Duration> {
        GoDuration::parse(self.text(field)).ok()?.to_std()
    }

    /// A field that is a count.
    pub fn count(&self, field: &str) -> Option<u64> {
        self.fields.get(field).and_then(Value::as_u64)
    }

    /// Whether Velero counts it as a warning or an error of the backup; so is what is no record at all.
    pub fn is_counted(&self) -> bool {
        self.raw.is_some() || matches!(self.text("@level"), "warn" | "error")
    }

    /// What the plugin is waiting for; empty when the line is not about that.
    pub fn waiting_for(&self) -> &str {
        self.text("waiting_for")
    }
}

/// `level: message (field=value, …)`.
impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(raw) = &self.raw {
            return f.write_str(raw);
        }
        write!(f, "{}: {}", self.text("@level"), self.text("@message"))?;
        let mut between = " (";
        for (name, value) in &self.fields {
            if UNINTERESTING.contains(&name.as_str()) {
                continue;
            }
            match value {
                Value::String(text) => write!(f, "{between}{name}={text}")?,
                other => write!(f, "{between}{name}={other}")?,
            }
            between = ", ";
        }
        f.write_str(if between == ", " { ")" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"@level":"info","@message":"cut","logSource":"a.rs:1","@logSourceSetBy":"plugin","looks":3,"handle_after":"2.001s","pvc":"data"}"#;

    #[test]
    fn record_then_its_fields() {
        let record = Record::read(LINE);
        assert_eq!(record.text("pvc"), "data");
        assert_eq!(record.count("looks"), Some(3));
        let time = record.time("handle_after");
        assert_eq!(time, Some(Duration::from_millis(2001)));
        assert_eq!(record.time("pvc"), None);
        assert!(!record.is_counted());
    }

    #[test]
    fn record_then_text_without_the_frame() {
        let text = Record::read(LINE).to_string();
        assert!(text.starts_with("info: cut ("), "{text}");
        assert!(text.contains("looks=3") && text.contains("pvc=data"));
        assert!(!text.contains("logSource"), "{text}");
        let bare = Record::read(r#"{"@level":"warn","@message":"odd"}"#);
        assert_eq!(bare.to_string(), "warn: odd");
        assert!(bare.is_counted());
    }

    #[test]
    fn line_that_is_no_record_then_it_is_shown_as_it_is() {
        for line in ["thread 'main' panicked", "[1]", ""] {
            let record = Record::read(line);
            assert_eq!(record.to_string(), line);
            assert!(record.is_counted());
        }
    }
}
