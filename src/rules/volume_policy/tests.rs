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
