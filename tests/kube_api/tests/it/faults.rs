//! Each kind of fault, as the client meets it.

use std::time::Duration;

use kube_api::{Answer, Fault, KubeApi, Matcher, Status, When, seed};
use serde_json::json;

use crate::support::{SNAPSHOT_API, client, cluster, ms, refusal, send, snapshot_of};

const MAP: &str = "/api/v1/namespaces/app/configmaps/m";

fn with_map() -> (KubeApi, kube::Client) {
    let api = KubeApi::new();
    seed::configmap(&api, "app", "m", &[("a", "1")]);
    let client = client(&api);
    (api, client)
}

#[tokio::test(start_paused = true)]
async fn made_up_answers_reach_the_client() {
    let (api, client) = with_map();
    for (fault, code, text) in [
        (
            Fault::internal("etcdserver: leader changed"),
            500,
            "etcdserver: leader changed",
        ),
        (Fault::plain_404(), 404, "404 page not found"),
        (Fault::too_many_requests(1), 429, "too many requests"),
        (Fault::unauthorized(), 401, "Unauthorized"),
        (Fault::unavailable(), 503, "not ready"),
        (Fault::gateway_timeout(), 504, "Timeout"),
        (Fault::not_found(), 404, "configmaps \"m\" not found"),
        (Fault::status(Status::expired()), 410, "too old"),
        (
            Fault::forbidden(),
            403,
            "configmaps \"m\" is forbidden: User \"system:serviceaccount:velero:velero\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"app\"",
        ),
    ] {
        api.fault(Matcher::any(), fault, When::once());
        let (got, _, message) = refusal(send(&client, "GET", MAP, None).await);
        assert_eq!(got, code);
        assert!(message.contains(text), "{message}");
    }
    api.fault(Matcher::any(), Fault::empty_500(), When::once());
    assert_eq!(
        refusal(send(&client, "GET", MAP, None).await).0,
        0,
        "a Status with code 0"
    );
    assert_eq!(api.requests().last().unwrap().answered, Some(500));
    send(&client, "GET", MAP, None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn refused_creates_name_quota_and_namespace() {
    let api = cluster();
    let client = client(&api);
    let path = format!("{SNAPSHOT_API}/namespaces/app/volumesnapshots");
    api.fault(
        Matcher::on("create", "volumesnapshots"),
        Fault::quota_exceeded("q", 3),
        When::once(),
    );
    assert_eq!(
        refusal(send(&client, "POST", &path, Some(snapshot_of("data", "keep"))).await).2,
        "volumesnapshots.snapshot.storage.k8s.io \"velero-data-\" is forbidden: exceeded quota: q, requested: count/volumesnapshots.snapshot.storage.k8s.io=1, used: count/volumesnapshots.snapshot.storage.k8s.io=3, limited: count/volumesnapshots.snapshot.storage.k8s.io=3"
    );
    api.fault(
        Matcher::verb("create"),
        Fault::namespace_terminating(),
        When::once(),
    );
    assert!(
        refusal(send(&client, "POST", &path, Some(snapshot_of("data", "keep"))).await)
            .2
            .contains("being terminated")
    );
    assert_eq!(api.objects("volumesnapshots").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn broken_connections_are_errors_of_the_transport() {
    let (api, client) = with_map();
    for fault in [
        Fault::Refuse,
        Fault::Reset,
        Fault::Cut,
        Fault::Reset.after_write(),
    ] {
        api.fault(Matcher::any(), fault.clone(), When::once());
        let error = send(&client, "GET", MAP, None).await.unwrap_err();
        assert!(
            !matches!(error, kube::Error::Api(_)),
            "{fault:?}: {error:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_the_object() {
    let api = cluster();
    let client = client(&api);
    let path = format!("{SNAPSHOT_API}/namespaces/app/volumesnapshots");
    for (count, fault) in [
        Fault::lost_answer(),
        Fault::gateway_timeout().after_write(),
        Fault::Cut,
    ]
    .into_iter()
    .enumerate()
    {
        api.fault(Matcher::verb("create"), fault, When::once());
        assert!(
            send(&client, "POST", &path, Some(snapshot_of("data", "keep")))
                .await
                .is_err()
        );
        assert_eq!(api.objects("volumesnapshots").len(), count + 1);
    }
    api.fault(Matcher::verb("create"), Fault::Reset, When::once());
    assert!(
        send(&client, "POST", &path, Some(snapshot_of("data", "keep")))
            .await
            .is_err()
    );
    assert_eq!(
        api.objects("volumesnapshots").len(),
        3,
        "a reset before the write"
    );
}

#[tokio::test(start_paused = true)]
async fn slow_answers_take_exactly_as_long() {
    let (api, client) = with_map();
    api.fault(Matcher::any(), Fault::Slow(ms(1234)), When::once());
    send(&client, "GET", MAP, None).await.unwrap();
    assert_eq!(api.elapsed(), ms(1234));
    api.fault(
        Matcher::any(),
        Fault::Slow(ms(1000)).after_write(),
        When::once(),
    );
    send(&client, "GET", MAP, None).await.unwrap();
    assert_eq!(api.elapsed(), ms(2234));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_request_goes_on_when_released() {
    let (api, client) = with_map();
    api.fault(Matcher::any(), Fault::Hang, When::ALWAYS);
    let hanging = tokio::spawn(async move { send(&client, "GET", MAP, None).await });
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(!hanging.is_finished());
    assert_eq!(api.requests()[0].answered, None);
    api.release();
    assert!(hanging.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn faults_happen_only_when_and_where_they_should() {
    let (api, client) = with_map();
    let fails = async || send(&client, "GET", MAP, None).await.is_err();
    api.fault(
        Matcher::on("get", "configmaps").name("other"),
        Fault::internal("x"),
        When::ALWAYS,
    );
    api.fault(
        Matcher::any().namespace("other"),
        Fault::internal("x"),
        When::ALWAYS,
    );
    assert!(!fails().await);
    api.fault(
        Matcher::on("get", "configmaps"),
        Fault::internal("x"),
        When::times(2).skip(1),
    );
    assert_eq!(
        [fails().await, fails().await, fails().await, fails().await],
        [false, true, true, false]
    );
    let id = api.fault(
        Matcher::any(),
        Fault::internal("x"),
        When::between(ms(1000), ms(2000)),
    );
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(fails().await);
        tokio::time::sleep(ms(700)).await;
    }
    assert_eq!(seen, [false, false, true, false]);
    api.clear_fault(id);
    api.on_request(|request| {
        (request.verb == "get")
            .then(|| Fault::Answer(Answer::json(418, &json!({"kind": "Status", "code": 418}))))
    });
    assert!(fails().await);
    api.clear_faults();
    assert!(!fails().await);
}
