//! What an operator reads: one line per decision and object, levels as the contract with Velero.

use serde_json::json;
use tracing::Level;
use velero_plugin_csi_fastpoll::model::settings::{BadSetting, Settings};

use crate::bench::{Bench, DRIVER, early, text};

/// F23, F39, F115: everything to find the snapshot again.
#[tokio::test(start_paused = true)]
async fn snapshot_succeeds_then_one_line_per_backup_and_one_per_pvc_and_nothing_that_velero_counts()
{
    let bench = Bench::new(early());
    bench.execute().await.unwrap();
    bench.execute().await.unwrap();
    let intro = bench.log.saying("takes part in this backup");
    assert_eq!(intro.len(), 1);
    assert_eq!(intro[0].fields["early"], "on");
    assert_eq!(intro[0].fields["early_from"], "VELERO_CSI_EARLY_FAST_POLL");
    assert_eq!(intro[0].fields["version"], env!("CARGO_PKG_VERSION"));
    let cut = &bench.log.saying("the storage has cut the snapshot")[0];
    let snapshot = bench.snapshot();
    assert_eq!(cut.fields["volume_snapshot"], snapshot["metadata"]["name"]);
    assert_eq!(
        cut.fields["content"],
        snapshot["status"]["boundVolumeSnapshotContentName"]
    );
    assert_eq!(cut.fields["class"], "gold");
    assert!(!cut.fields["class_by"].is_empty());
    for field in ["handle", "bound_after", "handle_after", "elapsed"] {
        assert!(cut.fields.contains_key(field), "{field}");
    }
    assert_eq!(bench.log.errors() + bench.log.warnings().len(), 0);
}

/// F07, F17: 25 minutes of waiting are not 300 lines.
#[tokio::test(start_paused = true)]
async fn long_wait_then_a_line_every_thirty_seconds() {
    let options = kube_api::ControllerOptions {
        csi_timeout: std::time::Duration::from_secs(3600),
        ..Default::default()
    };
    let mut bench = Bench::with(early(), options, "Delete", Vec::new());
    bench.timeout("25m");
    bench
        .storage()
        .latency(std::time::Duration::from_secs(20 * 60));
    bench.execute().await.unwrap();
    let lines = bench.log.saying("waiting for the snapshot");
    assert!((38..=44).contains(&lines.len()), "{}", lines.len());
    assert!(bench.log.of(Level::WARN).is_empty());
}

/// No bad value stops anything; one Warn names them all.
#[tokio::test(start_paused = true)]
async fn bad_settings_then_one_warning_per_process_with_all_of_them() {
    let bad = vec![
        BadSetting::new("VELERO_CSI_EARLY_WINDOW", "ten", "a Go duration", "10s"),
        BadSetting::new("VELERO_CSI_POLL_INTERVAL", "-5s", "a Go duration", "5s"),
    ];
    let bench = Bench::with(
        early(),
        kube_api::ControllerOptions::default(),
        "Delete",
        bad,
    );
    bench.execute().await.unwrap();
    bench.execute().await.unwrap();
    let warnings = bench.log.warnings();
    assert_eq!(warnings.len(), 1);
    let text = warnings[0].to_string();
    assert!(
        text.contains("VELERO_CSI_EARLY_WINDOW") && text.contains("VELERO_CSI_POLL_INTERVAL"),
        "{text}"
    );
}

/// Design: the backup's annotations override the process-wide knobs; bad ones are a Warn and change nothing.
#[tokio::test(start_paused = true)]
async fn backup_annotations_then_they_override_the_settings_for_this_backup() {
    let mut bench = Bench::new(Settings::default());
    bench.storage().hang();
    bench.timeout("4s");
    bench.backup["metadata"]["annotations"]["velero-plugin-csi-fastpoll/early-fast-poll"] =
        json!("true");
    bench.backup["metadata"]["annotations"]["velero-plugin-csi-fastpoll/early-window"] =
        json!("2s");
    bench.backup["metadata"]["annotations"]["velero-plugin-csi-fastpoll/early-interval"] =
        json!("500ms");
    bench.backup["metadata"]["annotations"]["velero-plugin-csi-fastpoll/poll-interval"] =
        json!("soon");
    bench.execute().await.unwrap_err();
    let looks: Vec<f64> = bench.looks().into_iter().filter(|at| *at <= 4.).collect();
    assert_eq!(looks, [0., 0.5, 1., 1.5, 2., 4.]);
    assert_eq!(
        bench
            .log
            .saying("velero-plugin-csi-fastpoll/poll-interval")
            .len(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn execute_fails_then_exactly_one_error_line() {
    let bench = Bench::new(early());
    bench.api.remove("volumesnapshotclasses", "", "gold");
    let error = bench
        .execute()
        .await
        .map_err(|error| text(&error))
        .unwrap_err();
    let errors = bench.log.of(Level::ERROR);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].fields["error"], error);
}

/// The results of the backup show of a failed PVC only the text of its error, so that alone tells what is concerned.
#[tokio::test(start_paused = true)]
async fn driver_hangs_then_the_error_names_the_snapshot_its_content_and_the_driver() {
    let mut bench = Bench::new(early());
    bench.storage().hang();
    bench.timeout("4s");
    let error = bench
        .execute()
        .await
        .map_err(|error| text(&error))
        .unwrap_err();
    let created = &bench.log.saying("created the VolumeSnapshot")[0].fields["volume_snapshot"];
    for name in [created.as_str(), "snapcontent-", DRIVER] {
        assert!(error.contains(name), "{name} is not in {error}");
    }
}
