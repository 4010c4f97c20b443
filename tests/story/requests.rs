//! What one PVC costs the API server.

use std::time::Duration;

use kube_api::seed;
use velero_plugin_csi_fastpoll::model::settings::Settings;

use crate::bench::{Bench, DRIVER, early};

const CUSTOM: &str = "version: v1
volumePolicies:
- conditions: {csi: {driver: csi.example.com}}
  action: {type: custom, parameters: {handler: velero-plugin-csi-fastpoll}}
";

/// The aim is 7 for the first PVC of a backup and 5 for each further one, with a handle at the first look.
#[tokio::test(start_paused = true)]
async fn policy_custom_and_a_handle_at_once_then_six_requests_for_the_first_pvc_and_four_for_the_next()
 {
    let mut bench = Bench::new(early());
    bench.policy(CUSTOM);
    bench.api.fault(
        kube_api::Matcher::on("get", "volumesnapshots"),
        kube_api::Fault::Slow(Duration::from_millis(5)),
        kube_api::When::ALWAYS,
    );
    let second = seed::csi_volume(&bench.api, "shop", "logs", DRIVER, "1Gi").json;

    bench.execute().await.unwrap();
    let first: Vec<String> = bench
        .api
        .requests()
        .iter()
        .map(|request| format!("{} {}", request.verb, request.resource))
        .collect();
    let mut sorted = first.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "create volumesnapshots",
            "get configmaps",
            "get persistentvolumes",
            "get volumesnapshotcontents",
            "get volumesnapshots",
            "list volumesnapshotclasses",
        ]
    );

    bench.api.clear_requests();
    bench.execute_item(second.into_bytes()).await.unwrap();
    let next: usize = bench.counts().values().sum();
    assert_eq!(next, 4, "{:?}", bench.counts());
}

/// A look before the VolumeSnapshot is bound is one request, afterwards two.
#[tokio::test(start_paused = true)]
async fn handle_after_seven_seconds_then_two_requests_a_look() {
    let bench = Bench::new(early());
    bench.storage().latency(Duration::from_secs(7));
    bench.execute().await.unwrap();
    let counts = bench.counts();
    assert_eq!(counts["get volumesnapshots"], 8);
    assert!(counts["get volumesnapshotcontents"] <= 8);
    assert_eq!(counts["create volumesnapshots"], 1);
}

/// F99: pods are listed once per backup and namespace, classes once per backup.
#[tokio::test(start_paused = true)]
async fn many_pvcs_of_one_namespace_then_pods_and_classes_are_listed_once() {
    let bench = Bench::new(Settings::default());
    for number in 0..20 {
        let volume = seed::csi_volume(&bench.api, "shop", &format!("v{number}"), DRIVER, "1Gi");
        bench.execute_item(volume.json.into_bytes()).await.unwrap();
    }
    let counts = bench.counts();
    assert_eq!(counts["list pods"], 1);
    assert_eq!(counts["list volumesnapshotclasses"], 1);
}

/// F03: our own limits queue requests and never fail a wait.
#[tokio::test(start_paused = true)]
async fn ten_executes_with_a_tight_client_limit_then_all_succeed() {
    let bench = Bench::new(Settings {
        client_qps: 5.0,
        client_burst: 10,
        ..early()
    });
    bench.storage().latency(Duration::from_millis(1200));
    let items: Vec<String> = (0..10)
        .map(|n| seed::csi_volume(&bench.api, "shop", &format!("v{n}"), DRIVER, "1Gi").json)
        .collect();
    let waits = items
        .into_iter()
        .map(|item| bench.execute_item(item.into_bytes()));
    let results = futures::future::join_all(waits).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(bench.log.errors(), 0);
    assert_eq!(bench.log.warnings().len(), 0);
}

/// The connection and the classes are there before anything is frozen, and nobody waits for them.
#[tokio::test(start_paused = true)]
async fn warm_up_then_the_first_pvc_needs_no_list_of_classes() {
    let bench = Bench::new(early());
    bench.action.warm_up();
    tokio::time::sleep(Duration::from_millis(10)).await;
    bench.api.clear_requests();
    bench.execute().await.unwrap();
    assert!(!bench.counts().contains_key("list volumesnapshotclasses"));
}

/// PVCs of one backup run beside each other, also where a harness sends them without UIDs.
#[tokio::test(start_paused = true)]
async fn many_executes_at_once_then_they_take_as_long_as_one() {
    for with_uid in [true, false] {
        let bench = Bench::new(early());
        bench.storage().latency(Duration::from_millis(1200));
        let items: Vec<String> = (0..8)
            .map(|n| {
                let json =
                    seed::csi_volume(&bench.api, "shop", &format!("v{n}"), DRIVER, "1Gi").json;
                let mut item: serde_json::Value = serde_json::from_str(&json).unwrap();
                if !with_uid {
                    item["metadata"]["uid"] = "".into();
                }
                item.to_string()
            })
            .collect();
        let waits = items
            .into_iter()
            .map(|item| bench.execute_item(item.into_bytes()));
        let results = futures::future::join_all(waits).await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert!(
            bench.api.elapsed() < Duration::from_millis(2100),
            "{:?}",
            bench.api.elapsed()
        );
    }
}
