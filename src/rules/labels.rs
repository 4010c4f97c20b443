//! The labels of a VolumeSnapshot that we create: the claim's, less some, and our own (R-23).
//!
//! Velero copies all labels of the claim, since a restore by label selector relies on them. Labels
//! by which other controllers claim an object must not be copied, though: they would prune the
//! snapshot during the wait (F43, W-41). May use: model.

use std::collections::BTreeMap;

use crate::model::backup::Backup;
use crate::model::item::Item;
use crate::model::names::{LABEL_BACKUP_NAME, LABEL_BACKUP_UID, LABEL_CREATED_BY, LABEL_PVC_UID};
use crate::model::valid_label::{get_valid_name, is_valid_label_value};

/// Labels that are never copied; a trailing `*` stands for any rest.
///
/// Argo CD tracks by its own key or by `app.kubernetes.io/instance` (its default, see its
/// `resource tracking` page), Flux by the kustomize and helm toolkit keys, Rancher Fleet by
/// `objectset.rio.cattle.io/`. What Velero's restore leaves on a claim would make a snapshot look
/// like one of the old backup.
pub const DEFAULT_DENY: &[&str] = &[
    "argocd.argoproj.io/*",
    "app.kubernetes.io/instance",
    "applyset.kubernetes.io/*",
    "helm.toolkit.fluxcd.io/*",
    "kustomize.toolkit.fluxcd.io/*",
    "objectset.rio.cattle.io/*",
    "velero.io/*",
    "velero-plugin-csi-fastpoll/*",
];

/// The labels of the VolumeSnapshot for `item`. `deny` adds to [`DEFAULT_DENY`]. Velero's own keys
/// and ours win over the claim's; a label whose value the API server would refuse is left out, so
/// that it cannot fail the create.
#[must_use]
pub fn snapshot_labels(backup: &Backup, item: &Item, deny: &[String]) -> BTreeMap<String, String> {
    let denied = |key: &str| {
        let ours = DEFAULT_DENY.iter().copied();
        ours.chain(deny.iter().map(String::as_str))
            .any(|pattern| covers(pattern, key))
    };
    let copied = item.labels().iter().filter(|(key, _)| !denied(key));
    let mut labels: BTreeMap<String, String> = copied
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for (key, value) in [
        (LABEL_BACKUP_NAME, backup.name.as_str()),
        (LABEL_BACKUP_UID, backup.uid.as_str()),
        (LABEL_PVC_UID, item.uid()),
        (LABEL_CREATED_BY, env!("CARGO_PKG_VERSION")),
    ] {
        labels.insert(key.to_owned(), get_valid_name(value));
    }
    labels.retain(|_, value| is_valid_label_value(value));
    labels
}

/// Whether a pattern of the deny list covers a label key.
fn covers(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => pattern == key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels_of(labels: &serde_json::Value, deny: &[&str]) -> BTreeMap<String, String> {
        let item = serde_json::json!({"apiVersion":"v1","kind":"PersistentVolumeClaim",
            "metadata":{"name":"data","namespace":"db","uid":"pvc-uid","labels":labels}});
        let item = Item::decode(item.to_string().as_bytes()).unwrap();
        let backup = Backup {
            name: "b".repeat(64),
            uid: "backup-uid".into(),
            ..Backup::default()
        };
        let deny: Vec<String> = deny.iter().map(ToString::to_string).collect();
        snapshot_labels(&backup, &item, &deny)
    }

    fn foreign(labels: &serde_json::Value, deny: &[&str]) -> Vec<String> {
        let ours = [
            LABEL_BACKUP_NAME,
            LABEL_BACKUP_UID,
            LABEL_PVC_UID,
            LABEL_CREATED_BY,
        ];
        let keys = labels_of(labels, deny).into_keys();
        keys.filter(|key| !ours.contains(&key.as_str())).collect()
    }

    #[test]
    fn labels_of_the_claim_then_copied_with_ours_on_top_r23() {
        let labels = labels_of(
            &serde_json::json!({"team":"a","app.kubernetes.io/name":"shop","velero.io/backup-name":"old"}),
            &[],
        );
        let expected = BTreeMap::from([
            ("team".to_owned(), "a".to_owned()),
            ("app.kubernetes.io/name".to_owned(), "shop".to_owned()),
            (
                LABEL_BACKUP_NAME.to_owned(),
                get_valid_name(&"b".repeat(64)),
            ),
            (LABEL_BACKUP_UID.to_owned(), "backup-uid".to_owned()),
            (LABEL_PVC_UID.to_owned(), "pvc-uid".to_owned()),
            (
                LABEL_CREATED_BY.to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
        ]);
        assert_eq!(labels, expected);
    }

    #[test]
    fn tracking_labels_and_leftovers_of_a_restore_then_not_copied_f43() {
        let labels = serde_json::json!({
            "argocd.argoproj.io/instance":"shop","app.kubernetes.io/instance":"shop",
            "kustomize.toolkit.fluxcd.io/name":"x","helm.toolkit.fluxcd.io/name":"x","team":"a",
            "velero.io/restore-name":"r","velero.io/volume-snapshot-name":"v",
            "velero.io/backup-name":"old"});
        assert_eq!(foreign(&labels, &[]), ["team"]);
    }

    #[test]
    fn deny_list_of_the_user_then_added_w41() {
        let labels =
            serde_json::json!({"quota/a":"1","quota/b":"2","quotas":"3","exact":"4","exactly":"5"});
        assert_eq!(
            foreign(&labels, &["quota/*", "exact"]),
            ["exactly", "quotas"]
        );
        assert_eq!(foreign(&labels, &["*"]), [""; 0]);
    }

    #[test]
    fn value_the_api_server_refuses_then_left_out_f41() {
        assert_eq!(
            foreign(
                &serde_json::json!({"bad":"a b","good":"","long":"x".repeat(64)}),
                &[]
            ),
            ["good"]
        );
    }

    proptest! {
        #[test]
        fn any_labels_then_every_value_is_valid(
            labels in proptest::collection::btree_map("[a-z./]{1,20}", ".{0,70}", 0..6)
        ) {
            let labels = labels_of(&serde_json::json!(labels), &[]);
            prop_assert!(labels.values().all(|value| is_valid_label_value(value)));
            prop_assert!(labels.contains_key(LABEL_BACKUP_NAME));
        }
    }
}
