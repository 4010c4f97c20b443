//! What Velero gets back, and what is in the cluster then.

use serde_json::{Value, json};
use velero_plugin_csi_fastpoll::model::names;

use crate::bench::{BACKUP_UID, Bench, early};

/// R-20 … R-26, F86: the VolumeSnapshot, with the labels of a leftover from the create on.
#[tokio::test(start_paused = true)]
async fn snapshot_is_created_as_the_built_in_would_with_our_labels_on_it() {
    let bench = Bench::new(early());
    let mut item: Value = serde_json::from_str(&bench.pvc).unwrap();
    item["metadata"]["labels"] =
        json!({"team": "a", "argocd.argoproj.io/instance": "shop", "velero.io/backup-name": "old"});
    let uid = item["metadata"]["uid"].clone();
    bench
        .execute_item(item.to_string().into_bytes())
        .await
        .unwrap();
    let body = bench
        .api
        .requests()
        .into_iter()
        .find(|r| r.verb == "create")
        .unwrap()
        .body;
    assert_eq!(body["apiVersion"], "snapshot.storage.k8s.io/v1");
    assert_eq!(body["kind"], "VolumeSnapshot");
    assert_eq!(body["metadata"]["namespace"], "shop");
    assert_eq!(body["metadata"]["generateName"], "velero-data-");
    let name = body["metadata"]["name"].as_str().unwrap();
    assert!(
        name.starts_with("velero-data-") && name.len() == "velero-data-".len() + 5,
        "{name}"
    );
    assert_eq!(
        body["spec"],
        json!({"source": {"persistentVolumeClaimName": "data"}, "volumeSnapshotClassName": "gold"})
    );
    let labels = &body["metadata"]["labels"];
    assert_eq!(labels["team"], "a");
    assert_eq!(labels["velero.io/backup-name"], "nightly");
    assert_eq!(labels["velero.io/backup-uid"], BACKUP_UID);
    assert_eq!(labels["velero.io/pvc-uid"], uid);
    assert!(labels[names::LABEL_CREATED_BY].is_string());
    assert_eq!(labels.get("argocd.argoproj.io/instance"), None);
    assert_eq!(body["metadata"].get("annotations"), None);
    assert_eq!(body["metadata"].get("ownerReferences"), None);
}

/// R-30 …, W-28: what changes, and that nothing else does.
#[tokio::test(start_paused = true)]
async fn answer_carries_the_marks_and_everything_else_is_as_it_came() {
    let bench = Bench::new(early());
    let mut item: Value = serde_json::from_str(&bench.pvc).unwrap();
    item["spec"]["fieldOfTheFuture"] = json!({"a": [1, 2.5, "x"], "n": 9_007_199_254_740_993_u64});
    item["status"]["another"] = json!(null);
    let answer = bench
        .execute_item(item.to_string().into_bytes())
        .await
        .unwrap();
    let snapshot = bench.snapshot();
    let name = snapshot["metadata"]["name"].as_str().unwrap();

    let mut expected = item.clone();
    expected["metadata"]["labels"]["velero.io/volume-snapshot-name"] = json!(name);
    expected["metadata"]["labels"]["velero.io/backup-name"] = json!("nightly");
    expected["metadata"]["annotations"]["velero.io/volume-snapshot-name"] = json!(name);
    expected["metadata"]["annotations"]["backup.velero.io/must-include-additional-items"] =
        json!("true");
    let got: Value = serde_json::from_slice(&answer.item).unwrap();
    assert_eq!(got, expected);

    assert_eq!(answer.operation_id, "");
    assert!(answer.post_operation_items.is_empty());
    let additional: Vec<String> = answer
        .additional_items
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        additional,
        [format!(
            "volumesnapshots.snapshot.storage.k8s.io shop/{name}"
        )]
    );
    assert_eq!(
        snapshot["status"]["boundVolumeSnapshotContentName"],
        json!(format!(
            "snapcontent-{}",
            snapshot["metadata"]["uid"].as_str().unwrap()
        ))
    );
}

/// F113: the request grows to the restore size, in Kubernetes' own form.
#[tokio::test(start_paused = true)]
async fn restore_size_is_larger_than_the_request_then_the_request_grows() {
    for (size, expected) in [
        (2_147_483_648_i64, "2Gi"),
        (1_610_612_736, "1536Mi"),
        (1_500_000_000, "1500000000"),
        (1_000, "1Gi"),
    ] {
        let bench = Bench::new(early());
        bench
            .storage()
            .restore_size(&kube_api::seed::volume_handle("shop", "data"), size);
        let answer = bench.execute().await.unwrap();
        let got: Value = serde_json::from_slice(&answer.item).unwrap();
        assert_eq!(
            got["spec"]["resources"]["requests"]["storage"], expected,
            "{size}"
        );
    }
}

/// F40, F45: a backup name of 84 characters; every label that is written is valid.
#[tokio::test(start_paused = true)]
async fn long_backup_name_then_every_label_is_shortened() {
    let mut bench = Bench::new(early());
    bench.backup["metadata"]["name"] =
        json!("k14-prod-avenirsocial-gs-0-0-6-12-18-ttl-23-hours-20250904201247");
    bench.execute().await.unwrap();
    let label = "k14-prod-avenirsocial-gs-0-0-6-12-18-ttl-23-hours-2025090f10262";
    assert_eq!(
        bench.snapshot()["metadata"]["labels"]["velero.io/backup-name"],
        label
    );
}
