//! Whatever goes wrong after the create, nothing is left: not in the cluster, not in the storage.

use std::time::Duration;

use kube_api::{ControllerOptions, DriverError, Fault, Matcher, When, seed};
use velero_plugin_csi_fastpoll::action::ActionError;
use velero_plugin_csi_fastpoll::wait::Reason;

use crate::bench::{Bench, early, names, text};

const S: Duration = Duration::from_secs(1);

fn bench(options: ControllerOptions, policy: &str) -> Bench {
    let mut bench = Bench::with(early(), options, policy, Vec::new());
    bench.timeout("3s");
    bench
}

/// TE-3, F85, F89: both policies, a driver that answers a second after the time-out.
#[tokio::test(start_paused = true)]
async fn handle_comes_too_late_then_nothing_is_left() {
    for policy in ["Delete", "Retain"] {
        let bench = bench(ControllerOptions::default(), policy);
        bench.storage().latency(S * 4);
        let error = bench.execute().await.unwrap_err();
        assert!(matches!(error, ActionError::TimedOut { .. }), "{error}");
        bench.assert_nothing_left();
        assert!(
            bench.log.warnings().is_empty(),
            "{policy}: {:?}",
            bench.log.warnings()
        );
        assert_eq!(
            bench
                .log
                .saying("took the VolumeSnapshot and its content back")
                .len(),
            1
        );
    }
}

/// The snapshot-controller acts on the Retain that its cache still shows (W-12).
#[tokio::test(start_paused = true)]
async fn controller_acts_on_a_stale_retain_then_nothing_is_left() {
    let options = ControllerOptions {
        stale_cache: S * 2,
        ..ControllerOptions::default()
    };
    let bench = bench(options, "Retain");
    bench.storage().latency(S * 4);
    bench.execute().await.unwrap_err();
    bench.assert_nothing_left();
}

/// The content is written after the VolumeSnapshot was deleted (W-12, F87).
#[tokio::test(start_paused = true)]
async fn content_is_written_after_the_delete_then_nothing_is_left() {
    for policy in ["Delete", "Retain"] {
        let options = ControllerOptions {
            late_bind: Some(S * 4),
            ..ControllerOptions::default()
        };
        let bench = bench(options, policy);
        bench.storage().latency(S);
        bench.execute().await.unwrap_err();
        tokio::time::sleep(S * 10).await;
        bench.assert_nothing_left();
    }
}

/// A content without its finalizer would vanish while the driver is at work.
#[tokio::test(start_paused = true)]
async fn content_has_no_finalizer_yet_then_the_late_storage_snapshot_is_caught() {
    for policy in ["Delete", "Retain"] {
        let options = ControllerOptions {
            content_finalizer_delay: S * 20,
            ..ControllerOptions::default()
        };
        let bench = bench(options, policy);
        bench.storage().latency(S * 5);
        bench.execute().await.unwrap_err();
        tokio::time::sleep(S * 40).await;
        bench.assert_nothing_left();
    }
}

/// The csi-snapshotter looked too early and would look again only at its resync.
#[tokio::test(start_paused = true)]
async fn snapshotter_misses_its_own_mark_then_a_touch_makes_it_look_again() {
    let options = ControllerOptions {
        lost_requeue: true,
        ..ControllerOptions::default()
    };
    let bench = bench(options, "Delete");
    bench.storage().latency(S * 4);
    bench.execute().await.unwrap_err();
    bench.assert_nothing_left();
}

/// The storage cuts the snapshot although the driver's call was given up.
#[tokio::test(start_paused = true)]
async fn storage_cuts_late_then_nothing_is_left_in_the_end() {
    let options = ControllerOptions {
        csi_timeout: S * 2,
        ..ControllerOptions::default()
    };
    for policy in ["Delete", "Retain"] {
        let bench = bench(options.clone(), policy);
        let handle = seed::volume_handle("shop", "data");
        bench.storage().late_cut(
            &handle,
            DriverError::new("DeadlineExceeded", "context deadline exceeded"),
            S * 6,
        );
        bench.execute().await.unwrap_err();
        tokio::time::sleep(S * 120).await;
        bench.assert_nothing_left();
    }
}

/// A driver that hangs for ever holds the content; it is marked, named in one Warn, and goes when the driver is back.
#[tokio::test(start_paused = true)]
async fn driver_hangs_then_what_is_left_is_named_and_goes_when_the_driver_is_back() {
    for policy in ["Delete", "Retain"] {
        let bench = bench(ControllerOptions::default(), policy);
        bench.storage().hang();
        let error = bench.execute().await.unwrap_err();
        assert!(matches!(error, ActionError::TimedOut { .. }), "{error}");
        let warnings = bench.log.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let content = names(&bench.api, "volumesnapshotcontents")[0].clone();
        assert!(warnings[0].message.contains(&content), "{warnings:?}");
        bench.storage().release();
        tokio::time::sleep(S * 600).await;
        bench.assert_nothing_left();
    }
}

/// F85, W-13: what cannot be taken back is a Warn with the exact names, and the first error is the answer.
#[tokio::test(start_paused = true)]
async fn undo_is_forbidden_then_the_original_error_and_a_warning_with_the_names() {
    let bench = bench(ControllerOptions::default(), "Delete");
    bench.storage().hang();
    bench.api.fault(
        Matcher::on("delete", "volumesnapshots"),
        Fault::forbidden(),
        When::ALWAYS,
    );
    let error = bench.execute().await.unwrap_err();
    assert!(matches!(error, ActionError::TimedOut { .. }), "{error}");
    let name = bench.snapshot()["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let warning = bench.log.warnings().pop().unwrap();
    assert!(
        warning
            .message
            .contains(&format!("VolumeSnapshot shop/{name}")),
        "{warning}"
    );
    assert!(warning.fields["error"].contains("forbidden"), "{warning}");
    assert_eq!(bench.log.errors(), 1);
}

/// Trouble during the undo is waited out.
#[tokio::test(start_paused = true)]
async fn api_server_is_away_during_the_undo_then_it_is_finished_afterwards() {
    let bench = bench(ControllerOptions::default(), "Retain");
    bench.storage().latency(S * 4);
    bench.api.fault(
        Matcher::any(),
        Fault::Refuse,
        When::between(S * 3 + S / 2, S * 15),
    );
    bench.execute().await.unwrap_err();
    bench.assert_nothing_left();
}

/// F91: a VolumeSnapshot of the same name that is not ours stays.
#[tokio::test(start_paused = true)]
async fn another_snapshot_took_the_name_then_it_is_spared() {
    let bench = bench(ControllerOptions::default(), "Delete");
    bench.storage().hang();
    let stranger = async {
        tokio::time::sleep(S / 2).await;
        let mut object = bench.snapshot();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        bench.api.remove("volumesnapshots", "shop", &name);
        object["metadata"]["uid"] = "another".into();
        object["metadata"]["resourceVersion"] = serde_json::Value::Null;
        bench.api.put(object).unwrap();
    };
    let (result, ()) = tokio::join!(bench.execute(), stranger);
    let error = result.map_err(|error| text(&error)).unwrap_err();
    assert!(error.contains("another one has its name now"), "{error}");
    assert_eq!(bench.snapshot()["metadata"]["uid"], "another");
    assert!(
        bench.snapshot()["metadata"]
            .get("deletionTimestamp")
            .is_none()
    );
}

/// F93: nobody reads the answer, so the snapshot is taken back at once.
#[tokio::test(start_paused = true)]
async fn caller_goes_away_during_the_wait_then_nothing_is_left() {
    let bench = bench(ControllerOptions::default(), "Retain");
    bench.storage().latency(S * 2);
    let leave = async {
        tokio::time::sleep(S + S / 2).await;
        bench.caller.cancel();
    };
    let (result, ()) = tokio::join!(bench.execute(), leave);
    assert!(matches!(
        result,
        Err(ActionError::Interrupted(Reason::CallerGone))
    ));
    bench.assert_nothing_left();
}

/// T10: Velero kills the process 2 s after Shutdown; by then what can be taken back is, and the rest is named.
#[tokio::test(start_paused = true)]
async fn process_is_told_to_stop_then_execute_is_back_within_one_and_a_half_seconds() {
    for hangs in [false, true] {
        let bench = bench(ControllerOptions::default(), "Delete");
        if hangs {
            bench.storage().hang();
        } else {
            bench.storage().latency(S * 2);
        }
        let stop = async {
            tokio::time::sleep(S + S / 2).await;
            bench.stop.cancel();
        };
        let (result, ()) = tokio::join!(bench.execute(), stop);
        assert!(matches!(
            result,
            Err(ActionError::Interrupted(Reason::Stop))
        ));
        assert!(bench.api.elapsed() <= S * 3, "{:?}", bench.api.elapsed());
        assert_eq!(
            bench.log.warnings().len(),
            usize::from(hangs),
            "{:?}",
            bench.log.warnings()
        );
        bench.storage().release();
        tokio::time::sleep(S * 600).await;
        bench.assert_nothing_left();
    }
}

/// P-21: a panic in the middle of a wait leaves nothing behind either.
#[tokio::test(start_paused = true)]
async fn panic_in_the_middle_of_the_wait_then_nothing_is_left() {
    let bench = bench(ControllerOptions::default(), "Retain");
    bench.storage().latency(S);
    let panic = Fault::AnswerWith(std::sync::Arc::new(|_| panic!("planted")));
    bench.api.fault(
        Matcher::on("get", "volumesnapshots"),
        panic,
        When::once().skip(1),
    );
    let execute = std::panic::AssertUnwindSafe(bench.execute());
    let result = futures::FutureExt::catch_unwind(execute).await;
    assert!(result.is_err(), "the wire answers panics");
    bench.assert_nothing_left();
}

/// An answer that nobody read is taken back as well.
#[tokio::test(start_paused = true)]
async fn answer_that_nobody_reads_then_it_is_taken_back() {
    let bench = Bench::with(early(), ControllerOptions::default(), "Retain", Vec::new());
    let answer = bench.execute().await.unwrap();
    bench
        .action
        .take_back(
            &answer,
            &velero_plugin_csi_fastpoll::wait::Interrupt::default(),
        )
        .await;
    bench.assert_nothing_left();
}

/// Nobody reads a second answer, but the first one was read: its VolumeSnapshot stays.
#[tokio::test(start_paused = true)]
async fn second_answer_that_nobody_reads_then_the_first_one_holds() {
    let bench = Bench::with(early(), ControllerOptions::default(), "Delete", Vec::new());
    bench.execute().await.unwrap();
    let second = bench.execute().await.unwrap();
    bench
        .action
        .take_back(
            &second,
            &velero_plugin_csi_fastpoll::wait::Interrupt::default(),
        )
        .await;
    tokio::time::sleep(S * 60).await;
    assert_eq!(bench.snapshot()["metadata"].get("deletionTimestamp"), None);
    assert_eq!(bench.storage().handles().len(), 1);
}

/// The create's answer was lost and the API server stays away: the undo finds the snapshot by its name.
#[tokio::test(start_paused = true)]
async fn create_is_lost_and_never_settled_then_the_undo_still_finds_it() {
    let bench = bench(ControllerOptions::default(), "Retain");
    bench.storage().latency(S / 2);
    bench.api.fault(
        Matcher::on("create", "volumesnapshots"),
        Fault::lost_answer(),
        When::once(),
    );
    bench.api.fault(
        Matcher::resource("volumesnapshots").and_verb("get"),
        Fault::Refuse,
        When::ALWAYS.until(S * 35),
    );
    bench.api.fault(
        Matcher::on("create", "volumesnapshots"),
        Fault::Refuse,
        When::ALWAYS,
    );
    let error = bench.execute().await.unwrap_err();
    assert!(matches!(error, ActionError::Patience { .. }), "{error}");
    bench.assert_nothing_left();
}

/// The create hangs, the caller leaves, and the VolumeSnapshot arrives when the undo has already missed it once.
#[tokio::test(start_paused = true)]
async fn create_arrives_while_the_undo_looks_then_it_is_taken_back() {
    let bench = bench(ControllerOptions::default(), "Retain");
    bench.api.fault(
        Matcher::on("create", "volumesnapshots"),
        Fault::Slow(S * 2),
        When::once(),
    );
    let leave = async {
        tokio::time::sleep(S).await;
        bench.caller.cancel();
        let create = bench
            .api
            .requests()
            .into_iter()
            .find(|request| request.verb == "create")
            .unwrap();
        tokio::time::sleep(S).await;
        bench.api.put(create.body).unwrap();
    };
    let (result, ()) = tokio::join!(bench.execute(), leave);
    assert!(matches!(
        result,
        Err(ActionError::Interrupted(Reason::CallerGone))
    ));
    tokio::time::sleep(S * 10).await;
    bench.assert_nothing_left();
}

/// A restarted API server refuses the undo for a while, and then grants it.
#[tokio::test(start_paused = true)]
async fn undo_is_refused_by_an_api_server_that_comes_up_then_it_goes_on() {
    for refusal in [Fault::forbidden(), Fault::unauthorized()] {
        let bench = bench(ControllerOptions::default(), "Retain");
        bench.storage().latency(S * 4);
        let when = When::between(S * 3 + S / 2, S * 10);
        bench
            .api
            .fault(Matcher::resource("/readyz"), Fault::unavailable(), when);
        bench.api.fault(Matcher::verb("get"), refusal.clone(), when);
        bench.api.fault(Matcher::verb("delete"), refusal, when);
        bench.execute().await.unwrap_err();
        bench.assert_nothing_left();
    }
}

/// What an earlier call has answered with belongs to Velero: a later call that fails leaves it.
#[tokio::test(start_paused = true)]
async fn second_call_for_an_answered_pvc_fails_then_the_first_answer_holds() {
    let bench = bench(ControllerOptions::default(), "Delete");
    bench.execute().await.unwrap();
    bench.api.fault(
        Matcher::on("get", "volumesnapshots"),
        Fault::unavailable(),
        When::ALWAYS,
    );
    bench.execute().await.unwrap_err();
    tokio::time::sleep(S * 60).await;
    assert_eq!(bench.snapshot()["metadata"].get("deletionTimestamp"), None);
    assert_eq!(bench.storage().handles().len(), 1);
}

/// A call that waits for its turn hears its caller leave.
#[tokio::test(start_paused = true)]
async fn caller_leaves_while_another_call_has_the_turn_then_it_is_back_at_once() {
    let bench = Bench::new(early());
    bench.storage().latency(S * 60);
    let first = bench.execute();
    let second = async {
        tokio::time::sleep(S).await;
        let caller = tokio_util::sync::CancellationToken::new();
        let interrupt =
            velero_plugin_csi_fastpoll::wait::Interrupt::new(bench.stop.clone(), caller.clone());
        let call = bench.action.execute(
            bench.pvc.clone().into(),
            bench.backup.to_string().into(),
            &interrupt,
        );
        let leave = async {
            tokio::time::sleep(S * 5).await;
            caller.cancel();
        };
        let (result, ()) = tokio::join!(call, leave);
        (result, bench.api.elapsed())
    };
    let (first, (second, back)) = tokio::join!(first, second);
    assert!(matches!(second, Err(ActionError::Interrupted(_))));
    assert!(back < S * 7, "{back:?}");
    first.unwrap();
}
