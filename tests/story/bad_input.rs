//! Requests that cannot be used: a clear InvalidArgument or FailedPrecondition, no panic, no write.

use serde_json::{Value, json};
use velero_plugin_csi_fastpoll::error::ErrorKind;

use crate::bench::{Bench, early, text};

async fn refused_item(item: &[u8], kind: ErrorKind, names: &str) {
    let bench = Bench::new(early());
    let error = bench.execute_item(item.to_vec()).await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(
        text(&error).contains(names),
        "{} should name {names}",
        text(&error)
    );
    assert_eq!(bench.writes(), 0);
    assert_eq!(bench.log.errors(), 1);
}

#[tokio::test(start_paused = true)]
async fn unreadable_item_then_invalid_input_naming_the_field() {
    let cases: [(&[u8], &str); 9] = [
        (b"", "item"),
        (b"[]", "item"),
        (b"{", "item"),
        (b"\xff\xfe{}", "item"),
        (br#"{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":null}"#, "metadata"),
        (br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b"}}"#, "kind"),
        (br#"{"apiVersion":"v1","metadata":{"name":"a","namespace":"b"}}"#, "kind"),
        (br#"{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":7,"namespace":"b"}}"#, "name"),
        (br#"{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"a","namespace":"b"},"spec":{"volumeName":{}}}"#, "volumeName"),
    ];
    for (item, names) in cases {
        refused_item(item, ErrorKind::InvalidInput, names).await;
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_backup_then_invalid_input_naming_the_field() {
    let good = kube_api::seed::backup_json("nightly", "uid");
    let mut cases: Vec<(Value, &str)> = Vec::new();
    for (pointer, value, names) in [
        (
            "/spec/csiSnapshotTimeout",
            json!("soon"),
            "csiSnapshotTimeout",
        ),
        (
            "/spec/csiSnapshotTimeout",
            json!("-5m"),
            "csiSnapshotTimeout",
        ),
        (
            "/spec/csiSnapshotTimeout",
            json!("99999999h"),
            "csiSnapshotTimeout",
        ),
        ("/spec/snapshotMoveData", json!("yes"), "snapshotMoveData"),
        ("/metadata/name", json!(null), "metadata.name"),
        ("/metadata", json!(null), "metadata"),
        ("/spec", json!(null), "spec"),
    ] {
        let mut backup = good.clone();
        *backup.pointer_mut(pointer).unwrap() = value;
        cases.push((backup, names));
    }
    cases.push((json!([]), "backup"));
    for (backup, names) in cases {
        let mut bench = Bench::new(early());
        bench.backup = backup;
        let error = bench.execute().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(
            text(&error).contains(names),
            "{} should name {names}",
            text(&error)
        );
        assert!(bench.api.requests().is_empty());
        assert_eq!(bench.log.errors(), 1);
    }
}

/// VP-3, VP-10, F50: the verdict of Velero, and the ConfigMap's real name in the text (W-38).
#[tokio::test(start_paused = true)]
async fn policy_that_velero_would_not_take_then_an_error_naming_the_config_map() {
    let cases = [
        "",
        "version: v2\n",
        "version: v1\nvolumePolicies:\n- conditions: {unknown: 1}\n  action: {type: skip}\n",
        "version: v1\nversion: v1\n",
        "version: v1\nvolumePolicies:\n- conditions: {}\n  action: {type: unsupported}\n",
        "version: v1\nvolumePolicies:\n- conditions: {capacity: '100Gi,10Gi'}\n  action: {type: skip}\n",
    ];
    for yaml in cases {
        let mut bench = Bench::new(early());
        bench.policy(yaml);
        let error = bench.execute().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FailedPrecondition, "{error}");
        assert!(text(&error).contains("velero/policies"), "{error}");
        assert_eq!(bench.writes(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn policy_config_map_with_two_keys_or_none_at_all_then_an_error() {
    let mut bench = Bench::new(early());
    bench.policy("version: v1\n");
    kube_api::seed::configmap(
        &bench.api,
        "velero",
        "two",
        &[("a", "version: v1\n"), ("b", "version: v1\n")],
    );
    bench.backup["spec"]["resourcePolicy"]["name"] = json!("two");
    let error = bench.execute().await.unwrap_err();
    assert!(text(&error).contains("velero/two"), "{error}");

    let mut bench = Bench::new(early());
    bench.backup["spec"]["resourcePolicy"] = json!({"kind": "ConfigMap", "name": "missing"});
    let error = bench.execute().await.unwrap_err();
    assert!(text(&error).contains("velero/missing"), "{error}");
    assert_eq!(bench.writes(), 0);
}
