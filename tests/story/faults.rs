//! Trouble that passes, trouble that does not, and the words for both.

use std::time::Duration;

use kube_api::{Fault, Matcher, When, seed};
use serde_json::json;
use velero_plugin_csi_fastpoll::action::ActionError;
use velero_plugin_csi_fastpoll::error::ErrorKind;
use velero_plugin_csi_fastpoll::model::settings::Settings;

use crate::bench::{Bench, DRIVER, early, names, text};

const S: Duration = Duration::from_secs(1);

fn transient() -> Vec<(&'static str, Fault)> {
    vec![
        ("429", Fault::too_many_requests(1)),
        ("500", Fault::internal("etcdserver: leader changed")),
        ("500 {}", Fault::empty_500()),
        (
            "502",
            Fault::raw(502, "text/html", "<html>bad gateway</html>"),
        ),
        ("503", Fault::unavailable()),
        ("504", Fault::gateway_timeout()),
        ("plain 404", Fault::plain_404()),
        ("refused", Fault::Refuse),
        ("reset", Fault::Reset),
        ("cut", Fault::Cut),
        ("slow", Fault::Slow(S * 30)),
        (
            "garbage",
            Fault::raw(200, "application/json", "{\"kind\": 7"),
        ),
    ]
}

/// W-3, F06, F09: one bad answer, or many, never end the wait, neither of the VolumeSnapshot nor of its content.
#[tokio::test(start_paused = true)]
async fn transient_error_during_the_wait_then_the_snapshot_succeeds() {
    for resource in ["volumesnapshots", "volumesnapshotcontents"] {
        for (what, fault) in transient() {
            let bench = Bench::new(early());
            bench.storage().latency(S * 4);
            bench
                .api
                .fault(Matcher::on("get", resource), fault, When::times(2));
            bench
                .execute()
                .await
                .unwrap_or_else(|error| panic!("{what} on {resource}: {error}"));
            assert_eq!(bench.log.errors(), 0, "{what}");
            assert!(
                bench.log.warnings().is_empty(),
                "{what}: {:?}",
                bench.log.warnings()
            );
        }
    }
}

/// The same before the create: each read is repeated.
#[tokio::test(start_paused = true)]
async fn transient_error_of_a_read_before_the_create_then_the_snapshot_succeeds() {
    let reads = [
        ("get", "persistentvolumes"),
        ("list", "volumesnapshotclasses"),
        ("list", "pods"),
    ];
    for (verb, resource) in reads {
        for (what, fault) in transient() {
            let bench = Bench::new(early());
            bench
                .api
                .fault(Matcher::on(verb, resource), fault, When::times(2));
            bench
                .execute()
                .await
                .unwrap_or_else(|error| panic!("{what} on {verb} {resource}: {error}"));
            assert_eq!(names(&bench.api, "volumesnapshots").len(), 1);
        }
    }
}

/// Patience before the create ends after 30 s, with the last trouble in the text, and nothing was written.
#[tokio::test(start_paused = true)]
async fn reads_fail_for_ever_then_execute_gives_up_after_30_seconds() {
    let bench = Bench::new(early());
    bench.api.fault(
        Matcher::on("get", "persistentvolumes"),
        Fault::unavailable(),
        When::ALWAYS,
    );
    let error = bench.execute().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(text(&error).contains("apiserver not ready"), "{error}");
    assert!(bench.api.elapsed() <= S * 32, "{:?}", bench.api.elapsed());
    assert_eq!(bench.writes(), 0);
    assert_eq!(bench.log.errors(), 1);
}

/// A create that was answered with trouble is settled by its name: there is one VolumeSnapshot, and the backup succeeds.
#[tokio::test(start_paused = true)]
async fn create_whose_answer_is_lost_then_exactly_one_snapshot_is_made() {
    let lost = [
        Fault::lost_answer(),
        Fault::Cut,
        Fault::gateway_timeout().after_write(),
        Fault::internal("etcdserver: leader changed").after_write(),
        Fault::Slow(S * 20).after_write(),
        Fault::internal("etcdserver: leader changed"),
        Fault::Refuse,
        Fault::unavailable(),
        Fault::too_many_requests(1),
        Fault::plain_404(),
    ];
    for fault in lost {
        let bench = Bench::new(early());
        let what = format!("{fault:?}");
        bench.api.fault(
            Matcher::on("create", "volumesnapshots"),
            fault,
            When::times(2),
        );
        bench
            .execute()
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        bench.snapshot();
        assert_eq!(bench.log.errors(), 0, "{what}");
    }
}

/// F90, F106: a create's 403 is a quota or a terminating namespace as often as not, and is final.
#[tokio::test(start_paused = true)]
async fn create_is_forbidden_then_it_fails_at_once_with_the_reason() {
    let bench = Bench::new(early());
    bench.api.fault(
        Matcher::on("create", "volumesnapshots"),
        Fault::quota_exceeded("snapshots", 5),
        When::ALWAYS,
    );
    let error = bench.execute().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(
        text(&error).contains("exceeded quota: snapshots"),
        "{error}"
    );
    assert_eq!(bench.requests("create", "volumesnapshots").len(), 1);
    assert!(bench.api.elapsed() < S);

    let bench = Bench::new(early());
    bench.api.terminate_namespace("shop");
    let error = bench
        .execute()
        .await
        .map_err(|error| text(&error))
        .unwrap_err();
    assert!(error.contains("being terminated"), "{error}");
    assert_eq!(bench.requests("create", "volumesnapshots").len(), 1);
}

/// A restarted API server answers 403 until RBAC is primed; it is not ready meanwhile.
#[tokio::test(start_paused = true)]
async fn forbidden_while_the_api_server_is_not_ready_then_the_wait_goes_on() {
    let bench = Bench::new(early());
    bench.storage().latency(S * 8);
    bench.api.fault(
        Matcher::on("get", "volumesnapshots"),
        Fault::forbidden(),
        When::times(3),
    );
    bench.api.fault(
        Matcher::resource("/readyz"),
        Fault::unavailable(),
        When::times(3),
    );
    bench.execute().await.unwrap();
    assert_eq!(bench.log.errors(), 0);
}

/// F104: a real denial is not waited for until the timeout, and says what is missing.
#[tokio::test(start_paused = true)]
async fn forbidden_while_the_api_server_is_ready_then_the_wait_ends_with_the_permission_that_is_missing()
 {
    let bench = Bench::new(early());
    bench.storage().latency(S * 8);
    bench.api.fault(
        Matcher::on("get", "volumesnapshotcontents"),
        Fault::forbidden(),
        When::ALWAYS,
    );
    let error = bench.execute().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(
        text(&error).contains("cannot get resource \"volumesnapshotcontents\""),
        "{error}"
    );
    // One 403, a server that calls itself ready, one more 403: the same look settles it.
    let requests = bench.api.requests();
    let wait = requests
        .iter()
        .take_while(|request| request.verb != "delete");
    assert_eq!(
        wait.filter(|request| request.resource == "/readyz").count(),
        1
    );
    let ended = bench.requests("delete", "volumesnapshots")[0] - bench.created_at();
    assert!(ended <= S, "{ended:?}");
    assert_eq!(bench.log.errors(), 1);
}

/// A server that never becomes ready does not hold a 403 for longer than 15 s.
#[tokio::test(start_paused = true)]
async fn forbidden_and_never_ready_then_the_grace_ends_after_15_seconds() {
    let bench = Bench::new(early());
    bench.storage().hang();
    bench.api.set_readyz(500);
    bench.api.fault(
        Matcher::on("get", "volumesnapshots"),
        Fault::forbidden(),
        When::times(1_000).until(S * 60),
    );
    let error = bench.execute().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let ended = bench.requests("delete", "volumesnapshots")[0] - bench.created_at();
    assert!((S * 15..S * 21).contains(&ended), "{ended:?}");
}

/// F110: a rotated token is refused for up to a minute.
#[tokio::test(start_paused = true)]
async fn unauthorized_for_a_minute_then_the_wait_goes_on() {
    let mut bench = Bench::new(early());
    bench.timeout("5m");
    bench.storage().latency(S * 90);
    bench.api.fault(
        Matcher::verb("get"),
        Fault::unauthorized(),
        When::between(S * 5, S * 65),
    );
    bench.execute().await.unwrap();
    assert_eq!(bench.log.errors(), 0);
}

#[tokio::test(start_paused = true)]
async fn unauthorized_for_ever_then_the_wait_ends_after_75_seconds() {
    let mut bench = Bench::new(early());
    bench.timeout("30m");
    bench.storage().hang();
    bench.api.fault(
        Matcher::verb("get"),
        Fault::unauthorized(),
        When::ALWAYS.from(S),
    );
    let error = bench.execute().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let asked = bench.requests("delete", "volumesnapshots")[0];
    assert!((S * 75..S * 85).contains(&asked), "{asked:?}");
}

/// F24: somebody deleted it; no wait to the timeout, no second create, and a hint at who might have been it.
#[tokio::test(start_paused = true)]
async fn snapshot_deleted_by_somebody_else_then_the_wait_ends_with_its_labels() {
    let bench = Bench::new(early());
    bench.storage().hang();
    let remover = async {
        tokio::time::sleep(S * 3 + S / 2).await;
        let name = bench.snapshot()["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        bench.api.delete("volumesnapshots", "shop", &name);
    };
    let (result, ()) = tokio::join!(bench.execute(), remover);
    let error = result.unwrap_err();
    assert!(
        text(&error).contains("was deleted by somebody else"),
        "{error}"
    );
    assert!(text(&error).contains("velero.io/backup-uid"), "{error}");
    assert_eq!(bench.looks()[..5], [0., 1., 2., 3., 4.]);
    assert_eq!(bench.requests("create", "volumesnapshots").len(), 1);
}

/// TW-2: a content that is gone is not waited for.
#[tokio::test(start_paused = true)]
async fn content_deleted_by_somebody_else_then_the_wait_ends() {
    let bench = Bench::new(early());
    bench.storage().hang();
    let remover = async {
        tokio::time::sleep(S * 2 + S / 2).await;
        bench.snapshotter.stop();
        let name = names(&bench.api, "volumesnapshotcontents")[0].clone();
        bench.api.remove("volumesnapshotcontents", "", &name);
    };
    let (result, ()) = tokio::join!(bench.execute(), remover);
    let error = result.map_err(|error| text(&error)).unwrap_err();
    assert!(
        error.starts_with("VolumeSnapshotContent snapcontent-"),
        "{error}"
    );
}

/// F11: an error that the driver reports and then gets over.
#[tokio::test(start_paused = true)]
async fn driver_fails_and_then_succeeds_then_success_with_at_most_one_warning() {
    let bench = Bench::new(early());
    bench.storage().latency(S);
    bench.storage().fail(3, "rate exceeded");
    bench.execute().await.unwrap();
    assert_eq!(bench.log.errors(), 0);
    assert!(
        bench.log.warnings().len() <= 1,
        "{:?}",
        bench.log.warnings()
    );
    let mut said: Vec<String> = bench
        .log
        .saying("rate exceeded")
        .into_iter()
        .map(|line| line.fields["error"].clone())
        .collect();
    let lines = said.len();
    said.dedup();
    assert!(lines > 0 && lines == said.len(), "{said:?}");
}

/// F11, F14, F17: the same long error until the timeout is logged once, warned of once, and is in the final text.
#[tokio::test(start_paused = true)]
async fn driver_fails_until_the_timeout_then_its_words_are_in_the_error() {
    let mut bench = Bench::new(early());
    let message = format!("no space left\n\t\"pool\" %!q(<nil>) {}", "x".repeat(3_000));
    bench.storage().fail(1_000, &message);
    bench.timeout("60s");
    let error = bench.execute().await.unwrap_err();
    let text = text(&error);
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(text.contains("VolumeSnapshotContent error:"), "{text}");
    assert_eq!(text.matches("no space left").count(), 1, "{text}");
    assert!(!text.contains('\n') && text.len() < 5_000);
    assert_eq!(bench.log.errors(), 1);
    assert_eq!(bench.log.warnings().len(), 1, "{:?}", bench.log.warnings());
    assert_eq!(
        bench
            .log
            .of(tracing::Level::INFO)
            .iter()
            .filter(|l| l.to_string().contains("reports an error"))
            .count(),
        2,
        "one for each of the csi-snapshotter's two wordings"
    );
}

/// F11, third variant: only the VolumeSnapshot carries an error, and no content ever comes.
#[tokio::test(start_paused = true)]
async fn only_the_snapshot_carries_an_error_then_it_is_in_the_text() {
    let mut bench = Bench::new(early());
    bench.snapshotter.stop();
    bench.timeout("12s");
    let marker = async {
        tokio::time::sleep(S).await;
        let name = bench.snapshot()["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        bench.api.edit("volumesnapshots", "shop", &name, |object| {
            object["status"] =
                json!({"error": {"message": "class gold has no driver"}, "readyToUse": false});
        });
    };
    let (result, ()) = tokio::join!(bench.execute(), marker);
    let error = result.map_err(|error| text(&error)).unwrap_err();
    assert!(
        error.contains("VolumeSnapshot error: class gold has no driver"),
        "{error}"
    );
    assert!(
        error.contains("class gold, driver csi.example.com"),
        "{error}"
    );
}

/// F13: an error without a message is no panic.
#[tokio::test(start_paused = true)]
async fn error_without_a_message_then_words_for_it() {
    for value in [
        json!({}),
        json!({"time": "2026-01-01T00:00:00Z"}),
        json!({"message": ""}),
        json!({"message": null}),
    ] {
        let mut bench = Bench::new(early());
        bench.storage().hang();
        bench.timeout("12s");
        let marker = async {
            tokio::time::sleep(S).await;
            let name = names(&bench.api, "volumesnapshotcontents")[0].clone();
            bench
                .api
                .edit("volumesnapshotcontents", "", &name, |object| {
                    object["status"] = json!({"error": value});
                });
        };
        let (result, ()) = tokio::join!(bench.execute(), marker);
        let error = result.map_err(|error| text(&error)).unwrap_err();
        assert!(
            error.contains("VolumeSnapshotContent error: error without message"),
            "{error}"
        );
    }
}

/// F16: a handle beats an error that stays beside it; inside the early window the error gets time to go away first.
#[tokio::test(start_paused = true)]
async fn handle_beside_an_error_then_the_handle_wins_when_the_early_window_ends() {
    let bench = Bench::new(early());
    bench.storage().hang();
    let marker = async {
        tokio::time::sleep(S * 2 + S / 2).await;
        let name = names(&bench.api, "volumesnapshotcontents")[0].clone();
        bench.api.edit("volumesnapshotcontents", "", &name, |object| {
            object["status"] =
                json!({"snapshotHandle": "snap-1", "readyToUse": false, "error": {"message": "slow upload"}});
        });
    };
    let (result, ()) = tokio::join!(bench.execute(), marker);
    result.unwrap();
    assert_eq!(bench.looks().last(), Some(&10.));
    assert_eq!(bench.log.errors(), 0);
    assert!(
        bench
            .log
            .saying("slow upload")
            .iter()
            .any(|line| line.level == tracing::Level::WARN)
    );
}

/// F22: an empty handle is none.
#[tokio::test(start_paused = true)]
async fn empty_handle_then_the_wait_goes_on() {
    let mut bench = Bench::new(early());
    bench.storage().hang();
    bench.timeout("5s");
    let marker = async {
        tokio::time::sleep(S + S / 2).await;
        bench.snapshotter.stop();
        let name = names(&bench.api, "volumesnapshotcontents")[0].clone();
        bench
            .api
            .edit("volumesnapshotcontents", "", &name, |object| {
                object["status"] = json!({"snapshotHandle": "", "readyToUse": true});
            });
    };
    let (result, ()) = tokio::join!(bench.execute(), marker);
    assert!(
        matches!(result, Err(ActionError::TimedOut { .. })),
        "{result:?}"
    );
}

/// F15: nobody touches the VolumeSnapshot.
#[tokio::test(start_paused = true)]
async fn no_snapshot_controller_then_one_warning_long_before_the_timeout() {
    let mut bench = Bench::new(early());
    bench.snapshotter.stop();
    bench.timeout("2m");
    let error = bench
        .execute()
        .await
        .map_err(|error| text(&error))
        .unwrap_err();
    assert!(
        error.contains("the snapshot-controller to pick up VolumeSnapshot shop/velero-data-"),
        "{error}"
    );
    let warnings = bench.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0]
            .message
            .contains("is a snapshot-controller running")
    );
    assert_eq!(warnings[0].fields["elapsed"], "30s");
    bench.assert_nothing_left();
}

/// F100: a call that ends badly does not spoil the shared client for the next one.
#[tokio::test(start_paused = true)]
async fn one_execute_times_out_then_the_next_one_succeeds() {
    let mut bench = Bench::new(early());
    bench.storage().hang();
    bench.timeout("3s");
    let other = seed::csi_volume(&bench.api, "shop", "logs", DRIVER, "1Gi").json;
    let releaser = async {
        tokio::time::sleep(S * 4).await;
        bench.storage().release();
    };
    let (result, ()) = tokio::join!(bench.execute(), releaser);
    result.unwrap_err();
    bench.execute_item(other.into_bytes()).await.unwrap();
}

/// a PV that does not exist is not waited for.
#[tokio::test(start_paused = true)]
async fn volume_does_not_exist_then_an_error_at_once() {
    let bench = Bench::new(Settings::default());
    let pv = names(&bench.api, "persistentvolumes")[0].clone();
    bench.api.remove("persistentvolumes", "", &pv);
    let error = bench
        .execute()
        .await
        .map_err(|error| text(&error))
        .unwrap_err();
    assert!(
        error.starts_with(&format!("failed to get PV {pv} for PVC shop/data: ")),
        "{error}"
    );
    assert!(bench.api.elapsed() < S);
}

/// A handle beats any error, also one that comes after it: it was seen beside an error, and then the API server left.
#[tokio::test(start_paused = true)]
async fn api_server_leaves_after_a_handle_was_seen_beside_an_error_then_the_handle_is_answered() {
    let mut bench = Bench::new(early());
    bench.timeout("20s");
    bench.storage().hang();
    let marker = async {
        tokio::time::sleep(S * 2 + S / 2).await;
        let name = names(&bench.api, "volumesnapshotcontents")[0].clone();
        bench.api.edit("volumesnapshotcontents", "", &name, |object| {
            object["status"] =
                json!({"snapshotHandle": "snap-1", "readyToUse": false, "error": {"message": "slow upload"}});
        });
        tokio::time::sleep(S).await;
        bench.api.fault(Matcher::any(), Fault::Refuse, When::ALWAYS);
    };
    let (result, ()) = tokio::join!(bench.execute(), marker);
    result.unwrap();
    assert_eq!(bench.log.errors(), 0);
}
