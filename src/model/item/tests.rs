//! Items: reading, refusing, and editing without touching anything else.

use super::*;
use crate::error::chain;

const PLAIN: &str = r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"db"}}"#;

fn error_of(text: &str) -> String {
    chain(&Item::decode(text.as_bytes()).unwrap_err())
}

fn edited(text: &str, change: impl FnOnce(&mut ItemEdit<'_>)) -> String {
    let item = Item::decode(text.as_bytes()).unwrap();
    let mut edit = item.edit();
    change(&mut edit);
    String::from_utf8(edit.into_bytes().unwrap()).unwrap()
}

#[test]
fn full_claim_then_every_accessor_answers() {
    let item = Item::decode(
        br#"{"apiVersion":"v1","kind":"PersistentVolumeClaim",
        "metadata":{"name":"data","namespace":"db","uid":"u","labels":{"a":"b"},
        "annotations":{"c":"d"},"creationTimestamp":"2026-01-01T00:00:00Z",
        "deletionTimestamp":"2026-01-02T00:00:00Z","managedFields":[{"fieldsV1":{"f:x":{}}}]},
        "spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"","volumeMode":"Block",
        "volumeName":"pv","resources":{"requests":{"storage":"1Gi"}}},
        "status":{"phase":"Bound"}}"#,
    )
    .unwrap();
    assert_eq!(
        (item.namespace(), item.name(), item.uid()),
        ("db", "data", "u")
    );
    assert_eq!(item.labels().get("a").map(String::as_str), Some("b"));
    assert_eq!(item.annotations().get("c").map(String::as_str), Some("d"));
    assert!(item.is_being_deleted());
    assert_eq!(item.volume_name(), "pv");
    assert_eq!(item.storage_class_name(), Some(""));
    assert_eq!(item.volume_mode(), "Block");
    assert_eq!(item.access_modes(), ["ReadWriteOnce"]);
    assert_eq!(item.storage_request(), Some("1Gi"));
    assert_eq!(item.phase(), "Bound");
}

#[test]
fn bare_claim_then_nothing_is_there() {
    let item = Item::decode(PLAIN.as_bytes()).unwrap();
    assert!(item.labels().is_empty() && item.annotations().is_empty());
    assert_eq!((item.uid(), item.volume_name(), item.phase()), ("", "", ""));
    assert_eq!(item.storage_class_name(), None);
    assert_eq!(item.storage_request(), None);
    assert!(!item.is_being_deleted());
    assert_eq!(item.bytes(), PLAIN.as_bytes());
}

#[test]
fn other_objects_then_the_field_is_named() {
    assert_eq!(
        error_of(r#"{"metadata":{"name":"a"}}"#),
        "the item has no kind"
    );
    assert_eq!(
        error_of(r#"{"apiVersion":"v1","kind":"Pod"}"#),
        r#"the item's kind is "Pod", expected "PersistentVolumeClaim""#
    );
    assert_eq!(
        error_of(r#"{"apiVersion":"v2","kind":"PersistentVolumeClaim"}"#),
        r#"the item's apiVersion is "v2", expected "v1""#
    );
    assert_eq!(
        error_of(r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":null}"#),
        "the item has no metadata.name"
    );
    assert_eq!(
        error_of(r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a"}}"#),
        "the item has no metadata.namespace"
    );
}

#[test]
fn wrong_types_then_the_field_is_named_r4() {
    let table = [
        (
            r#""spec":{"accessModes":"ReadWriteOnce"}"#,
            "spec.accessModes",
        ),
        (r#""spec":{"volumeName":7}"#, "spec.volumeName"),
        (r#""spec":[]"#, "spec"),
        (r#""status":{"phase":{}}"#, "status.phase"),
        (
            r#""spec":{"resources":{"requests":{"storage":{}}}}"#,
            "spec.resources.requests.storage",
        ),
    ];
    for (field, path) in table {
        let text = PLAIN.replacen('{', &format!("{{{field},"), 1);
        let error = error_of(&text);
        assert!(
            error.starts_with(&format!("cannot read the item: {path}: ")),
            "{error}"
        );
    }
    let labels = PLAIN.replace(r#""name":"data""#, r#""name":"data","labels":{"a":1}"#);
    assert!(error_of(&labels).contains("metadata.labels.a: "));
}

#[test]
fn unreadable_bytes_then_an_error() {
    for bytes in [&b""[..], b"null", b"[]", b"{", b"\xff\xfe", b"7"] {
        assert!(Item::decode(bytes).is_err());
    }
}

#[test]
fn no_change_then_the_same_bytes() {
    let spaced = PLAIN.replace(':', " : ");
    assert_eq!(edited(&spaced, |_| ()), spaced);
}

#[test]
fn unknown_fields_then_order_and_number_text_survive_w28_p17() {
    let text = r#"{"zeta":{"big":123456789012345678901234567890,"float":1.50e+3},"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"z":[1.0,-0],"name":"data","namespace":"db","labels":{"b":"1","a":"2"}},"spec":{"future":{"x":1E2},"resources":{"limits":{"storage":"9"},"requests":{"storage":"1Gi","iops":"1"}}},"status":{"phase":"Bound","n":0.10}}"#;
    let result = edited(text, |edit| {
        edit.set_label("b", "changed")
            .set_label("new", "x")
            .set_annotation("note", "a\"b")
            .set_storage_request("2Gi");
    });
    assert_eq!(
        result,
        r#"{"zeta":{"big":123456789012345678901234567890,"float":1.50e+3},"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"z":[1.0,-0],"name":"data","namespace":"db","labels":{"b":"changed","a":"2","new":"x"},"annotations":{"note":"a\"b"}},"spec":{"future":{"x":1E2},"resources":{"limits":{"storage":"9"},"requests":{"storage":"2Gi","iops":"1"}}},"status":{"phase":"Bound","n":0.10}}"#
    );
}

#[test]
fn missing_or_null_maps_then_they_are_made() {
    let null = PLAIN.replace(
        r#""namespace":"db""#,
        r#""namespace":"db","labels":null,"annotations":null"#,
    );
    let result = edited(&null, |edit| {
        edit.set_label("l", "1")
            .set_annotation("a", "2")
            .set_storage_request("3");
    });
    assert!(result.contains(r#""labels":{"l":"1"},"annotations":{"a":"2"}"#));
    assert!(result.ends_with(r#""spec":{"resources":{"requests":{"storage":"3"}}}}"#));
    let again = Item::decode(result.as_bytes()).unwrap();
    assert_eq!(again.storage_request(), Some("3"));
}

#[test]
fn eight_mebibytes_of_annotation_then_kept() {
    let big = "x".repeat(8 << 20);
    let text = PLAIN.replace(
        r#""namespace":"db""#,
        &format!(r#""namespace":"db","annotations":{{"big":"{big}"}}"#),
    );
    let result = edited(&text, |edit| {
        edit.set_annotation("small", "y");
    });
    assert_eq!(result.len(), text.len() + r#","small":"y""#.len());
}
