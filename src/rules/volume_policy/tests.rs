//! Policies against what Velero 1.18.3's own package answers for them.
//!
//! `tests/velero_1_18_3.json` was written by that package: each text either fails to load there,
//! or gives the volumes of the file the actions listed with it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PersistentVolume;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;
use crate::model::item::Item;

#[derive(Deserialize)]
struct Recorded {
    volumes: BTreeMap<String, Volume>,
    policies: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Volume {
    pv: Option<PersistentVolume>,
    pvc: Box<RawValue>,
}

#[derive(Deserialize)]
struct Verdict {
    text: String,
    error: Option<String>,
    #[serde(default)]
    matches: BTreeMap<String, String>,
}

fn source() -> PolicySource {
    PolicySource {
        namespace: "velero".into(),
        name: "policies".into(),
    }
}

fn load(text: &str) -> Result<VolumePolicies, PolicyError> {
    VolumePolicies::from_config_map(&BTreeMap::from([("any".into(), text.into())]), source())
}

fn policies(conditions: &str, action: &str) -> VolumePolicies {
    let rule = format!("- conditions: {conditions}\n  action: {action}\n");
    load(&format!("version: v1\nvolumePolicies:\n{rule}")).unwrap()
}

fn error_of(text: &str) -> String {
    load(text).unwrap_err().to_string()
}

#[test]
fn texts_of_all_kinds_then_the_verdicts_of_velero_1_18_3() {
    let recorded: Recorded =
        serde_json::from_str(include_str!("tests/velero_1_18_3.json")).unwrap();
    let volumes: BTreeMap<_, _> = recorded
        .volumes
        .iter()
        .map(|(name, volume)| {
            let item = Item::decode(volume.pvc.get().as_bytes()).unwrap();
            (name.clone(), VolumeFacts::new(volume.pv.as_ref(), &item))
        })
        .collect();
    let mut different = Vec::new();
    for verdict in &recorded.policies {
        let ours = load(&verdict.text).map(|policies| {
            let matched = |(name, facts): (&String, &VolumeFacts)| {
                let action = policies.first_match(facts)?;
                let handler = action.handler().map(|handler| format!(" {handler}"));
                let text = format!("{}{}", action.kind.as_str(), handler.unwrap_or_default());
                Some((name.clone(), text))
            };
            volumes
                .iter()
                .filter_map(matched)
                .collect::<BTreeMap<_, _>>()
        });
        let theirs = match &verdict.error {
            Some(error) => Err(error),
            None => Ok(&verdict.matches),
        };
        if ours.as_ref().ok() != theirs.ok() {
            different.push(format!(
                "{:?}\n  ours {ours:?}\n  theirs {theirs:?}",
                verdict.text
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn config_map_with_other_than_one_key_then_refused_vp3() {
    for keys in [0, 2] {
        let data = (0..keys)
            .map(|key| (key.to_string(), "version: v1".to_owned()))
            .collect();
        let error = VolumePolicies::from_config_map(&data, source()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "illegal resource policies velero/policies configmap: data has {keys} keys, expected exactly one"
            )
        );
    }
}

#[test]
fn faults_then_config_map_and_line_are_named_w38_f50() {
    let rule = |conditions: &str, action: &str| {
        format!(
            "version: v1\nvolumePolicies:\n- conditions:\n    {conditions}\n  action:\n    {action}\n"
        )
    };
    let read = "fail to read the ResourcePolicies from ConfigMap velero/policies: ";
    let validate = "fail to validate ResourcePolicies in ConfigMap velero/policies: ";
    let skip = "type: skip";
    let table = [
        (
            rule("Capacity: 1,2", skip),
            read,
            "line 4: field Capacity not found in type volumeConditions",
        ),
        (
            rule("storageClass: gp2", skip),
            read,
            "line 4: cannot unmarshal !!str `gp2` into []string",
        ),
        (
            rule("capacity: 10Gi", skip),
            read,
            "line 4: wrong format of Capacity 10Gi",
        ),
        (
            rule("capacity: '100Gi,10Gi'", skip),
            validate,
            "line 4: illegal values for capacity: the upper limit is below the lower one",
        ),
        (
            rule("pvcLabels: text", skip),
            read,
            "line 4: pvcLabels must be a map of string to string, got string",
        ),
        (
            rule("pvcLabels:", skip),
            read,
            "line 4: pvcLabels must be a map of string to string, got <nil>",
        ),
        (
            rule("pvcVolumeMode: [Block]", skip),
            read,
            "line 4: pvcVolumeMode must be a string, got []interface {}",
        ),
        (
            rule("pvcAccessModes: [1]", skip),
            read,
            "line 4: pvcAccessModes must be a list of strings, got element int",
        ),
        (
            rule("csi: {volumeAttributes: {a: b}}", skip),
            validate,
            "line 4: csi driver should not be empty when filtering by volume attributes",
        ),
        (
            rule("csi: {}", "type: Skip"),
            validate,
            "line 6: invalid action type Skip",
        ),
        (
            rule("csi: {}", "kind: skip"),
            read,
            "line 6: field kind not found in type Action",
        ),
        (
            rule("csi: {}\n    csi: {}", skip),
            read,
            "line 5: mapping key \"csi\" already defined at line 4",
        ),
        (
            "version: v2\n".to_owned(),
            validate,
            "line 1: incompatible version number v2 with supported version v1",
        ),
        (
            "version: v1\nother: 1\n".to_owned(),
            read,
            "line 2: field other not found in type ResourcePolicies",
        ),
        (String::new(), read, "EOF: the text holds no YAML document"),
    ];
    for (text, begin, fault) in table {
        assert_eq!(error_of(&text), format!("{begin}{fault}"));
    }
    assert!(
        error_of("version: v1\nvolumePolicies:\n\t- conditions: {}\n")
            .starts_with(&format!("{read}line 3: "))
    );
}

#[test]
fn conditions_without_a_value_then_a_warning_each_w39_vp13() {
    let policies = load(
        "version: v1\nvolumePolicies:\n- conditions:\n    csi:\n    nfs: {}\n    capacity:\n  action: {type: skip}\n",
    )
    .unwrap();
    let warnings = policies.warnings();
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].starts_with(
        "volume policies in ConfigMap velero/policies, line 4: condition csi has no value"
    ));
    assert!(warnings[1].contains("line 6: condition capacity"));
    assert!(
        policies.first_match(&VolumeFacts::default()).is_none(),
        "nfs: {{}} still asks for NFS"
    );
}

#[test]
fn own_and_global_policies_then_the_first_match_wins_vp32() {
    let gp2 = VolumeFacts {
        storage_class: "gp2".into(),
        ..VolumeFacts::default()
    };
    let kind = |policies: &VolumePolicies| policies.first_match(&gp2).map(|action| action.kind);
    let own = policies("{storageClass: [gp2]}", "{type: snapshot}");
    let other = policies("{storageClass: [gp3]}", "{type: snapshot}");
    let global = policies("{storageClass: [gp2]}", "{type: skip}");
    let none = VolumePolicies::default();
    assert_eq!(
        kind(&own.clone().followed_by(none.clone())),
        Some(ActionKind::Snapshot)
    );
    assert_eq!(
        kind(&none.clone().followed_by(global.clone())),
        Some(ActionKind::Skip)
    );
    assert_eq!(kind(&none), None);
    let both = own.followed_by(global.clone());
    assert_eq!((kind(&both), both.len()), (Some(ActionKind::Snapshot), 2));
    assert_eq!(kind(&other.followed_by(global)), Some(ActionKind::Skip));
}

#[test]
fn handler_values_then_compared_as_text() {
    let handler = |value: &str| {
        let policies = policies(
            "{}",
            &format!("{{type: custom, parameters: {{handler: {value}}}}}"),
        );
        let action = policies
            .first_match(&VolumeFacts::default())
            .unwrap()
            .clone();
        action.handler().map(str::to_owned)
    };
    for (value, expected) in [
        ("us", Some("us")),
        ("'us'", Some("us")),
        ("1.10", Some("1.1")),
        ("'1.10'", Some("1.10")),
        ("true", Some("true")),
        ("~", None),
        ("''", None),
        ("[us]", Some("[]interface {}")),
    ] {
        assert_eq!(handler(value).as_deref(), expected, "{value}");
    }
}

#[test]
fn aliases_that_multiply_then_refused() {
    let mut text =
        "version: v1\nvolumePolicies:\n- &a0 {conditions: {csi: {}}, action: {type: skip}}\n"
            .to_owned();
    for level in 1..10 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        text = format!("{text}- &a{level} [{items}]\n");
    }
    assert!(error_of(&text).contains("excessive aliasing"));
    let deep = format!(
        "version: v1\nvolumePolicies: {}{}\n",
        "[".repeat(200),
        "]".repeat(200)
    );
    assert!(error_of(&deep).contains("nested too deeply"));
}

proptest::proptest! {
    #[test]
    fn any_text_then_no_panic(text in "[-a-z0-9:{}\\[\\], \n\t'\"&*!|>#%~<?.]{0,80}") {
        let _ = load(&text);
        let _ = load(&format!("version: v1\nvolumePolicies:\n- conditions: {{pvcLabels: {{a: {text}}}}}\n"));
    }

    #[test]
    fn any_quoted_value_then_it_is_kept_as_written_vp12(value in "[ -~]{0,20}") {
        let quoted = serde_json::to_string(&value).unwrap();
        let policies = policies(&format!("{{pvcLabels: {{a: {quoted}}}}}"), "{type: skip}");
        let facts = VolumeFacts {
            pvc_labels: BTreeMap::from([("a".to_owned(), value)]),
            ..VolumeFacts::default()
        };
        proptest::prop_assert!(policies.first_match(&facts).is_some());
    }
}
