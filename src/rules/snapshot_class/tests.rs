//! Class choice: Velero's own tables (7.2), marks of all kinds, and the texts of wishes not met.

use super::*;
use crate::model::object_meta::ObjectMeta;

fn class(
    name: &str,
    driver: &str,
    label: Option<&str>,
    default: Option<&str>,
) -> VolumeSnapshotClass {
    let marks = |key: &str, value: Option<&str>| {
        let value = value.map(|value| (key.to_owned(), value.to_owned()));
        value.into_iter().collect()
    };
    VolumeSnapshotClass {
        metadata: ObjectMeta {
            name: name.into(),
            labels: marks(SNAPSHOT_CLASS, label),
            annotations: marks(ANNOTATION_DEFAULT_SNAPSHOT_CLASS, default),
            ..ObjectMeta::default()
        },
        driver: driver.into(),
        deletion_policy: None,
    }
}

fn plain(name: &str, driver: &str) -> VolumeSnapshotClass {
    class(name, driver, None, None)
}

fn labelled(name: &str, driver: &str) -> VolumeSnapshotClass {
    class(name, driver, Some(""), None)
}

fn item(annotation: Option<&str>) -> Item {
    let annotations = match annotation {
        Some(name) => serde_json::json!({SNAPSHOT_CLASS: name}),
        None => serde_json::json!(null),
    };
    let item = serde_json::json!({"apiVersion":"v1","kind":"PersistentVolumeClaim",
        "metadata":{"name":"data","namespace":"db","annotations":annotations}});
    Item::decode(item.to_string().as_bytes()).unwrap()
}

fn backup(annotations: &[(&str, &str)]) -> Backup {
    let owned = |(driver, class): &(&str, &str)| {
        (
            format!("{ANNOTATION_SNAPSHOT_CLASS_FOR}{driver}"),
            (*class).to_owned(),
        )
    };
    Backup {
        name: "nightly".into(),
        annotations: annotations.iter().map(owned).collect(),
        ..Backup::default()
    }
}

/// Name of the class, rule and warnings; or the error's text.
fn chosen(
    classes: &[VolumeSnapshotClass],
    drivers: (&str, Option<&str>),
    claim: Option<&str>,
    policy: Option<&str>,
    on_backup: &[(&str, &str)],
) -> Result<(String, Rule, Vec<String>), String> {
    let wishes = Wishes {
        backup: &backup(on_backup),
        item: &item(claim),
        driver: drivers.0,
        provisioner: drivers.1,
        policy_class: policy,
    };
    choose(classes, &wishes)
        .map(|choice| {
            (
                choice.class.metadata.name.clone(),
                choice.rule,
                choice.warnings,
            )
        })
        .map_err(|error| error.to_string())
}

fn of_7_2() -> Vec<VolumeSnapshotClass> {
    vec![
        labelled("hostpath", "hostpath.csi.k8s.io"),
        labelled("foo", "foo.csi.k8s.io"),
        plain("foowithoutlabel", "foo.csi.k8s.io"),
        labelled("bar2", "bar.csi.k8s.io"),
        labelled("bar", "bar.csi.k8s.io"),
    ]
}

/// Driver, PVC annotation, backup annotations, class, rule, number of warnings.
type TableRow<'a> = (
    &'a str,
    Option<&'a str>,
    &'a [(&'a str, &'a str)],
    &'a str,
    Rule,
    usize,
);

#[test]
fn claims_and_backups_of_7_2_then_velero_s_class_tg1_to_tg8() {
    let bar2: &[(&str, &str)] = &[("bar.csi.k8s.io", "bar2")];
    let foo: &[(&str, &str)] = &[("foo.csi.k8s.io", "foowithoutlabel")];
    let foo2: &[(&str, &str)] = &[("foo.csi.k8s.io", "foo2")];
    let table: [TableRow<'_>; 7] = [
        ("hostpath.csi.k8s.io", None, &[], "hostpath", Rule::Label, 0),
        (
            "foo.csi.k8s.io",
            Some("foowithoutlabel"),
            &[],
            "foowithoutlabel",
            Rule::ClaimAnnotation,
            0,
        ),
        (
            "bar.csi.k8s.io",
            Some("foowithoutlabel"),
            &[],
            "bar",
            Rule::Label,
            1,
        ),
        (
            "bar.csi.k8s.io",
            Some("foowithoutlabel"),
            bar2,
            "bar2",
            Rule::BackupAnnotation,
            1,
        ),
        (
            "foo.csi.k8s.io",
            None,
            foo,
            "foowithoutlabel",
            Rule::BackupAnnotation,
            0,
        ),
        ("bar.csi.k8s.io", None, foo, "bar", Rule::Label, 0),
        ("foo.csi.k8s.io", Some("foo2"), foo2, "foo", Rule::Label, 2),
    ];
    for (driver, claim, on_backup, name, rule, warnings) in table {
        let (found, by, warned) =
            chosen(&of_7_2(), (driver, None), claim, None, on_backup).unwrap();
        assert_eq!(
            (found.as_str(), by, warned.len()),
            (name, rule, warnings),
            "{driver} {claim:?}"
        );
    }
    // TG-7
    assert!(chosen(&of_7_2(), ("blah", None), None, None, &[]).is_err());
}

#[test]
fn policy_parameter_of_7_2_then_that_class_or_a_warning_te8_f36() {
    let classes = [
        labelled("vsc-array-1", "infinibox-csi-driver"),
        plain("vsc-array-2", "infinibox-csi-driver"),
        plain("vsc-other", "other-csi-driver"),
    ];
    let by = |policy| chosen(&classes, ("infinibox-csi-driver", None), None, policy, &[]).unwrap();
    assert_eq!(
        by(Some("vsc-array-2")),
        ("vsc-array-2".into(), Rule::PolicyParameter, vec![])
    );
    assert_eq!(
        by(Some("VSC-ARRAY-1")),
        ("vsc-array-1".into(), Rule::PolicyParameter, vec![])
    );
    assert_eq!(by(Some("")), ("vsc-array-1".into(), Rule::Label, vec![]));
    assert_eq!(
        by(Some("vsc-other")).2,
        [
            r#"parameter snapshotClass of the matching volume policy names VolumeSnapshotClass "vsc-other", which is of driver other-csi-driver, not infinibox-csi-driver"#
        ]
    );
    assert_eq!(
        by(Some("gold")).2,
        [
            r#"parameter snapshotClass of the matching volume policy names VolumeSnapshotClass "gold", which does not exist"#
        ]
    );
}

#[test]
fn wishes_that_cannot_be_met_then_annotation_and_value_are_named_w11() {
    let (_, _, warnings) = chosen(
        &of_7_2(),
        ("bar.csi.k8s.io", None),
        Some("foo"),
        None,
        &[("bar.csi.k8s.io", "x")],
    )
    .unwrap();
    assert_eq!(
        warnings,
        [
            r#"annotation velero.io/csi-volumesnapshot-class of PVC db/data names VolumeSnapshotClass "foo", which is of driver foo.csi.k8s.io, not bar.csi.k8s.io"#,
            r#"annotation velero.io/csi-volumesnapshot-class_bar.csi.k8s.io of backup nightly names VolumeSnapshotClass "x", which does not exist"#
        ]
    );
    // Present but empty names nothing.
    let (_, _, warnings) =
        chosen(&of_7_2(), ("bar.csi.k8s.io", None), Some(""), None, &[]).unwrap();
    assert!(warnings.is_empty());
}

#[test]
fn precedence_then_claim_policy_backup_label_default_only() {
    let classes = [
        plain("a", "d"),
        plain("b", "d"),
        plain("c", "d"),
        class("e", "d", None, Some("true")),
        labelled("f", "d"),
    ];
    let on_backup: &[(&str, &str)] = &[("d", "c")];
    let by = |claim, policy, on_backup| {
        chosen(&classes, ("d", None), claim, policy, on_backup)
            .unwrap()
            .0
    };
    assert_eq!(by(Some("a"), Some("b"), on_backup), "a");
    assert_eq!(by(None, Some("b"), on_backup), "b");
    assert_eq!(by(None, None, on_backup), "c");
    // F35: the label wins over the default.
    assert_eq!(by(None, None, &[]), "f");
    let rest = &classes[..4];
    let by = |classes: &[VolumeSnapshotClass]| chosen(classes, ("d", None), None, None, &[]);
    assert_eq!(by(rest).unwrap().0, "e");
    assert_eq!(by(&classes[..1]).unwrap().1, Rule::Only);
    assert!(by(&classes[..2]).is_err());
}

#[test]
fn marks_and_their_values_then_false_is_no_mark_f34_w11() {
    let yes = [Some("true"), Some(""), Some("True"), Some("1"), Some("no")];
    let no = [Some("false"), Some("False"), Some("0"), Some("f")];
    for (label, default) in [(true, false), (false, true)] {
        let marked = |name: &str, value: Option<&str>| {
            class(
                name,
                "d",
                value.filter(|_| label),
                value.filter(|_| default),
            )
        };
        for value in yes {
            let classes = [plain("a", "d"), marked("b", value), plain("x", "other")];
            let (name, _, warnings) = chosen(&classes, ("d", None), None, None, &[]).unwrap();
            assert_eq!((name.as_str(), warnings.len()), ("b", 0), "{value:?}");
        }
        for value in no {
            let classes = [plain("a", "d"), marked("b", value)];
            let error = chosen(&classes, ("d", None), None, None, &[]).unwrap_err();
            assert!(error.contains("which is not taken for a mark"), "{error}");
            let classes = [marked("b", value), plain("x", "other")];
            let (name, rule, warnings) = chosen(&classes, ("d", None), None, None, &[]).unwrap();
            assert_eq!(
                (name.as_str(), rule, warnings.len()),
                ("b", Rule::Only, 1),
                "{value:?}"
            );
            let classes = [marked("a", value), marked("b", Some("true"))];
            assert_eq!(
                chosen(&classes, ("d", None), None, None, &[]).unwrap().0,
                "b"
            );
        }
    }
}

#[test]
fn several_marked_classes_then_the_first_by_name_f34() {
    let classes = [
        labelled("z", "d"),
        labelled("m", "d"),
        labelled("b", "other"),
    ];
    assert_eq!(
        chosen(&classes, ("d", None), None, None, &[]).unwrap().0,
        "m"
    );
}

#[test]
fn driver_and_provisioner_differ_then_the_driver_first_w9_w10() {
    let classes = [labelled("of-driver", "d"), labelled("of-provisioner", "p")];
    let by = |classes: &[VolumeSnapshotClass], claim, on_backup: &[(&str, &str)]| {
        chosen(classes, ("d", Some("p")), claim, None, on_backup).unwrap()
    };
    assert_eq!(by(&classes, None, &[]).0, "of-driver");
    assert_eq!(by(&classes[1..], None, &[]).0, "of-provisioner");
    assert_eq!(
        by(&classes, Some("of-provisioner"), &[]).0,
        "of-provisioner"
    );
    assert_eq!(
        by(&classes, None, &[("p", "of-provisioner")]).0,
        "of-provisioner"
    );
    assert_eq!(
        by(
            &classes,
            None,
            &[("p", "of-provisioner"), ("d", "of-driver")]
        )
        .0,
        "of-driver"
    );
    // No StorageClass, or one without provisioner: the driver alone.
    assert!(chosen(&classes[1..], ("d", None), None, None, &[]).is_err());
    assert!(chosen(&classes[1..], ("d", Some("")), None, None, &[]).is_err());
}

#[test]
fn driver_in_capitals_then_annotations_fold_and_marks_do_not() {
    let classes = [
        labelled("a", "D.csi"),
        plain("b", "d.csi"),
        plain("c", "d.csi"),
    ];
    let (name, rule, _) = chosen(&classes, ("D.csi", None), Some("B"), None, &[]).unwrap();
    assert_eq!((name.as_str(), rule), ("b", Rule::ClaimAnnotation));
    let (name, rule, _) = chosen(&classes, ("D.csi", None), None, None, &[("d.csi", "c")]).unwrap();
    assert_eq!((name.as_str(), rule), ("c", Rule::BackupAnnotation));
    assert!(chosen(&classes, ("d.csi", None), None, None, &[]).is_err());
}

#[test]
fn no_class_then_velero_s_words_and_what_there_is_f34() {
    let begin = "failed to get VolumeSnapshotClass for provisioner d: ensure that the desired VolumeSnapshotClass has the velero.io/csi-volumesnapshot-class label or snapshot.storage.kubernetes.io/is-default-class annotation, and that its driver matches the StorageClass provisioner; ";
    let error = |classes: &[VolumeSnapshotClass]| {
        let error = chosen(classes, ("d", None), None, None, &[]).unwrap_err();
        error.strip_prefix(begin).unwrap().to_owned()
    };
    assert_eq!(error(&[]), "no VolumeSnapshotClass has driver d");
    assert_eq!(
        error(&[plain("b", "other"), plain("a", "x")]),
        "no VolumeSnapshotClass has driver d, classes of other drivers: a (x), b (other)"
    );
    assert_eq!(
        error(&[plain("b", "d"), plain("a", "d"), plain("c", "x")]),
        "none of the classes of this driver is marked: a, b"
    );
    let many: Vec<_> = (10..25).map(|n| plain(&format!("c{n}"), "d")).collect();
    assert!(error(&many).ends_with("c18, c19 and 5 more"));
    let missing = chosen(&[], ("d", None), Some("gold"), None, &[]).unwrap_err();
    assert!(missing.ends_with(r#"names VolumeSnapshotClass "gold", which does not exist"#));
}

#[test]
fn rules_then_each_says_what_it_is_f39() {
    assert_eq!(Rule::Only.to_string(), "only class for the driver");
    assert_eq!(Rule::Label.to_string(), "labelled for Velero");
}
