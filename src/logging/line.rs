//! One log line: a JSON object under the host's limits.

use super::fields::Value;

/// Longest line in bytes with its line feed. The host cuts at 64 KiB (P-24, F75).
const LINE_LIMIT: usize = 60 * 1024;

/// Longest value in bytes, as escaped.
const VALUE_LIMIT: usize = 16 * 1024;

/// Kept free for the mark of left out fields and the end of the line.
const RESERVE: usize = 64;

/// Stands at the end of a shortened value.
const SHORTENED: &str = "… (shortened)";

/// Names that the host gives a meaning or drops, and ours (A 7.1, A 7.3).
const RESERVED: [&str; 9] = [
    "@message",
    "@level",
    "@timestamp",
    "@logSourceSetBy",
    "logSource",
    "level",
    "time",
    "timestamp",
    "message",
];

/// Names whose value the host takes for a string without asking (P-22, T4).
const ALWAYS_TEXT: [&str; 4] = ["namespace", "name", "resource", "error"];

/// A line in the making.
#[derive(Debug)]
pub(super) struct Line {
    bytes: Vec<u8>,
    left_out: bool,
}

impl Line {
    /// Begins a line. `source` is `file:line`.
    pub(super) fn new(level: &str, message: &str, source: &str) -> Self {
        let mut line = Self {
            bytes: Vec::with_capacity(512),
            left_out: false,
        };
        line.bytes.push(b'{');
        line.pair("@level", level);
        // P-23: such a message would make the server open a file.
        if message.starts_with("merge-log-") {
            line.pair("@message", &format!("message {message}"));
        } else {
            line.pair("@message", message);
        }
        line.pair("logSource", source);
        line.pair("@logSourceSetBy", "plugin");
        line
    }

    /// Adds a field; what no longer fits is left out.
    pub(super) fn field(&mut self, name: &str, value: &Value) {
        let renamed;
        let name = if RESERVED.contains(&name) || name.starts_with('@') {
            renamed = format!("field_{}", name.trim_start_matches('@'));
            &renamed
        } else {
            name
        };
        match value {
            Value::Text(text) => self.pair(name, text),
            Value::Number(number) if ALWAYS_TEXT.contains(&name) => {
                self.pair(name, &number.to_string());
            }
            Value::Bool(truth) if ALWAYS_TEXT.contains(&name) => {
                self.pair(name, &truth.to_string());
            }
            Value::Number(number) => self.plain(name, &number.to_string()),
            Value::Bool(truth) => self.plain(name, &truth.to_string()),
        }
    }

    /// The finished line, with its line feed.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.left_out {
            self.bytes.extend_from_slice(b",\"shortened\":true");
        }
        self.bytes.extend_from_slice(b"}\n");
        self.bytes
    }

    fn room(&self) -> usize {
        LINE_LIMIT.saturating_sub(self.bytes.len() + RESERVE)
    }

    /// Writes the key if it and `needed` more bytes fit.
    fn key(&mut self, name: &str, needed: usize) -> bool {
        // Six bytes per character is the worst that escaping makes of it.
        if self.room() < name.len() * 6 + needed {
            self.left_out = true;
            return false;
        }
        if self.bytes.len() > 1 {
            self.bytes.push(b',');
        }
        push_text(&mut self.bytes, name, usize::MAX);
        self.bytes.push(b':');
        true
    }

    fn pair(&mut self, name: &str, text: &str) {
        if self.key(name, RESERVE) {
            let limit = VALUE_LIMIT.min(self.room());
            push_text(&mut self.bytes, text, limit);
        }
    }

    fn plain(&mut self, name: &str, value: &str) {
        if self.key(name, RESERVE) {
            self.bytes.extend_from_slice(value.as_bytes());
        }
    }
}

/// A JSON string of at most `limit` bytes, quotes included, shortened at a character.
fn push_text(bytes: &mut Vec<u8>, text: &str, limit: usize) {
    let begin = bytes.len();
    bytes.push(b'"');
    let room = limit.saturating_sub(2);
    // Where to cut if the rest turns out not to fit.
    let mut cut = bytes.len();
    let mut utf8 = [0; 4];
    for character in text.chars() {
        match character {
            '"' => bytes.extend_from_slice(b"\\\""),
            '\\' => bytes.extend_from_slice(b"\\\\"),
            '\n' => bytes.extend_from_slice(b"\\n"),
            '\r' => bytes.extend_from_slice(b"\\r"),
            '\t' => bytes.extend_from_slice(b"\\t"),
            control if control.is_control() || matches!(control, '\u{2028}' | '\u{2029}') => {
                bytes.extend_from_slice(format!("\\u{:04x}", u32::from(control)).as_bytes());
            }
            other => bytes.extend_from_slice(other.encode_utf8(&mut utf8).as_bytes()),
        }
        let used = bytes.len() - begin - 1;
        if used > room {
            bytes.truncate(cut);
            bytes.extend_from_slice(SHORTENED.as_bytes());
            break;
        }
        if used + SHORTENED.len() <= room {
            cut = bytes.len();
        }
    }
    bytes.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value as Json;

    use super::*;

    fn parsed(line: Line) -> serde_json::Map<String, Json> {
        let bytes = line.finish();
        assert!(bytes.len() <= LINE_LIMIT, "{} bytes", bytes.len());
        assert_eq!(
            bytes.iter().position(|byte| *byte == b'\n'),
            Some(bytes.len() - 1)
        );
        match serde_json::from_slice(&bytes).unwrap() {
            Json::Object(map) => map,
            other => panic!("not an object: {other}"),
        }
    }

    #[test]
    fn line_has_what_the_host_needs() {
        let mut line = Line::new("info", "snapshot taken", "src/action/execute.rs:7");
        line.field("pvc", &Value::Text("data".into()));
        line.field("count", &Value::Number(3));
        line.field("early", &Value::Bool(true));
        let bytes = line.finish();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            "{\"@level\":\"info\",\"@message\":\"snapshot taken\",\
             \"logSource\":\"src/action/execute.rs:7\",\"@logSourceSetBy\":\"plugin\",\
             \"pvc\":\"data\",\"count\":3,\"early\":true}\n"
        );
    }

    /// P-22: the host panics on any other type.
    #[test]
    fn namespace_name_and_resource_are_always_strings() {
        let mut line = Line::new("error", "m", "s");
        line.field("namespace", &Value::Number(7));
        line.field("name", &Value::Bool(true));
        line.field("resource", &Value::Number(-1));
        let map = parsed(line);
        assert_eq!(map["namespace"], "7");
        assert_eq!(map["name"], "true");
        assert_eq!(map["resource"], "-1");
    }

    #[test]
    fn field_with_a_reserved_name_cannot_replace_the_frame() {
        let mut line = Line::new("info", "m", "s");
        for name in RESERVED {
            line.field(name, &Value::Number(1));
        }
        line.field("@odd", &Value::Number(1));
        let map = parsed(line);
        assert_eq!(map["@level"], "info");
        assert_eq!(map["@message"], "m");
        assert!(!map.contains_key("@timestamp"));
        assert_eq!(map["field_timestamp"], 1);
        assert_eq!(map["field_odd"], 1);
    }

    /// P-23.
    #[test]
    fn message_never_begins_like_the_servers_file_hook() {
        let map = parsed(Line::new(
            "error",
            "merge-log-57847fd0-0c7c-48e3-b5f7-984b293d8376",
            "s",
        ));
        assert!(!map["@message"].as_str().unwrap().starts_with("merge-log-"));
    }

    /// F75.
    #[test]
    fn huge_values_are_shortened_and_the_line_stays_under_the_limit() {
        let mut line = Line::new("error", &"\u{1}".repeat(100_000), "s");
        for name in ["a", "b", "c", "d", "e", "f"] {
            line.field(name, &Value::Text("ä\n".repeat(100_000)));
        }
        line.field("g", &Value::Number(1));
        let map = parsed(line);
        assert!(map["@message"].as_str().unwrap().ends_with(SHORTENED));
        assert_eq!(map["shortened"], true);
    }

    #[test]
    fn value_of_exactly_the_limit_is_not_shortened() {
        let mut bytes = Vec::new();
        push_text(&mut bytes, "abc", 5);
        assert_eq!(bytes, b"\"abc\"");
    }

    proptest! {
        #[test]
        fn any_text_survives_as_it_is(text in "\\PC{0,80}|[\\x00-\\x7f]{0,80}") {
            let mut line = Line::new("info", &text, "s");
            line.field("x", &Value::Text(text.clone()));
            let map = parsed(line);
            prop_assert_eq!(&map["x"], &text);
        }

        #[test]
        fn shortened_text_stays_within_its_limit(text in "\\PC{0,200}", limit in 32_usize..200) {
            let mut bytes = Vec::new();
            push_text(&mut bytes, &text, limit);
            prop_assert!(bytes.len() <= limit);
            let back: String = serde_json::from_slice(&bytes).unwrap();
            prop_assert!(text.starts_with(back.trim_end_matches(SHORTENED)) || back == text);
        }
    }
}
