//! Requests through `kube::Client`, and the cluster that most tests start from.

use std::time::Duration;

use kube_api::{KubeApi, seed};
use serde_json::{Value, json};

pub const SNAPSHOT_API: &str = "/apis/snapshot.storage.k8s.io/v1";

pub fn client(api: &KubeApi) -> kube::Client {
    kube::Client::new(api.clone(), "default")
}

/// One request; the answer's JSON.
pub async fn send(
    client: &kube::Client,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> Result<Value, kube::Error> {
    let kind = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let bytes = body
        .map(|body| body.to_string().into_bytes())
        .unwrap_or_default();
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("user-agent", "test")
        .body(bytes)
        .unwrap();
    client.request::<Value>(request).await
}

/// The Status of a refusal: code, reason, message.
pub fn refusal(answer: Result<Value, kube::Error>) -> (u16, String, String) {
    match answer {
        Err(kube::Error::Api(status)) => {
            (status.code, status.reason.clone(), status.message.clone())
        }
        other => panic!("no Status: {other:?}"),
    }
}

pub fn snapshot_of(claim: &str, class: &str) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"generateName": format!("velero-{claim}-"), "namespace": "app"},
        "spec": {"source": {"persistentVolumeClaimName": claim}, "volumeSnapshotClassName": class},
    })
}

/// A cluster with the PVC `app/data` and the classes `keep` (Retain) and `drop` (Delete).
pub fn cluster() -> KubeApi {
    let api = KubeApi::new();
    seed::csi_volume(&api, "app", "data", "csi.test", "1Gi");
    seed::snapshot_class(&api, "keep", "csi.test", "Retain", &[], &[]);
    seed::snapshot_class(&api, "drop", "csi.test", "Delete", &[], &[]);
    api
}

pub async fn create_snapshot(client: &kube::Client, claim: &str, class: &str) -> String {
    let path = format!("{SNAPSHOT_API}/namespaces/app/volumesnapshots");
    let created = send(client, "POST", &path, Some(snapshot_of(claim, class)))
        .await
        .unwrap();
    created["metadata"]["name"].as_str().unwrap().to_owned()
}

/// The only content.
pub fn content(api: &KubeApi) -> Option<Value> {
    let mut all = api.objects("volumesnapshotcontents");
    assert!(all.len() < 2, "{all:#?}");
    all.pop()
}

/// Lets the controllers do what they do by themselves in this time.
pub async fn after(time: Duration) {
    tokio::time::sleep(time).await;
}

pub fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
