//! Backups as servers of several versions send them, and as nobody should.

use super::*;
use crate::error::chain;

fn with_spec(spec: &str) -> Result<Backup, BackupError> {
    Backup::decode(format!(r#"{{"metadata":{{"name":"b"}},"spec":{spec}}}"#).as_bytes())
}

fn error_of(text: &str) -> String {
    chain(&Backup::decode(text.as_bytes()).unwrap_err())
}

#[test]
fn backup_of_a_server_then_every_field_is_read() {
    let backup = Backup::decode(
        br#"{"metadata":{"name":"b","namespace":"velero","uid":"u","creationTimestamp":null,
        "annotations":{"a":"1"},"labels":{"l":"2"},"managedFields":[{}]},
        "spec":{"metadata":{},"hooks":{},"ttl":"720h0m0s","csiSnapshotTimeout":"1m30s",
        "snapshotVolumes":false,"defaultVolumesToFsBackup":true,"snapshotMoveData":true,
        "resourcePolicy":{"apiGroup":null,"kind":"ConfigMap","name":"p"},"datamover":"velero",
        "volumeGroupSnapshotLabelKey":"velero.io/volume-group","includedNamespaces":null,"next":{}},
        "status":{"phase":"InProgress","progress":{}}}"#,
    )
    .unwrap();
    assert_eq!(
        backup,
        Backup {
            name: "b".into(),
            namespace: "velero".into(),
            uid: "u".into(),
            labels: BTreeMap::from([("l".into(), "2".into())]),
            annotations: BTreeMap::from([("a".into(), "1".into())]),
            phase: "InProgress".into(),
            csi_snapshot_timeout: Duration::from_secs(90),
            snapshot_volumes: Some(false),
            default_volumes_to_fs_backup: Some(true),
            snapshot_move_data: Some(true),
            resource_policy: Some(ResourcePolicy {
                kind: "ConfigMap".into(),
                name: "p".into()
            }),
            volume_group_snapshot_label_key: "velero.io/volume-group".into(),
        }
    );
    assert_eq!(backup.policy_config_map(), Some("p"));
}

#[test]
fn bare_backup_then_three_states_and_the_default_time_out() {
    let backup =
        with_spec(r#"{"snapshotVolumes":null,"datamover":null,"resourcePolicy":null}"#).unwrap();
    assert_eq!(backup.csi_snapshot_timeout, DEFAULT_CSI_SNAPSHOT_TIMEOUT);
    assert_eq!(backup.snapshot_volumes, None);
    assert_eq!(backup.default_volumes_to_fs_backup, None);
    assert_eq!(backup.policy_config_map(), None);
    assert!(!backup.is_finalizing());
}

#[test]
fn older_restic_name_then_used_only_if_the_new_one_is_not_given() {
    let table = [
        (r#"{"defaultVolumesToRestic":true}"#, Some(true)),
        (
            r#"{"defaultVolumesToRestic":true,"defaultVolumesToFsBackup":null}"#,
            Some(true),
        ),
        (
            r#"{"defaultVolumesToRestic":true,"defaultVolumesToFsBackup":false}"#,
            Some(false),
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(
            with_spec(spec).unwrap().default_volumes_to_fs_backup,
            expected
        );
    }
}

#[test]
fn time_outs_of_users_then_read_as_go_does_f05() {
    let table = [
        ("1m0s", 60),
        ("1h30m", 5_400),
        ("90s", 90),
        ("1m", 60),
        ("0s", 600),
        ("0", 600),
        ("8760h", 31_536_000),
    ];
    for (text, seconds) in table {
        let backup = with_spec(&format!(r#"{{"csiSnapshotTimeout":"{text}"}}"#)).unwrap();
        assert_eq!(
            backup.csi_snapshot_timeout,
            Duration::from_secs(seconds),
            "{text}"
        );
    }
    let backup = with_spec(r#"{"csiSnapshotTimeout":null}"#).unwrap();
    assert_eq!(backup.csi_snapshot_timeout, DEFAULT_CSI_SNAPSHOT_TIMEOUT);
}

#[test]
fn time_outs_nobody_means_then_the_field_is_named_f05() {
    for value in [
        r#""-1s""#,
        r#""8761h""#,
        r#""soon""#,
        r#""""#,
        r#""10""#,
        "600000000000",
        "true",
    ] {
        let error = with_spec(&format!(r#"{{"csiSnapshotTimeout":{value}}}"#)).unwrap_err();
        let text = chain(&error);
        assert!(text.contains("spec.csiSnapshotTimeout"), "{text}");
    }
}

#[test]
fn parts_missing_or_of_the_wrong_type_then_the_field_is_named() {
    assert_eq!(error_of("{}"), "the backup has no metadata.name");
    assert_eq!(
        error_of(r#"{"metadata":null,"spec":{}}"#),
        "the backup has no metadata.name"
    );
    assert_eq!(
        error_of(r#"{"metadata":{"name":"b"}}"#),
        "the backup has no spec"
    );
    assert_eq!(
        error_of(r#"{"metadata":{"name":"b"},"spec":null}"#),
        "the backup has no spec"
    );
    let table = [
        (r#"{"metadata":{"name":1},"spec":{}}"#, "metadata.name: "),
        (
            r#"{"metadata":{"name":"b"},"spec":{"snapshotVolumes":"no"}}"#,
            "spec.snapshotVolumes: ",
        ),
        (
            r#"{"metadata":{"name":"b"},"spec":{"resourcePolicy":{"kind":1}}}"#,
            "spec.resourcePolicy.kind: ",
        ),
        (
            r#"{"metadata":{"name":"b","annotations":{"a":1}},"spec":{}}"#,
            "metadata.annotations.a: ",
        ),
    ];
    for (text, field) in table {
        let error = error_of(text);
        assert!(error.contains(field), "{error}");
    }
    for bytes in [&b""[..], b"null", b"[]", b"\xff", b"{"] {
        assert!(Backup::decode(bytes).is_err());
    }
}

#[test]
fn finalizing_backup_then_readable_whatever_else_is_wrong_r3() {
    for phase in ["Finalizing", "FinalizingPartiallyFailed"] {
        for rest in [
            "",
            r#","spec":null"#,
            r#","spec":{"csiSnapshotTimeout":"soon"}"#,
            r#","metadata":{"name":7}"#,
        ] {
            let text = format!(r#"{{"status":{{"phase":"{phase}"}}{rest}}}"#);
            let backup = Backup::decode(text.as_bytes()).unwrap();
            assert!(backup.is_finalizing(), "{text}");
        }
    }
    let named = r#"{"metadata":{"name":"b"},"status":{"phase":"Finalizing"}}"#;
    assert_eq!(Backup::decode(named.as_bytes()).unwrap().name, "b");
    assert!(Backup::decode(br#"{"status":{"phase":"Completed"}}"#).is_err());
}

#[test]
fn policy_of_another_kind_then_no_policy_vp1() {
    for (kind, expected) in [
        ("configmap", Some("p")),
        ("CONFIGMAP", Some("p")),
        ("Secret", None),
        ("", None),
    ] {
        let backup = with_spec(&format!(
            r#"{{"resourcePolicy":{{"kind":"{kind}","name":"p"}}}}"#
        ))
        .unwrap();
        assert_eq!(backup.policy_config_map(), expected, "{kind}");
    }
}
