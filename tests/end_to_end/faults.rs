//! Trouble on a real connection, through kube's whole stack (T15).
//!
//! A rotated token (F110) is proven against the in-memory service only: kube re-reads its file by the
//! wall clock, once in 50 s, which no test here waits for. That the file is used at all is below.

use std::time::Duration;

use kube_api::{Fault, Matcher, When};
use tonic::Code;

use crate::support::{PATIENCE, kill, within};
use crate::world::{World, counted, records, said};

/// T1: kube's own retries would send eight or nine POSTs in three seconds. Ours come a second apart, and each
/// looks first whether the last one did its work.
#[tokio::test]
async fn create_is_answered_with_trouble_twice_then_three_creates_a_second_apart() {
    for fault in [
        Fault::too_many_requests(1),
        Fault::unavailable(),
        Fault::gateway_timeout(),
    ] {
        let what = format!("{fault:?}");
        let world = World::new().await;
        let plugin = world.quick().serve().await.unwrap();
        let creates = Matcher::on("create", "volumesnapshots");
        world.api.fault(creates.clone(), fault, When::times(2));
        world.execute(&plugin).await.unwrap();

        let read = world.seen("get", "persistentvolumes", 1).await.remove(0);
        let creates = world.api.requests_matching(&creates);
        assert_eq!(creates.len(), 3, "{what}");
        // The volume was read before the first create was due.
        for (number, create) in (0..).zip(&creates) {
            let due = read.at + Duration::from_secs(1) * number;
            assert!(create.at >= due, "{what}: {number} at {:?}", create.at);
            assert_eq!(
                create.body["metadata"]["name"],
                creates[0].body["metadata"]["name"]
            );
        }
        assert_eq!(world.names("volumesnapshots").len(), 1, "{what}");
        assert_eq!(counted(&kill(plugin).await.stderr), [], "{what}");
    }
}

/// T1 for reads: kube's own retries would come within a second.
#[tokio::test]
async fn reads_are_answered_with_trouble_then_one_request_per_second() {
    let world = World::new().await;
    let plugin = world.quick().serve().await.unwrap();
    let reads = Matcher::on("get", "persistentvolumes");
    world
        .api
        .fault(reads.clone(), Fault::unavailable(), When::times(2));
    world.execute(&plugin).await.unwrap();
    let reads = world.api.requests_matching(&reads);
    assert_eq!(reads.len(), 3);
    assert!(
        reads[2].at - reads[0].at >= Duration::from_secs(1),
        "{reads:?}"
    );
    kill(plugin).await;
}

/// T13, T6: what passes is neither a warning nor an error of the backup, whatever kube and hyper think of it.
#[tokio::test]
async fn looks_fail_in_every_way_and_the_snapshot_comes_then_velero_counts_nothing() {
    let faults = [
        ("500", Fault::internal("etcdserver: leader changed")),
        ("500 {}", Fault::empty_500()),
        (
            "502",
            Fault::raw(502, "text/html", "<html>bad gateway</html>"),
        ),
        ("503", Fault::unavailable()),
        ("504", Fault::gateway_timeout()),
        ("429", Fault::too_many_requests(1)),
        ("404", Fault::plain_404()),
        ("closed", Fault::Refuse),
        ("reset", Fault::Reset),
        ("cut", Fault::Cut),
        (
            "garbage",
            Fault::raw(200, "application/json", "{\"kind\": 7"),
        ),
    ];
    let mut world = World::new().await;
    let plugin = world
        .quick()
        .arguments(["--log-level", "debug", "--features", "EnableCSI"])
        .serve()
        .await
        .unwrap();
    for (what, fault) in faults {
        world.storage().hang();
        world.api.clear_requests();
        let looks = Matcher::on("get", "volumesnapshots");
        let id = world.api.fault(looks, fault, When::times(2));
        let call = world.begin(&plugin);
        world.seen("get", "volumesnapshots", 4).await;
        world.storage().release();
        let answer = within(PATIENCE, call).await.unwrap();
        answer.unwrap_or_else(|status| panic!("{what}: {status}"));
        world.api.clear_fault(id);
        world.next_backup();
    }
    let ended = kill(plugin).await;
    assert_eq!(counted(&ended.stderr), []);
    // kube did log its errors, as Debug.
    let foreign: Vec<_> = records(&ended.stderr)
        .into_iter()
        .filter(|record| {
            record["logSource"]
                .as_str()
                .unwrap()
                .starts_with("kube_client")
        })
        .filter(|record| {
            record["@message"]
                .as_str()
                .unwrap()
                .starts_with("failed with")
        })
        .collect();
    assert!(foreign.len() >= 4, "{foreign:#?}");
    assert!(foreign.iter().all(|record| record["@level"] == "debug"));
}

/// W-3, F06: the API server goes away in the middle of the wait and comes back.
#[tokio::test]
async fn api_server_stops_and_starts_again_during_the_wait_then_the_snapshot_succeeds() {
    let mut world = World::new().await;
    world.storage().hang();
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    world.hangs().await;

    world.served.stop().await;
    said(&plugin, &["looking on", "onnection refused"]).await;
    world.storage().release();
    world.served.start().await.unwrap();

    let answer = within(PATIENCE, call).await.unwrap().unwrap();
    assert_eq!(answer.additional_items.len(), 1);
    assert_eq!(world.names("volumesnapshots").len(), 1);
    assert_eq!(counted(&kill(plugin).await.stderr), []);
}

/// The API server is not there at first: reads before the create are patient as well.
#[tokio::test]
async fn api_server_starts_after_execute_then_the_snapshot_succeeds() {
    let mut world = World::new().await;
    world.served.stop().await;
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    said(&plugin, &["trying again", "onnection refused"]).await;
    world.served.start().await.unwrap();
    within(PATIENCE, call).await.unwrap().unwrap();
    assert_eq!(counted(&kill(plugin).await.stderr), []);
}

/// F110: the token comes from the file that the kubeconfig names.
#[tokio::test]
async fn kubeconfig_names_a_token_file_then_requests_carry_the_token() {
    let world = World::new().await;
    let path = world.write("token", "token-a");
    let user = format!("user: {{tokenFile: {}}}", path.display());
    let kubeconfig = world.served.kubeconfig().replace("user: {}", &user);
    world.write("kubeconfig", &kubeconfig);
    let right = "Bearer token-a";
    world
        .api
        .on_request(move |request| (request.authorization != right).then(Fault::unauthorized));
    let plugin = world.launch().serve().await.unwrap();
    world.execute(&plugin).await.unwrap();
    let requests = world.api.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.authorization == right)
    );
    kill(plugin).await;
}

/// A token that is refused is waited out, since it may be a rotated one.
#[tokio::test]
async fn token_is_refused_for_two_seconds_then_the_wait_goes_on() {
    let world = World::new().await;
    let plugin = world.quick().serve().await.unwrap();
    let looks = Matcher::on("get", "volumesnapshots");
    world
        .api
        .fault(looks, Fault::unauthorized(), When::times(3));
    world.execute(&plugin).await.unwrap();
    assert_eq!(counted(&kill(plugin).await.stderr), []);
}

/// F104: a real denial ends the call at once, with the words of the API server and one Error.
#[tokio::test]
async fn permission_is_missing_then_the_answer_names_it() {
    let world = World::new().await;
    let creates = Matcher::on("create", "volumesnapshots");
    world.api.fault(creates, Fault::forbidden(), When::ALWAYS);
    let plugin = world.quick().serve().await.unwrap();
    let status = world.execute(&plugin).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let missing = "cannot create resource \"volumesnapshots\"";
    assert!(status.message().contains(missing), "{status}");
    assert_eq!(world.api.count("create", "volumesnapshots"), 1);
    let counted = counted(&kill(plugin).await.stderr);
    assert_eq!(counted.len(), 1, "{counted:#?}");
    assert_eq!(counted[0]["@level"], "error");
}
