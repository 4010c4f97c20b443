//! The snapshot controller, the sidecar and the storage.

use std::time::Duration;

use kube_api::{ControllerOptions, DriverError, KubeApi, Limit, Storage, seed};
use serde_json::{Value, json};

use crate::support::{SNAPSHOT_API, after, client, cluster, content, create_snapshot, ms, send};

const MARK: &str = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted";

fn handle(content: &Value) -> &str {
    content
        .pointer("/status/snapshotHandle")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

async fn handle_at(api: &KubeApi) -> Duration {
    api.until(|api| content(api).filter(|content| !handle(content).is_empty()))
        .await;
    api.elapsed()
}

fn running(options: ControllerOptions) -> (KubeApi, kube::Client, Storage) {
    let api = cluster();
    let storage = api.with_snapshot_controller(options).storage;
    let client = client(&api);
    (api, client, storage)
}

async fn delete_snapshot(client: &kube::Client, name: &str) {
    send(
        client,
        "DELETE",
        &format!("{SNAPSHOT_API}/namespaces/app/volumesnapshots/{name}"),
        None,
    )
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn binding_and_handle_come_at_exact_instants() {
    let (api, client, storage) = running(ControllerOptions {
        bind_delay: ms(300),
        ..Default::default()
    });
    storage.latency(ms(1200));
    storage.restore_size("vol-app-data", 1_610_612_736);
    let name = create_snapshot(&client, "data", "keep").await;
    let uid = api.object("volumesnapshots", "app", &name).unwrap()["metadata"]["uid"]
        .as_str()
        .unwrap()
        .to_owned();

    let bound = api.until(content).await;
    assert_eq!(api.elapsed(), ms(300));
    assert_eq!(bound["metadata"]["name"], format!("snapcontent-{uid}"));
    assert_eq!(bound["spec"]["source"]["volumeHandle"], "vol-app-data");
    assert_eq!(
        (&bound["spec"]["deletionPolicy"], &bound["spec"]["driver"]),
        (&json!("Retain"), &json!("csi.test"))
    );
    assert_eq!(bound["spec"]["volumeSnapshotRef"]["uid"], uid);

    assert_eq!(handle_at(&api).await, ms(1500));
    after(Duration::ZERO).await;
    let bound = content(&api).unwrap();
    assert_eq!(
        bound["status"],
        json!({"snapshotHandle": "snap-1", "creationTime": 1_767_225_601_500_000_000_i64, "restoreSize": 1_610_612_736, "readyToUse": true})
    );
    let snapshot = api.object("volumesnapshots", "app", &name).unwrap();
    assert_eq!(
        snapshot["status"],
        json!({"boundVolumeSnapshotContentName": bound["metadata"]["name"], "creationTime": "2026-01-01T00:00:01Z", "restoreSize": "1536Mi", "readyToUse": true})
    );
    assert_eq!(storage.handles(), ["snap-1"]);
    assert_eq!(
        api.requests().len(),
        1,
        "the controllers' own requests are not recorded"
    );
}

#[tokio::test(start_paused = true)]
async fn policy_delete_removes_content_and_storage_snapshot() {
    let (api, client, storage) = running(ControllerOptions::default());
    let name = create_snapshot(&client, "data", "drop").await;
    handle_at(&api).await;
    after(ms(1)).await;
    assert_eq!(
        api.object("volumesnapshots", "app", &name).unwrap()["metadata"]["finalizers"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    delete_snapshot(&client, &name).await;
    after(ms(1)).await;
    assert_eq!(
        (
            content(&api),
            api.objects("volumesnapshots"),
            storage.snapshots()
        ),
        (None, vec![], vec![])
    );
    let claim = api.object("persistentvolumeclaims", "app", "data").unwrap();
    assert_eq!(
        claim["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
}

#[tokio::test(start_paused = true)]
async fn policy_retain_keeps_content_and_storage_snapshot() {
    let (api, client, storage) = running(ControllerOptions::default());
    let name = create_snapshot(&client, "data", "keep").await;
    handle_at(&api).await;
    after(ms(1)).await;
    delete_snapshot(&client, &name).await;
    after(ms(1)).await;
    assert_eq!(
        (api.objects("volumesnapshots"), storage.handles()),
        (vec![], vec!["snap-1".to_owned()])
    );
    let left = content(&api).unwrap();
    assert_eq!(left["metadata"]["annotations"][MARK], "yes");
    assert!(left["metadata"].get("deletionTimestamp").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_retained_content_goes_after_a_patch_and_a_delete() {
    let (api, client, storage) = running(ControllerOptions::default());
    let name = create_snapshot(&client, "data", "keep").await;
    handle_at(&api).await;
    after(ms(1)).await;
    delete_snapshot(&client, &name).await;
    after(ms(1)).await;
    let path = format!(
        "{SNAPSHOT_API}/volumesnapshotcontents/{}",
        content(&api).unwrap()["metadata"]["name"].as_str().unwrap()
    );
    send(
        &client,
        "PATCH",
        &path,
        Some(json!({"spec": {"deletionPolicy": "Delete"}})),
    )
    .await
    .unwrap();
    send(&client, "DELETE", &path, None).await.unwrap();
    after(ms(1)).await;
    assert_eq!((content(&api), storage.snapshots()), (None, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_stale_controller_keeps_what_was_just_set_to_delete() {
    let (api, client, storage) = running(ControllerOptions {
        stale_cache: ms(500),
        ..Default::default()
    });
    let name = create_snapshot(&client, "data", "keep").await;
    handle_at(&api).await;
    after(ms(600)).await;
    let path = format!(
        "{SNAPSHOT_API}/volumesnapshotcontents/{}",
        content(&api).unwrap()["metadata"]["name"].as_str().unwrap()
    );
    send(
        &client,
        "PATCH",
        &path,
        Some(json!({"spec": {"deletionPolicy": "Delete"}})),
    )
    .await
    .unwrap();
    delete_snapshot(&client, &name).await;
    after(ms(1)).await;
    assert_eq!(api.objects("volumesnapshots").len(), 0);
    assert!(
        content(&api).unwrap()["metadata"]
            .get("deletionTimestamp")
            .is_none()
    );
    send(&client, "DELETE", &path, None).await.unwrap();
    after(ms(1)).await;
    assert_eq!((content(&api), storage.snapshots()), (None, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_content_deleted_alone_hangs_on_its_finalizer() {
    let (api, client, storage) = running(ControllerOptions::default());
    create_snapshot(&client, "data", "drop").await;
    handle_at(&api).await;
    after(ms(1)).await;
    let name = content(&api).unwrap()["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    send(
        &client,
        "DELETE",
        &format!("{SNAPSHOT_API}/volumesnapshotcontents/{name}"),
        None,
    )
    .await
    .unwrap();
    after(Duration::from_hours(1)).await;
    assert!(
        content(&api).unwrap()["metadata"]
            .get("deletionTimestamp")
            .is_some()
    );
    assert_eq!(storage.snapshots().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_during_the_cut_waits_for_it_and_takes_it_back() {
    let (api, client, storage) = running(ControllerOptions::default());
    storage.latency(ms(2000));
    let name = create_snapshot(&client, "data", "drop").await;
    after(ms(500)).await;
    delete_snapshot(&client, &name).await;
    after(ms(1000)).await;
    assert!(
        content(&api).unwrap()["metadata"]
            .get("deletionTimestamp")
            .is_some()
    );
    assert!(
        api.object("volumesnapshots", "app", &name).is_some(),
        "bound protection holds it"
    );
    after(ms(501)).await;
    assert_eq!(
        (
            content(&api),
            api.objects("volumesnapshots"),
            storage.snapshots()
        ),
        (None, vec![], vec![])
    );
    assert_eq!(storage.calls().last().unwrap().what, "DeleteSnapshot");
}

#[tokio::test(start_paused = true)]
async fn a_lost_second_look_comes_with_a_touch_or_the_resync() {
    let (api, client, storage) = running(ControllerOptions {
        lost_requeue: true,
        ..Default::default()
    });
    storage.latency(ms(2000));
    let name = create_snapshot(&client, "data", "drop").await;
    after(ms(500)).await;
    delete_snapshot(&client, &name).await;
    after(Duration::from_mins(1)).await;
    let stuck = content(&api).unwrap();
    assert_eq!((handle(&stuck), storage.snapshots().len()), ("snap-1", 1));
    let path = format!(
        "{SNAPSHOT_API}/volumesnapshotcontents/{}",
        stuck["metadata"]["name"].as_str().unwrap()
    );
    send(
        &client,
        "PATCH",
        &path,
        Some(json!({"metadata": {"annotations": {"touched": "1"}}})),
    )
    .await
    .unwrap();
    after(ms(1)).await;
    assert_eq!((content(&api), storage.snapshots()), (None, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_late_content_is_orphaned_when_its_snapshot_has_no_finalizer_yet() {
    let options = ControllerOptions {
        late_bind: Some(ms(700)),
        finalizer_delay: Duration::from_hours(1),
        ..Default::default()
    };
    let (api, client, storage) = running(options);
    let name = create_snapshot(&client, "data", "drop").await;
    after(ms(100)).await;
    delete_snapshot(&client, &name).await;
    assert_eq!(api.objects("volumesnapshots").len(), 0, "gone at once");
    api.until(content).await;
    assert_eq!(api.elapsed(), ms(700));
    after(ms(10)).await;
    assert_eq!(storage.handles(), ["snap-1"]);
    let orphan = content(&api).unwrap();
    assert!(orphan["metadata"]["annotations"].get(MARK).is_none());
    let path = format!(
        "{SNAPSHOT_API}/volumesnapshotcontents/{}",
        orphan["metadata"]["name"].as_str().unwrap()
    );
    send(
        &client,
        "PATCH",
        &path,
        Some(json!({"metadata": {"annotations": {MARK: "yes"}}})),
    )
    .await
    .unwrap();
    send(&client, "DELETE", &path, None).await.unwrap();
    after(ms(1)).await;
    assert_eq!((content(&api), storage.snapshots()), (None, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_late_content_is_taken_back_when_its_snapshot_was_protected() {
    let (api, client, storage) = running(ControllerOptions {
        late_bind: Some(ms(700)),
        ..Default::default()
    });
    let name = create_snapshot(&client, "data", "drop").await;
    after(ms(100)).await;
    delete_snapshot(&client, &name).await;
    after(ms(500)).await;
    assert!(api.object("volumesnapshots", "app", &name).is_some());
    after(ms(200)).await;
    assert_eq!(
        (
            content(&api),
            api.objects("volumesnapshots"),
            storage.snapshots()
        ),
        (None, vec![], vec![])
    );
}

#[tokio::test(start_paused = true)]
async fn driver_errors_show_and_are_retried_with_back_off() {
    let (api, client, storage) = running(ControllerOptions::default());
    storage.latency(ms(200));
    storage.fail(2, "quota");
    let name = create_snapshot(&client, "data", "drop").await;
    after(ms(201)).await;
    let message = "Failed to create snapshot: failed to take snapshot of the volume vol-app-data: \"rpc error: code = Internal desc = quota\"";
    assert_eq!(
        content(&api).unwrap()["status"],
        json!({"error": {"message": message, "time": "2026-01-01T00:00:00Z"}, "readyToUse": false})
    );
    assert_eq!(
        api.object("volumesnapshots", "app", &name).unwrap()["status"]["error"]["message"],
        message
    );
    // 0.2 s fails, 1 s pause, 0.2 s fails, 2 s pause, 0.2 s works.
    assert_eq!(handle_at(&api).await, ms(3600));
    after(ms(1)).await;
    let snapshot = api.object("volumesnapshots", "app", &name).unwrap();
    assert_eq!(
        (
            snapshot["status"].get("error"),
            &snapshot["status"]["readyToUse"]
        ),
        (None, &json!(true))
    );
    assert_eq!(api.objects("events").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_driver_cuts_late_and_is_found_by_name() {
    let (api, client, storage) = running(ControllerOptions {
        csi_timeout: Duration::from_secs(10),
        ..Default::default()
    });
    storage.hang();
    create_snapshot(&client, "data", "drop").await;
    after(Duration::from_secs(11)).await;
    let error = content(&api).unwrap()["status"]["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(error.contains("DeadlineExceeded"), "{error}");
    storage.release();
    after(ms(1)).await;
    assert_eq!(
        storage.snapshots().len(),
        1,
        "the work went on although its caller gave up"
    );
    handle_at(&api).await;
    assert_eq!(storage.snapshots().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_final_error_with_a_late_cut_leaves_an_orphan() {
    let (api, client, storage) = running(ControllerOptions::default());
    storage.latency(ms(100));
    storage.late_cut(
        "",
        DriverError::new("Internal", "lost"),
        Duration::from_secs(30),
    );
    let name = create_snapshot(&client, "data", "drop").await;
    after(ms(500)).await;
    delete_snapshot(&client, &name).await;
    after(ms(1)).await;
    assert_eq!((content(&api), storage.snapshots().len()), (None, 0));
    assert!(storage.is_working());
    after(Duration::from_secs(30)).await;
    assert_eq!(storage.snapshots().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_may_become_ready_later_than_its_handle() {
    let (api, client, storage) = running(ControllerOptions::default());
    storage.ready_after(Duration::from_secs(5));
    create_snapshot(&client, "data", "drop").await;
    handle_at(&api).await;
    assert_eq!(content(&api).unwrap()["status"]["readyToUse"], false);
    api.until(|api| content(api).filter(|content| content["status"]["readyToUse"] == true))
        .await;
    // Looks after pauses of 1, 2 and 4 s.
    assert_eq!(api.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn an_error_stays_beside_the_handle_until_ready() {
    let (api, client, storage) = running(ControllerOptions::default());
    storage.ready_after(Duration::from_secs(5));
    storage.fail(1, "throttled");
    create_snapshot(&client, "data", "drop").await;
    assert_eq!(handle_at(&api).await, ms(1000));
    let status = &content(&api).unwrap()["status"];
    assert_eq!(status["readyToUse"], false);
    assert!(
        status["error"]["message"]
            .as_str()
            .unwrap()
            .contains("throttled")
    );
    api.until(|api| content(api).filter(|content| content["status"]["readyToUse"] == true))
        .await;
    assert!(content(&api).unwrap()["status"].get("error").is_none());
}

#[tokio::test(start_paused = true)]
async fn failing_deletions_are_retried() {
    let (api, client, storage) = running(ControllerOptions::default());
    let name = create_snapshot(&client, "data", "drop").await;
    handle_at(&api).await;
    after(ms(1)).await;
    storage.fail_deletes(2, "busy");
    delete_snapshot(&client, &name).await;
    after(ms(2999)).await;
    assert_eq!(storage.snapshots().len(), 1);
    after(ms(2)).await;
    assert_eq!((content(&api), storage.snapshots()), (None, vec![]));
    assert_eq!(api.objects("events")[0]["reason"], "SnapshotDeleteError");
}

#[tokio::test(start_paused = true)]
async fn volumes_have_latencies_of_their_own() {
    let (api, client, storage) = running(ControllerOptions::default());
    seed::csi_volume(&api, "app", "slow", "csi.test", "1Gi");
    storage.latency(ms(100));
    storage.latency_of(&seed::volume_handle("app", "slow"), ms(900));
    create_snapshot(&client, "slow", "drop").await;
    create_snapshot(&client, "data", "drop").await;
    after(ms(1000)).await;
    let cuts: Vec<_> = storage
        .snapshots()
        .iter()
        .map(|snapshot| (snapshot.volume.clone(), snapshot.cut_at))
        .collect();
    assert_eq!(
        cuts,
        [
            ("vol-app-data".to_owned(), ms(100)),
            ("vol-app-slow".to_owned(), ms(900))
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_class_is_told_and_mended() {
    let (api, client, _storage) = running(ControllerOptions::default());
    let name = create_snapshot(&client, "data", "none").await;
    after(ms(1)).await;
    let error = api.object("volumesnapshots", "app", &name).unwrap()["status"]["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        error.contains("none") && error.contains("not found"),
        "{error}"
    );
    assert_eq!(api.objects("events")[0]["reason"], "GetSnapshotClassFailed");
    seed::snapshot_class(&api, "none", "csi.test", "Delete", &[], &[]);
    assert_eq!(handle_at(&api).await, ms(1000));
}

#[tokio::test(start_paused = true)]
async fn request_limits_delay_many_snapshots() {
    let limit = Some(Limit::UPSTREAM_DEFAULT);
    let (api, client, storage) = running(ControllerOptions {
        controller_limit: limit,
        sidecar_limit: limit,
        ..Default::default()
    });
    for index in 0..8 {
        let claim = format!("data{index}");
        seed::csi_volume(&api, "app", &claim, "csi.test", "1Gi");
        create_snapshot(&client, &claim, "drop").await;
    }
    api.until(|_| (storage.snapshots().len() == 8).then_some(()))
        .await;
    assert!(
        api.elapsed() > Duration::from_secs(1),
        "{:?}",
        api.elapsed()
    );
    assert!(
        api.elapsed() < Duration::from_secs(20),
        "{:?}",
        api.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_stopped_sidecar_does_nothing_until_it_comes_back() {
    let api = cluster();
    let controller = api.with_snapshot_controller(ControllerOptions::default());
    controller.stop();
    let client = client(&api);
    create_snapshot(&client, "data", "drop").await;
    after(Duration::from_mins(1)).await;
    assert_eq!(content(&api), None);
    api.with_snapshot_controller_on(controller.storage.clone(), ControllerOptions::default());
    handle_at(&api).await;
}
