//! Who takes which claim: Velero's helper tables (7.3), and what an external plugin adds (B 9).

use std::collections::BTreeMap;

use super::*;
use crate::model::decode::json;
use crate::model::pod::Pod;
use crate::rules::volume_policy::{PolicySource, VolumePolicies};

fn item_with(change: impl FnOnce(&mut serde_json::Value)) -> Item {
    let mut item = serde_json::json!({"apiVersion":"v1","kind":"PersistentVolumeClaim",
        "metadata":{"name":"pvc-1","namespace":"ns","labels":{},"annotations":{}},
        "spec":{"volumeName":"example-pv","storageClassName":"gp2-csi"},"status":{"phase":"Bound"}});
    change(&mut item);
    Item::decode(item.to_string().as_bytes()).unwrap()
}

fn item() -> Item {
    item_with(|_| ())
}

fn volume(spec: &serde_json::Value) -> PersistentVolume {
    serde_json::from_value(serde_json::json!({"metadata":{"name":"example-pv"},"spec":spec}))
        .unwrap()
}

fn csi(class: &str) -> PersistentVolume {
    volume(
        &serde_json::json!({"storageClassName":class,"csi":{"driver":"ebs.csi","volumeHandle":"h"},
        "claimRef":{"namespace":"ns","name":"pvc-1"}}),
    )
}

fn policies(rules: &[(&str, &str)]) -> VolumePolicies {
    let rule = |(conditions, action): &(&str, &str)| {
        format!("- conditions: {conditions}\n  action: {action}\n")
    };
    let rules: Vec<String> = rules.iter().map(rule).collect();
    let text = format!("version: v1\nvolumePolicies:\n{}", rules.concat());
    VolumePolicies::from_config_map(
        &BTreeMap::from([("p".into(), text)]),
        PolicySource::default(),
    )
    .unwrap()
}

fn pod(annotations: &serde_json::Value) -> Pod {
    let pod = serde_json::json!({"metadata":{"name":"pod","namespace":"ns","annotations":annotations},
        "spec":{"volumes":[{"name":"volume","persistentVolumeClaim":{"claimName":"pvc-1"}}]}});
    json(pod.to_string().as_bytes()).unwrap()
}

fn backup() -> Backup {
    Backup {
        name: "nightly".into(),
        namespace: "velero".into(),
        ..Backup::default()
    }
}

struct Case {
    backup: Backup,
    item: Item,
    volume: Option<PersistentVolume>,
    policies: VolumePolicies,
    pods: Option<Vec<Pod>>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            backup: backup(),
            item: item(),
            volume: Some(csi("gp2-csi")),
            policies: VolumePolicies::default(),
            pods: Some(Vec::new()),
        }
    }
}

impl Case {
    fn decide(&self) -> Decision {
        let volume = match (&self.volume, not_bound(&self.item)) {
            (_, Some(reason)) => VolumeLookup::NotBound(reason),
            (Some(volume), None) => VolumeLookup::Found(volume),
            (None, None) => VolumeLookup::Missing("not found".into()),
        };
        self.decide_with(volume)
    }

    fn decide_with<'a>(&'a self, volume: VolumeLookup<'a>) -> Decision {
        decide(&Facts {
            backup: &self.backup,
            item: &self.item,
            volume,
            policies: &self.policies,
            pods: self.pods.as_deref(),
        })
    }

    fn is_snapshot(&self) -> bool {
        match self.decide() {
            Decision::Snapshot(_) => true,
            Decision::Leave(_) => false,
            other => panic!("{other:?}"),
        }
    }

    fn left(&self) -> Why {
        match self.decide() {
            Decision::Leave(why) => why,
            other => panic!("{other:?}"),
        }
    }

    fn refused(&self) -> String {
        match self.decide() {
            Decision::Refuse(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

const OURS: &str = "{type: custom, parameters: {handler: velero-plugin-csi-fastpoll}}";
const OURS_BY_SKIP: &str = "{type: skip, parameters: {handler: velero-plugin-csi-fastpoll}}";

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn should_perform_snapshot_of_7_3_then_the_same_answer_ts1_to_ts16() {
    let none = serde_json::json!({});
    let excluded = serde_json::json!({"backup.velero.io/backup-volumes-excludes":"volume"});
    let included = serde_json::json!({"backup.velero.io/backup-volumes":"volume"});
    let empty: Pod = json(br#"{"metadata":{"name":"p","namespace":"ns"}}"#).unwrap();
    let table = [
        (
            "TS-1",
            "gp2-csi",
            Some("snapshot"),
            true,
            false,
            vec![],
            true,
        ),
        (
            "TS-2",
            "gp2-csi",
            Some("snapshot"),
            false,
            false,
            vec![],
            true,
        ),
        (
            "TS-3",
            "gp2-csi",
            Some("fs-backup"),
            true,
            false,
            vec![],
            false,
        ),
        (
            "TS-4",
            "gp3-csi",
            Some("snapshot"),
            true,
            false,
            vec![empty],
            true,
        ),
        (
            "TS-5",
            "gp3-csi",
            Some("snapshot"),
            true,
            true,
            vec![pod(&none)],
            false,
        ),
        (
            "TS-6",
            "gp3-csi",
            Some("snapshot"),
            true,
            true,
            vec![pod(&excluded)],
            true,
        ),
        (
            "TS-7",
            "gp3-csi",
            Some("snapshot"),
            true,
            false,
            vec![pod(&included)],
            false,
        ),
        (
            "TS-8",
            "gp3-csi",
            Some("snapshot"),
            true,
            false,
            vec![pod(&none)],
            true,
        ),
        ("TS-9", "gp3-csi", None, true, false, vec![], true),
        ("TS-10", "gp3-csi", None, false, false, vec![], false),
        (
            "TS-15",
            "gp3-csi",
            None,
            true,
            true,
            vec![pod(&none)],
            false,
        ),
    ];
    for (id, class, action, snapshots, by_default, pods, expected) in table {
        let case = Case {
            backup: Backup {
                snapshot_volumes: Some(snapshots),
                default_volumes_to_fs_backup: Some(by_default),
                ..backup()
            },
            volume: Some(csi(class)),
            policies: action.map_or_else(VolumePolicies::default, |action| {
                policies(&[("{storageClass: [gp2-csi]}", &format!("{{type: {action}}}"))])
            }),
            pods: Some(pods),
            ..Case::default()
        };
        assert_eq!(case.is_snapshot(), expected, "{id}");
    }
}

#[test]
fn unbound_claims_of_7_3_then_skip_or_the_error_f46_f47() {
    let unbound = |phase: &str, rule: (&str, &str)| Case {
        item: item_with(|item| {
            item["spec"] = serde_json::json!({});
            item["status"] = serde_json::json!({ "phase": phase });
        }),
        policies: policies(&[rule]),
        ..Case::default()
    };
    assert!(!unbound("Pending", ("{pvcPhase: [Pending]}", "{type: skip}")).is_snapshot());
    assert!(!unbound("Lost", ("{pvcPhase: [Lost]}", "{type: skip}")).is_snapshot());
    assert!(!unbound("Lost", ("{pvcPhase: [Pending, Lost]}", "{type: skip}")).is_snapshot());
    assert_eq!(
        unbound("Pending", ("{storageClass: [gp2-csi]}", "{type: skip}")).refused(),
        "PVC ns/pvc-1 has no volume backing this claim"
    );
    assert_eq!(
        unbound("Pending", ("{pvcPhase: [Pending]}", OURS)).refused(),
        "PVC ns/pvc-1 has no volume backing this claim"
    );
}

#[test]
fn claims_without_a_bound_volume_then_velero_s_words_r6_r7_f47() {
    for phase in ["Lost", "Pending", ""] {
        let case = Case {
            item: item_with(|item| item["status"] = serde_json::json!({ "phase": phase })),
            ..Case::default()
        };
        assert_eq!(
            case.refused(),
            format!("PVC ns/pvc-1 is in phase {phase} and is not bound to a volume")
        );
    }
    let case = Case {
        item: item_with(|item| item["status"] = serde_json::json!(null)),
        ..Case::default()
    };
    assert!(matches!(
        not_bound(&case.item),
        Some(NotBound::Phase { .. })
    ));
    assert_eq!(not_bound(&item()), None);
    // Not ours by any sign: no error of ours either.
    let case = Case {
        backup: Backup {
            snapshot_volumes: Some(false),
            ..backup()
        },
        ..case
    };
    assert_eq!(case.left().text, "the backup has snapshotVolumes: false");
}

#[test]
fn volume_that_is_gone_or_unreadable_then_r8() {
    let missing = Case {
        volume: None,
        ..Case::default()
    };
    assert_eq!(
        missing.refused(),
        "failed to get PV example-pv for PVC ns/pvc-1: not found"
    );
    let skipped = Case {
        volume: None,
        policies: policies(&[("{pvcPhase: [Bound]}", "{type: skip}")]),
        ..Case::default()
    };
    assert!(!skipped.is_snapshot());
}

#[test]
fn early_answers_then_no_reading_r3_c3() {
    let settings = Settings::default();
    for phase in ["Finalizing", "FinalizingPartiallyFailed"] {
        let backup = Backup {
            phase: phase.into(),
            ..backup()
        };
        let Early::Leave(why) = before_reading(&backup, &item(), &settings) else {
            panic!("{phase}");
        };
        assert_eq!(why.level, Level::Debug);
    }
    assert_eq!(before_reading(&backup(), &item(), &settings), Early::GoOn);
    let taken = |label: &str, snapshot: &str| {
        item_with(|item| {
            item["metadata"]["labels"] = serde_json::json!({ LABEL_BACKUP_NAME: label });
            item["metadata"]["annotations"] = serde_json::json!({ VOLUME_SNAPSHOT_NAME: snapshot });
        })
    };
    let Early::Leave(why) = before_reading(&backup(), &taken("nightly", "vs-1"), &settings) else {
        panic!("taken by the built-in");
    };
    assert_eq!(
        why.text,
        "Velero has taken this PVC already, as VolumeSnapshot vs-1"
    );
    for (label, snapshot) in [("older", "vs-1"), ("nightly", "")] {
        assert_eq!(
            before_reading(&backup(), &taken(label, snapshot), &settings),
            Early::GoOn
        );
    }
    let long = Backup {
        name: "b".repeat(70),
        ..backup()
    };
    let marked = taken(&get_valid_name(&long.name), "vs-1");
    assert!(matches!(
        before_reading(&long, &marked, &settings),
        Early::Leave(_)
    ));
}

#[test]
fn velero_without_its_csi_feature_then_one_warning() {
    let with = |argv_present, features: Option<&[&str]>| {
        let settings = Settings {
            argv_present,
            features: features.map(|all| all.iter().map(ToString::to_string).collect()),
            ..Settings::default()
        };
        before_reading(&backup(), &item(), &settings)
    };
    for features in [
        None,
        Some(&[][..]),
        Some(&["Other"][..]),
        Some(&["enablecsi"][..]),
    ] {
        let Early::Leave(why) = with(true, features) else {
            panic!("{features:?}");
        };
        assert_eq!(why.level, Level::WarnOncePerBackup);
        assert!(why.text.contains("--features=EnableCSI"));
    }
    assert_eq!(with(true, Some(&["Other", "EnableCSI"])), Early::GoOn);
    assert_eq!(with(false, None), Early::GoOn);
}

#[test]
fn policy_that_names_us_then_ours_even_without_snapshot_volumes_c2() {
    for action in [OURS, OURS_BY_SKIP] {
        for snapshot_volumes in [None, Some(true), Some(false)] {
            let case = Case {
                backup: Backup {
                    snapshot_volumes,
                    ..backup()
                },
                policies: policies(&[("{csi: {}}", action)]),
                pods: None,
                ..Case::default()
            };
            let Decision::Snapshot(because) = case.decide() else {
                panic!("{action}");
            };
            assert!(
                because.to_string().ends_with("names this plugin"),
                "{because}"
            );
        }
    }
}

#[test]
fn policy_for_others_then_left_and_why_c2() {
    let left = |action: &str| {
        Case {
            policies: policies(&[("{}", action)]),
            pods: None,
            ..Case::default()
        }
        .left()
    };
    assert_eq!(
        left("{type: skip}"),
        Why::info("a volume policy has action skip")
    );
    assert_eq!(
        left("{type: fs-backup}"),
        Why::info("a volume policy has action fs-backup")
    );
    assert_eq!(
        left("{type: fs-backup, parameters: {handler: velero-plugin-csi-fastpoll}}"),
        Why::info("a volume policy has action fs-backup")
    );
    assert_eq!(
        left("{type: custom, parameters: {handler: other}}"),
        Why::info("a volume policy hands this PVC to other")
    );
    assert_eq!(
        left("{type: custom, parameters: {array: 7}}"),
        Why::info(
            "a volume policy hands this PVC to another plugin: its parameters do not say handler: velero-plugin-csi-fastpoll"
        )
    );
    assert_eq!(
        left("{type: skip, parameters: {handler: other}}").level,
        Level::Info
    );
    for action in [
        "{type: custom}",
        "{type: custom, parameters: {}}",
        "{type: custom, parameters: {handler: }}",
    ] {
        let why = left(action);
        assert_eq!(why.level, Level::WarnOncePerBackup, "{action}");
        assert!(
            why.text
                .ends_with("parameters: {handler: velero-plugin-csi-fastpoll}"),
            "{}",
            why.text
        );
    }
}

#[test]
fn backup_policy_then_global_one_then_the_first_match_decides_vp32_w14() {
    let own = policies(&[("{csi: {driver: other}}", "{type: skip}")]);
    let global = policies(&[("{csi: {}}", OURS)]);
    let case = Case {
        policies: own.followed_by(global.clone()),
        ..Case::default()
    };
    assert!(case.is_snapshot());
    let case = Case {
        policies: policies(&[("{csi: {}}", "{type: fs-backup}")]).followed_by(global),
        ..Case::default()
    };
    assert!(!case.is_snapshot());
}

#[test]
fn snapshot_volumes_false_then_only_the_annotation_hands_over() {
    let with = |value: Option<&str>| Case {
        backup: Backup {
            snapshot_volumes: Some(false),
            annotations: value
                .map(|value| (ANNOTATION_TAKE_OVER.to_owned(), value.to_owned()))
                .into_iter()
                .collect(),
            ..backup()
        },
        ..Case::default()
    };
    assert_eq!(
        with(Some("true")).decide(),
        Decision::Snapshot(Because::TakeOver)
    );
    for value in [None, Some(""), Some("false")] {
        assert_eq!(with(value).left().level, Level::Info, "{value:?}");
    }
    for value in ["yes", "True", "1"] {
        let why = with(Some(value)).left();
        assert_eq!(why.level, Level::WarnOncePerBackup);
        assert!(why.text.contains(value), "{}", why.text);
    }
    // What is backed up by file system is not snapshotted as well.
    let case = Case {
        pods: Some(vec![pod(
            &serde_json::json!({"backup.velero.io/backup-volumes":"volume"}),
        )]),
        ..with(Some("true"))
    };
    assert_eq!(
        case.left().text,
        "backed up by file system, as volume volume of pod pod"
    );
}

#[test]
fn pods_then_asked_for_only_if_they_decide_s4() {
    let unread = |case: Case| Case { pods: None, ..case }.decide();
    assert_eq!(
        unread(Case::default()),
        Decision::NeedPods {
            namespace: "ns".into()
        }
    );
    let unclaimed = volume(&serde_json::json!({"csi":{"driver":"d","volumeHandle":"h"}}));
    assert_eq!(
        unread(Case {
            volume: Some(unclaimed),
            ..Case::default()
        }),
        Decision::Snapshot(Because::Default)
    );
    let local = volume(
        &serde_json::json!({"local":{"path":"/"},"claimRef":{"namespace":"ns","name":"pvc-1"}}),
    );
    assert!(matches!(
        unread(Case {
            volume: Some(local),
            ..Case::default()
        }),
        Decision::Leave(_)
    ));
    let off = Backup {
        snapshot_volumes: Some(false),
        ..backup()
    };
    assert!(matches!(
        unread(Case {
            backup: off,
            ..Case::default()
        }),
        Decision::Leave(_)
    ));
    assert!(matches!(
        unread(Case {
            policies: policies(&[("{}", "{type: snapshot}")]),
            ..Case::default()
        }),
        Decision::Snapshot(Because::Policy(_))
    ));
}

#[test]
fn volume_without_csi_then_left_and_never_marked_r9_c4_f49() {
    let ebs = volume(&serde_json::json!({"awsElasticBlockStore":{"volumeID":"v"}}));
    let case = Case {
        volume: Some(ebs.clone()),
        ..Case::default()
    };
    assert_eq!(
        case.left(),
        Why::info("PV example-pv is not a CSI volume but awsElasticBlockStore")
    );
    let mut migrated = ebs.clone();
    migrated.metadata.annotations = Some(BTreeMap::from([(
        ANNOTATION_MIGRATED_TO.to_owned(),
        "ebs.csi.aws.com".to_owned(),
    )]));
    let case = Case {
        volume: Some(migrated),
        ..Case::default()
    };
    let why = case.left();
    assert_eq!(why.level, Level::Info);
    assert!(
        why.text
            .contains("in-tree volumes that were migrated to CSI cannot be snapshotted")
    );
    // A policy that names us has switched everything else off.
    let case = Case {
        volume: Some(ebs),
        policies: policies(&[("{}", OURS)]),
        ..Case::default()
    };
    assert_eq!(case.left().level, Level::Warn);
    let nothing = Case {
        volume: Some(volume(&serde_json::json!(null))),
        ..Case::default()
    };
    assert!(nothing.left().text.ends_with("unknown type"));
}

#[test]
fn stale_mark_of_an_older_backup_then_the_volume_decides_w27() {
    let marked = item_with(|item| {
        item["metadata"]["annotations"] =
            serde_json::json!({"backup.velero.io/skipped-no-csi-pv":"true"});
    });
    assert_eq!(
        before_reading(&backup(), &marked, &Settings::default()),
        Early::GoOn
    );
    let case = Case {
        item: marked,
        ..Case::default()
    };
    assert!(case.is_snapshot());
}

#[test]
fn claim_without_or_with_empty_storage_class_then_its_driver_will_do_w9_f48() {
    for class in [serde_json::json!(null), serde_json::json!("")] {
        let case = Case {
            item: item_with(|item| item["spec"]["storageClassName"] = class),
            volume: Some(csi("")),
            ..Case::default()
        };
        assert!(case.is_snapshot());
    }
}

#[test]
fn claim_that_would_be_ours_but_is_being_deleted_then_an_error() {
    let deleted = || {
        item_with(|item| {
            item["metadata"]["deletionTimestamp"] = serde_json::json!("2026-01-01T00:00:00Z");
        })
    };
    let case = Case {
        item: deleted(),
        ..Case::default()
    };
    assert_eq!(
        case.refused(),
        "PVC ns/pvc-1 is being deleted, so no snapshot of it can be taken"
    );
    let case = Case {
        item: deleted(),
        policies: policies(&[("{}", "{type: skip}")]),
        ..Case::default()
    };
    assert_eq!(case.left().level, Level::Info);
}

#[test]
fn data_movement_or_group_that_would_be_ours_then_an_error_never_a_plain_snapshot_c12() {
    let moving = |action| Case {
        backup: Backup {
            snapshot_move_data: Some(true),
            ..backup()
        },
        policies: policies(&[("{}", action)]),
        ..Case::default()
    };
    let text = moving(OURS).refused();
    assert!(
        text.contains("snapshotMoveData") && text.contains("ns/pvc-1"),
        "{text}"
    );
    assert_eq!(moving("{type: skip}").left().level, Level::Info);

    let grouped = |key: &str, value: &str| Case {
        backup: Backup {
            volume_group_snapshot_label_key: key.into(),
            ..backup()
        },
        item: item_with(|item| {
            item["metadata"]["labels"] = serde_json::json!({"velero.io/volume-group": value});
        }),
        ..Case::default()
    };
    let text = grouped("velero.io/volume-group", "db").refused();
    assert!(text.contains("velero.io/volume-group=db"), "{text}");
    assert!(grouped("velero.io/volume-group", "").is_snapshot());
    assert!(grouped("", "db").is_snapshot());
    assert!(grouped("other", "db").is_snapshot());
}

#[test]
fn policy_with_a_class_then_it_is_passed_on_te8() {
    let case = Case {
        policies: policies(&[("{}", "{type: snapshot, parameters: {snapshotClass: gold}}")]),
        ..Case::default()
    };
    let Decision::Snapshot(because) = case.decide() else {
        panic!("not ours");
    };
    assert_eq!(because.snapshot_class(), Some("gold"));
    assert_eq!(because.to_string(), "a volume policy has action snapshot");
    assert_eq!(Because::Default.snapshot_class(), None);
}
