//! Reading and editing objects that are plain JSON.

use serde_json::{Map, Value};

/// The text at a JSON pointer, empty when it is absent or no text.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whether something other than null is at a JSON pointer.
pub(crate) fn has(object: &Value, pointer: &str) -> bool {
    object
        .pointer(pointer)
        .is_some_and(|found| !found.is_null())
}

/// The object under `path`, made when it is missing or something else.
pub(crate) fn object_at<'a>(object: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let map = as_object(object);
    match path.split_first() {
        None => map,
        Some((first, rest)) => {
            object_at(map.entry((*first).to_owned()).or_insert(Value::Null), rest)
        }
    }
}

/// The object's metadata.
pub(crate) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    object_at(object, &["metadata"])
}

/// Texts of the list at a JSON pointer.
pub(crate) fn texts<'a>(object: &'a Value, pointer: &str) -> Vec<&'a str> {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// The annotation `key`.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(key))
        .and_then(Value::as_str)
}

/// RFC 7386: null removes, objects merge, everything else replaces.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    let map = as_object(target);
    for (key, change) in changes {
        if change.is_null() {
            map.remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// Compact, keys sorted, `<`, `>` and `&` escaped: what Go's `json.Marshal` makes of a map.
pub fn go_json(value: &Value) -> String {
    let mut out = String::new();
    write_go(value, &mut out);
    out
}

fn write_go(value: &Value, out: &mut String) {
    match value {
        Value::Array(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_go(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (index, key) in keys.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_go_text(key, out);
                out.push(':');
                write_go(map.get(*key).unwrap_or(&Value::Null), out);
            }
            out.push('}');
        }
        Value::String(text) => write_go_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

fn write_go_text(text: &str, out: &mut String) {
    for character in Value::from(text).to_string().chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
}

fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_removes_on_null_and_keeps_the_rest() {
        let mut target = json!({"a": {"b": 1, "c": 2}, "d": [1, 2]});
        merge(
            &mut target,
            &json!({"a": {"b": null, "e": {"f": null, "g": 3}}, "d": [9]}),
        );
        assert_eq!(target, json!({"a": {"c": 2, "e": {"g": 3}}, "d": [9]}));
    }

    #[test]
    fn go_json_sorts_and_escapes() {
        assert_eq!(
            go_json(&json!({"b": "<&>", "a": [1, null, {"z": true, "y": "\n"}]})),
            r#"{"a":[1,null,{"y":"\n","z":true}],"b":"\u003c\u0026\u003e"}"#
        );
    }
}
