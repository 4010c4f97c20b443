//! When the plugin looks: the exact instant of each GET of the VolumeSnapshot.

use std::time::Duration;

use kube_api::{Fault, Matcher, When};
use serde_json::json;
use velero_plugin_csi_fastpoll::action::ActionError;
use velero_plugin_csi_fastpoll::model::settings::Settings;

use crate::bench::{Bench, early, text};

const MS: Duration = Duration::from_millis(1);

/// Runs until the time-out with a driver that never answers, and gives the instants of the looks.
async fn looks_of(mut bench: Bench, timeout: &str) -> (Vec<f64>, Duration) {
    bench.storage().hang();
    bench.timeout(timeout);
    let error = bench.execute().await.unwrap_err();
    assert!(matches!(error, ActionError::TimedOut { .. }), "{error}");
    let returned = bench.api.elapsed() - bench.created_at();
    (bench.looks(), returned)
}

/// Looks before the time-out, the last one included; those of the undo come later.
fn until(looks: &[f64], end: f64) -> Vec<f64> {
    looks.iter().copied().filter(|at| *at <= end).collect()
}

#[tokio::test(start_paused = true)]
async fn early_phase_on_then_looks_every_second_for_ten_seconds_and_every_five_afterwards() {
    let (looks, _) = looks_of(Bench::new(early()), "30s").await;
    let expected = [
        0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 15., 20., 25., 30.,
    ];
    assert_eq!(until(&looks, 30.), expected);
}

#[tokio::test(start_paused = true)]
async fn early_phase_off_then_looks_every_five_seconds() {
    let (looks, _) = looks_of(Bench::new(Settings::default()), "22s").await;
    assert_eq!(until(&looks, 22.), [0., 5., 10., 15., 20., 22.]);
}

/// F04: the early phase is inside the timeout, and no second early phase follows.
#[tokio::test(start_paused = true)]
async fn timeout_inside_the_window_then_one_deadline_holds() {
    let (looks, _) = looks_of(Bench::new(early()), "5s").await;
    assert_eq!(until(&looks, 5.), [0., 1., 2., 3., 4., 5.]);
    let (looks, _) = looks_of(Bench::new(early()), "10s").await;
    assert_eq!(
        until(&looks, 10.),
        [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.]
    );
}

#[tokio::test(start_paused = true)]
async fn timeout_shorter_than_the_first_interval_then_a_look_at_each_end() {
    let (looks, _) = looks_of(Bench::new(early()), "400ms").await;
    assert_eq!(until(&looks, 0.4), [0., 0.4]);
}

#[tokio::test(start_paused = true)]
async fn window_longer_than_the_timeout_then_the_deadline_wins() {
    let settings = Settings {
        early_window: Duration::from_secs(60),
        ..early()
    };
    let (looks, _) = looks_of(Bench::new(settings), "3s").await;
    assert_eq!(until(&looks, 3.), [0., 1., 2., 3.]);
}

#[tokio::test(start_paused = true)]
async fn other_window_and_intervals_then_they_hold() {
    let settings = Settings {
        early_window: 2500 * MS,
        early_interval: 1000 * MS,
        poll_interval: 2000 * MS,
        ..early()
    };
    let (looks, _) = looks_of(Bench::new(settings), "7s").await;
    assert_eq!(until(&looks, 7.), [0., 1., 2., 2.5, 4.5, 6.5, 7.]);
}

/// F05: absent and zero mean ten minutes.
#[tokio::test(start_paused = true)]
async fn no_timeout_in_the_backup_then_ten_minutes() {
    for value in [json!(null), json!("0s")] {
        let mut bench = Bench::new(Settings::default());
        bench.storage().hang();
        bench.backup["spec"]["csiSnapshotTimeout"] = value;
        let error = bench
            .execute()
            .await
            .map_err(|error| text(&error))
            .unwrap_err();
        assert!(
            error.starts_with("timed out after 10m0s waiting for driver csi.example.com"),
            "{error}"
        );
    }
}

/// Design: back by deadline + 31 s whatever hangs, here every request after the create.
#[tokio::test(start_paused = true)]
async fn everything_hangs_after_the_create_then_execute_is_back_by_the_deadline_and_31_seconds() {
    let mut bench = Bench::new(early());
    for verb in ["get", "delete", "patch"] {
        for resource in ["volumesnapshots", "volumesnapshotcontents"] {
            bench
                .api
                .fault(Matcher::on(verb, resource), Fault::Hang, When::ALWAYS);
        }
    }
    bench.timeout("20s");
    let error = bench.execute().await.unwrap_err();
    let back = bench.api.elapsed() - bench.created_at();
    assert!(matches!(error, ActionError::TimedOut { .. }), "{error}");
    assert!(back <= Duration::from_millis(51_001), "{back:?}");
    let warning = bench.log.warnings().last().unwrap().to_string();
    let name = bench.snapshot()["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(warning.contains(&format!("shop/{name}")), "{warning}");
}

/// A look that hangs is given up after 2 s, the next after 4, 8, 10; instants stay whole seconds and looks never overlap.
#[tokio::test(start_paused = true)]
async fn looks_that_hang_then_each_may_take_twice_as_long_and_instants_never_shift() {
    let mut bench = Bench::new(early());
    bench.api.fault(
        Matcher::on("get", "volumesnapshots"),
        Fault::Hang,
        When::ALWAYS,
    );
    bench.timeout("60s");
    bench.execute().await.unwrap_err();
    assert_eq!(until(&bench.looks(), 60.)[..5], [0., 3., 8., 20., 35.]);
}

/// A slow look never shifts or stacks the rest: the ticks that it covers are dropped.
#[tokio::test(start_paused = true)]
async fn slow_answer_then_later_looks_keep_their_instants() {
    let mut bench = Bench::new(early());
    bench.storage().hang();
    bench.api.fault(
        Matcher::on("get", "volumesnapshots"),
        Fault::Slow(1500 * MS),
        When::once().skip(2),
    );
    bench.timeout("6s");
    bench.execute().await.unwrap_err();
    assert_eq!(until(&bench.looks(), 6.), [0., 1., 2., 4., 5., 6.]);
}

#[tokio::test(start_paused = true)]
async fn handle_at_the_last_instant_then_the_last_look_finds_it() {
    let mut bench = Bench::new(Settings::default());
    bench.storage().latency(6990 * MS);
    bench.timeout("7s");
    let answer = bench.execute().await.unwrap();
    assert_eq!(answer.additional_items.len(), 1);
    assert_eq!(bench.looks(), [0., 5., 7.]);
}

/// The table of behaviour.md 10.1: when Execute returns for a handle at 0.3, 1.4 and 7 s.
#[tokio::test(start_paused = true)]
async fn handle_at_a_known_instant_then_execute_returns_at_the_next_look() {
    for (latency, early_end, slow_end) in [(300, 1., 5.), (1400, 2., 5.), (7000, 7., 10.)] {
        for (settings, end) in [(early(), early_end), (Settings::default(), slow_end)] {
            let bench = Bench::new(settings);
            bench.storage().latency(latency * MS);
            bench.execute().await.unwrap();
            assert_eq!(bench.looks().last(), Some(&end), "{latency} ms");
            assert!(
                bench.api.elapsed() - bench.created_at() < Duration::from_secs_f64(end + 0.001)
            );
        }
    }
}

/// F22: the handle is enough, readiness is for others to wait for.
#[tokio::test(start_paused = true)]
async fn handle_long_before_ready_to_use_then_execute_returns_at_the_handle() {
    let bench = Bench::new(early());
    bench.storage().latency(1900 * MS);
    bench.storage().ready_after(Duration::from_secs(300));
    bench.execute().await.unwrap();
    assert_eq!(bench.looks().last(), Some(&2.));
}
