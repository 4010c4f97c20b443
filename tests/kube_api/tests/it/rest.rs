//! Objects, lists, preconditions: what an API server promises.

use kube_api::{KubeApi, Matcher, seed};
use serde_json::json;

use crate::support::{SNAPSHOT_API, client, cluster, create_snapshot, refusal, send, snapshot_of};

const MAPS: &str = "/api/v1/namespaces/app/configmaps";

#[tokio::test(start_paused = true)]
async fn generated_names_keep_58_characters_and_get_5() {
    let api = cluster();
    let client = client(&api);
    let mut snapshot = snapshot_of("data", "keep");
    snapshot["metadata"]["generateName"] = json!("v".repeat(80));
    let path = format!("{SNAPSHOT_API}/namespaces/app/volumesnapshots");
    let created = send(&client, "POST", &path, Some(snapshot)).await.unwrap();
    let name = created["metadata"]["name"].as_str().unwrap();
    assert_eq!((name.len(), &name[..58]), (63, "v".repeat(58).as_str()));
    assert_eq!(
        created["metadata"]["creationTimestamp"],
        "2026-01-01T00:00:00Z"
    );
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["metadata"]["uid"].as_str().unwrap().len(), 36);
}

#[tokio::test(start_paused = true)]
async fn typed_clients_read_the_seeds() {
    let api = cluster();
    seed::pod(
        &api,
        "app",
        "web",
        &[("v", "data")],
        &[("a", "b")],
        "Running",
    );
    let client = client(&api);
    let claims: kube::Api<k8s_openapi::api::core::v1::PersistentVolumeClaim> =
        kube::Api::namespaced(client.clone(), "app");
    let claim = claims.get("data").await.unwrap();
    let volumes: kube::Api<k8s_openapi::api::core::v1::PersistentVolume> =
        kube::Api::all(client.clone());
    let volume = volumes
        .get(&claim.spec.unwrap().volume_name.unwrap())
        .await
        .unwrap();
    assert_eq!(
        volume.spec.unwrap().csi.unwrap().volume_handle,
        "vol-app-data"
    );
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> = kube::Api::all(client);
    assert_eq!(
        pods.list(&kube::api::ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    assert_eq!(api.unexpected_requests(), Vec::<String>::new());
    let lines: Vec<String> = api
        .requests()
        .iter()
        .map(kube_api::Recorded::line)
        .collect();
    assert_eq!(lines[0], "get persistentvolumeclaims app/data");
    assert_eq!(lines[2], "list pods");
}

#[tokio::test(start_paused = true)]
async fn a_seeded_claim_is_sent_as_velero_sends_it() {
    let api = KubeApi::new();
    let volume = seed::csi_volume(&api, "app", "data", "csi.test", "1Gi");
    assert!(volume.json.starts_with(r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes""#));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&volume.json).unwrap(),
        volume.pvc
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_have_the_reasons_of_the_api_server() {
    let api = cluster();
    let client = client(&api);
    let name = create_snapshot(&client, "data", "keep").await;
    let path = format!("{SNAPSHOT_API}/namespaces/app/volumesnapshots");

    let mut again = snapshot_of("data", "keep");
    again["metadata"]["name"] = json!(name);
    let taken = refusal(send(&client, "POST", &path, Some(again)).await);
    assert_eq!(
        taken,
        (
            409,
            "AlreadyExists".into(),
            format!("volumesnapshots.snapshot.storage.k8s.io \"{name}\" already exists")
        )
    );

    match send(&client, "GET", &format!("{path}/none"), None).await {
        Err(kube::Error::Api(status)) => {
            assert_eq!(
                status.message,
                "volumesnapshots.snapshot.storage.k8s.io \"none\" not found"
            );
            let details = status.details.unwrap();
            assert_eq!(
                (
                    details.kind.as_str(),
                    details.group.as_str(),
                    details.name.as_str()
                ),
                ("volumesnapshots", "snapshot.storage.k8s.io", "none")
            );
        }
        other => panic!("{other:?}"),
    }

    let mut bad = snapshot_of("data", "keep");
    bad["metadata"]["labels"] = json!({"l": "x".repeat(64)});
    assert_eq!(
        refusal(send(&client, "POST", &path, Some(bad)).await).0,
        422
    );

    let nowhere = format!("{SNAPSHOT_API}/namespaces/nowhere/volumesnapshots");
    let mut snapshot = snapshot_of("data", "keep");
    snapshot["metadata"]["namespace"] = json!("nowhere");
    assert_eq!(
        refusal(send(&client, "POST", &nowhere, Some(snapshot)).await).2,
        "namespaces \"nowhere\" not found"
    );

    api.terminate_namespace("app");
    let refused = refusal(send(&client, "POST", &path, Some(snapshot_of("data", "keep"))).await);
    assert_eq!(refused.0, 403);
    assert!(
        refused.2.contains("because it is being terminated"),
        "{}",
        refused.2
    );
}

#[tokio::test(start_paused = true)]
async fn lists_select_and_come_in_pages() {
    let api = KubeApi::new();
    for index in 0..5 {
        let name = format!("m{index}");
        seed::configmap(&api, "app", &name, &[]);
        api.edit("configmaps", "app", &name, |object| {
            object["metadata"]["labels"] = json!({"n": index.to_string()});
        })
        .unwrap();
    }
    seed::configmap(&api, "other", "m0", &[]);
    let client = client(&api);
    let names = |list: &serde_json::Value| -> Vec<String> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let get = async |query: &str| {
        send(&client, "GET", &format!("{MAPS}?{query}"), None)
            .await
            .unwrap()
    };

    assert_eq!(
        names(&get("labelSelector=n%20in%20(1,3)").await),
        ["m1", "m3"]
    );
    assert_eq!(names(&get("labelSelector=n%3D2").await), ["m2"]);
    assert_eq!(
        names(&get("fieldSelector=metadata.name%3Dm4").await),
        ["m4"]
    );
    let first = get("limit=2").await;
    assert_eq!(names(&first), ["m0", "m1"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = get(&format!("limit=2&continue={token}")).await;
    assert_eq!(names(&second), ["m2", "m3"]);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let third = get(&format!("limit=2&continue={token}")).await;
    assert_eq!(names(&third), ["m4"]);
    assert!(third["metadata"].get("continue").is_none());
    let everywhere = send(&client, "GET", "/api/v1/configmaps", None)
        .await
        .unwrap();
    assert_eq!(names(&everywhere).len(), 6);
}

#[tokio::test(start_paused = true)]
async fn patches_merge_and_old_versions_conflict() {
    let api = KubeApi::new();
    seed::configmap(&api, "app", "m", &[("a", "1"), ("b", "2")]);
    let client = client(&api);
    let path = format!("{MAPS}/m");
    let before = send(&client, "GET", &path, None).await.unwrap();
    let after = send(
        &client,
        "PATCH",
        &path,
        Some(json!({"data": {"a": null, "c": "3"}})),
    )
    .await
    .unwrap();
    assert_eq!(after["data"], json!({"b": "2", "c": "3"}));
    assert_ne!(
        after["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );

    let old = json!({"metadata": {"resourceVersion": before["metadata"]["resourceVersion"]}, "data": {"d": "4"}});
    let refused = refusal(send(&client, "PATCH", &path, Some(old)).await);
    assert_eq!((refused.0, refused.1.as_str()), (409, "Conflict"));
    assert!(refused.2.ends_with("the object has been modified; please apply your changes to the latest version and try again"));

    let same = send(&client, "PATCH", &path, Some(json!({"data": {"b": "2"}})))
        .await
        .unwrap();
    assert_eq!(
        same["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"],
        "nothing changed"
    );

    let replaced = send(
        &client,
        "PUT",
        &path,
        Some(json!({"metadata": {"name": "m"}, "data": {"z": "9"}})),
    )
    .await
    .unwrap();
    assert_eq!(replaced["data"], json!({"z": "9"}));
}

#[tokio::test(start_paused = true)]
async fn status_changes_only_at_its_own_endpoint() {
    let api = cluster();
    let client = client(&api);
    let name = create_snapshot(&client, "data", "keep").await;
    let path = format!("{SNAPSHOT_API}/namespaces/app/volumesnapshots/{name}");
    let ready = json!({"status": {"readyToUse": true}});
    assert!(
        send(&client, "PATCH", &path, Some(ready.clone()))
            .await
            .unwrap()
            .get("status")
            .is_none()
    );
    let after = send(&client, "PATCH", &format!("{path}/status"), Some(ready))
        .await
        .unwrap();
    assert_eq!(
        (
            &after["status"]["readyToUse"],
            &after["metadata"]["generation"]
        ),
        (&json!(true), &json!(1))
    );
}

#[tokio::test(start_paused = true)]
async fn deletes_honour_preconditions_and_finalizers() {
    let api = KubeApi::new();
    seed::configmap(&api, "app", "m", &[]);
    let client = client(&api);
    let path = format!("{MAPS}/m");
    let uid = api.object("configmaps", "app", "m").unwrap()["metadata"]["uid"].clone();

    let refused = refusal(
        send(
            &client,
            "DELETE",
            &path,
            Some(json!({"preconditions": {"uid": "other"}})),
        )
        .await,
    );
    assert_eq!((refused.0, refused.1.as_str()), (409, "Conflict"));
    assert!(
        refused
            .2
            .contains("Precondition failed: UID in precondition: other"),
        "{}",
        refused.2
    );

    send(
        &client,
        "PATCH",
        &path,
        Some(json!({"metadata": {"finalizers": ["a/b"]}})),
    )
    .await
    .unwrap();
    let deleting = send(
        &client,
        "DELETE",
        &path,
        Some(json!({"preconditions": {"uid": uid}})),
    )
    .await
    .unwrap();
    assert_eq!(
        deleting["metadata"]["deletionTimestamp"],
        "2026-01-01T00:00:00Z"
    );
    let refused = refusal(
        send(
            &client,
            "PATCH",
            &path,
            Some(json!({"metadata": {"finalizers": ["a/b", "c/d"]}})),
        )
        .await,
    );
    assert_eq!(refused.0, 422);
    send(
        &client,
        "PATCH",
        &path,
        Some(json!({"metadata": {"finalizers": null}})),
    )
    .await
    .unwrap();
    assert_eq!(refusal(send(&client, "GET", &path, None).await).0, 404);
    assert_eq!(refusal(send(&client, "DELETE", &path, None).await).0, 404);

    seed::configmap(&api, "app", "m", &[]);
    let gone = send(&client, "DELETE", &path, None).await.unwrap();
    assert_eq!(
        (&gone["status"], &gone["details"]["kind"]),
        (&json!("Success"), &json!("configmaps"))
    );
}

#[tokio::test(start_paused = true)]
async fn unknown_paths_and_parameters_are_recorded_failures() {
    let api = cluster();
    let client = client(&api);
    for path in [
        "/api/v1/secrets",
        "/apis/none/v1/things",
        "/api/v1/namespaces/app/persistentvolumes/x",
        "/api/v1/persistentvolumeclaims/x",
        "/apis/storage.k8s.io/v1/storageclasses/",
        "/apis/snapshot.storage.k8s.io/v1beta1/volumesnapshotclasses",
        "/api/v1/nodes?colour=red",
    ] {
        match send(&client, "GET", path, None).await {
            Err(kube::Error::Api(status)) => assert_eq!(status.code, 404, "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    let unexpected = api.unexpected_requests();
    assert_eq!(unexpected.len(), 7, "{unexpected:#?}");
    assert_eq!(
        unexpected[6],
        "list /api/v1/nodes?colour=red: unknown query parameter colour"
    );
}

#[tokio::test(start_paused = true)]
async fn discovery_and_readiness_are_served() {
    let api = cluster();
    let client = client(&api);
    let group = send(&client, "GET", "/apis/groupsnapshot.storage.k8s.io", None)
        .await
        .unwrap();
    assert_eq!(group["versions"].as_array().unwrap().len(), 3);
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let resources = send(&client, "GET", "/apis/snapshot.storage.k8s.io/v1", None)
        .await
        .unwrap();
    assert_eq!(resources["resources"].as_array().unwrap().len(), 3);
    assert_eq!(client.apiserver_version().await.unwrap().minor, "33");
    let ready = client
        .request_text(http::Request::get("/readyz").body(Vec::new()).unwrap())
        .await
        .unwrap();
    assert_eq!(ready, "ok");
    api.set_readyz(500);
    assert!(
        client
            .request_text(http::Request::get("/readyz").body(Vec::new()).unwrap())
            .await
            .is_err()
    );
    assert_eq!(
        api.requests_matching(&Matcher::resource("/readyz")).len(),
        2
    );
    assert_eq!(api.count("get", "/readyz"), 2);
}

#[tokio::test(start_paused = true)]
async fn requests_are_recorded_with_who_when_and_what() {
    let api = cluster();
    let client = client(&api);
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    create_snapshot(&client, "data", "keep").await;
    let all = api.requests();
    let request = &all[0];
    assert_eq!(
        (
            request.verb,
            request.resource.as_str(),
            request.namespace.as_str()
        ),
        ("create", "volumesnapshots", "app")
    );
    assert_eq!(
        (
            request.at.as_millis(),
            request.user_agent.as_str(),
            request.answered
        ),
        (1500, "test", Some(201))
    );
    assert_eq!(
        request.body["spec"]["source"]["persistentVolumeClaimName"],
        "data"
    );
    assert_eq!(
        api.counts()[&("create".to_owned(), "volumesnapshots".to_owned())],
        1
    );
    api.clear_requests();
    assert_eq!(api.requests().len(), 0);
}
