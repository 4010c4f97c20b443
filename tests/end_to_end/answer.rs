//! What Velero gets, what is in the cluster then, and what is in the log.

use std::time::Duration;

use serde_json::{Value, json};
use velero_plugin_csi_fastpoll::commands::launch::Launch;
use velero_plugin_csi_fastpoll::model::names::{ACTION, LABEL_CREATED_BY};
use velero_plugin_csi_fastpoll::proto::generated::Empty;
use velero_plugin_csi_fastpoll::proto::v2::BackupItemActionAppliesToRequest;

use crate::support::{kill, log_record};
use crate::world::{World, counted, records, the};

const MIB: usize = 1024 * 1024;

/// A 10.2, A 10.9, R-20, R-30 …, W-28: a backup from its first to its last call.
#[tokio::test]
async fn backup_runs_through_then_the_item_names_a_snapshot_that_exists() {
    let mut world = World::new().await;
    world.pvc["spec"]["fieldOfTheFuture"] = json!({"n": 9_007_199_254_740_993_u64});
    let plugin = world.launch().serve().await.unwrap();
    let listed = plugin.lister().list_plugins(Empty {}).await.unwrap();
    assert_eq!(listed.into_inner().plugins[0].name, ACTION);
    let request = BackupItemActionAppliesToRequest {
        plugin: ACTION.into(),
    };
    let selector = plugin.action().applies_to(request).await.unwrap();
    let selector = selector.into_inner().resource_selector.unwrap();
    assert_eq!(selector.included_resources, ["persistentvolumeclaims"]);

    let answer = world.execute(&plugin).await.unwrap();

    let snapshots = world.api.objects("volumesnapshots");
    assert_eq!(snapshots.len(), 1, "{snapshots:?}");
    let name = snapshots[0]["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("velero-data-"), "{name}");
    let labels = &snapshots[0]["metadata"]["labels"];
    assert_eq!(labels["velero.io/backup-name"], "nightly-1");
    assert_eq!(
        labels["velero.io/backup-uid"],
        world.backup["metadata"]["uid"]
    );
    assert_eq!(labels["velero.io/pvc-uid"], world.pvc["metadata"]["uid"]);
    assert!(labels[LABEL_CREATED_BY].is_string());
    assert_eq!(snapshots[0]["spec"]["volumeSnapshotClassName"], "gold");

    let mut expected = world.pvc.clone();
    let metadata = &mut expected["metadata"];
    metadata["labels"]["velero.io/volume-snapshot-name"] = json!(name);
    metadata["labels"]["velero.io/backup-name"] = json!("nightly-1");
    metadata["annotations"]["velero.io/volume-snapshot-name"] = json!(name);
    metadata["annotations"]["backup.velero.io/must-include-additional-items"] = json!("true");
    let item: Value = serde_json::from_slice(&answer.item).unwrap();
    assert_eq!(item, expected);
    let additional: Vec<_> = answer
        .additional_items
        .iter()
        .map(|item| [&*item.group, &*item.resource, &*item.namespace, &*item.name])
        .collect();
    let group = "snapshot.storage.k8s.io";
    assert_eq!(additional, [[group, "volumesnapshots", "shop", name]]);
    assert_eq!(answer.operation_id, "");
    assert!(answer.post_operation_items.is_empty());
    assert_eq!(world.storage().handles().len(), 1);

    let ended = kill(plugin).await;
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.stdout.is_empty());
    let taken = the(&ended.stderr, "the storage has cut the snapshot");
    assert_eq!(taken["volume_snapshot"], name);
    assert_eq!(taken["handle"], world.storage().handles()[0]);
    assert_eq!(taken["pvc"], "data");
    assert_eq!(taken["namespace"], "shop");
    assert_eq!(taken["backup"], "velero/nightly-1");
    assert_eq!(counted(&ended.stderr), []);
}

/// The audit log of an API server can tell our requests from Velero's.
#[tokio::test]
async fn requests_then_each_has_our_name_and_version_as_user_agent() {
    let world = World::new().await;
    let plugin = world.launch().serve().await.unwrap();
    world.execute(&plugin).await.unwrap();
    let expected = concat!("velero-plugin-csi-fastpoll/", env!("CARGO_PKG_VERSION"));
    let requests = world.api.requests();
    assert!(requests.len() >= 5, "{requests:?}");
    for request in requests {
        assert_eq!(request.user_agent, expected, "{}", request.line());
        assert_eq!(request.authorization, "", "{}", request.line());
    }
    kill(plugin).await;
}

/// Looks of one Execute that hangs until `looks` of them have been made, since its create; and its introduction.
async fn looks(launch: impl Fn(&World) -> Launch, looks: usize) -> (Vec<Duration>, Value) {
    let world = World::new().await;
    world.storage().hang();
    let plugin = launch(&world).serve().await.unwrap();
    let call = world.begin(&plugin);
    let looks = world.seen("get", "volumesnapshots", looks).await;
    world.storage().release();
    call.await.unwrap().unwrap();
    let created = world.seen("create", "volumesnapshots", 1).await[0].at;
    let ended = kill(plugin).await;
    let intro = the(
        &ended.stderr,
        "velero-plugin-csi-fastpoll takes part in this backup",
    );
    assert_eq!(intro["version"], env!("CARGO_PKG_VERSION"));
    let after = looks.iter().map(|look| look.at - created).collect();
    (after, intro.into())
}

/// The early window through both names of its switch.
#[tokio::test]
async fn early_switch_is_on_then_looks_come_early_and_the_log_names_the_variable() {
    for variable in [
        "VELERO_CSI_EARLY_FAST_POLL",
        "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING",
    ] {
        let early = |world: &World| {
            world
                .launch()
                .variable(variable, "true")
                .variable("VELERO_CSI_EARLY_INTERVAL", "200ms")
        };
        let (looks, intro) = looks(early, 4).await;
        // Never before its instant, and long before the slow interval of 5 s.
        for (number, look) in (0..).zip(&looks) {
            assert!(*look >= Duration::from_millis(200) * number, "{looks:?}");
        }
        assert!(looks[3] < Duration::from_secs(4), "{looks:?}");
        assert_eq!(intro["early"], "on");
        assert_eq!(intro["early_from"], variable);
        assert_eq!(intro["look"], "every 200ms for 10s, then every 5s");
    }
}

/// Ours wins over upstream's, and off is off.
#[tokio::test]
async fn early_switch_is_off_then_looks_come_at_the_slow_interval() {
    let slow = |world: &World| {
        world
            .launch()
            .variable("VELERO_CSI_EARLY_FAST_POLL", "false")
            .variable("CSI_SNAPSHOT_EARLY_FREQUENT_POLLING", "true")
            .variable("VELERO_CSI_EARLY_INTERVAL", "100ms")
            .variable("VELERO_CSI_POLL_INTERVAL", "1s")
    };
    let (looks, intro) = looks(slow, 3).await;
    for (number, look) in (0..).zip(&looks) {
        assert!(*look >= Duration::from_secs(1) * number, "{looks:?}");
    }
    assert_eq!(intro["early"], "off");
    assert_eq!(intro["early_from"], "VELERO_CSI_EARLY_FAST_POLL");
    assert_eq!(intro["look"], "every 1s");
}

/// A backup's annotation overrides the process for this backup.
#[tokio::test]
async fn backup_annotation_turns_the_early_phase_on_then_the_log_names_it() {
    let mut world = World::new().await;
    let switch = "velero-plugin-csi-fastpoll/early-fast-poll";
    world.backup["metadata"]["annotations"][switch] = json!("true");
    let plugin = world.launch().serve().await.unwrap();
    world.execute(&plugin).await.unwrap();
    world.next_backup();
    world.execute(&plugin).await.unwrap();
    let ended = kill(plugin).await;
    let mut intros = records(&ended.stderr);
    intros.retain(|record| record.contains_key("early_from"));
    let from: Vec<_> = intros
        .iter()
        .map(|intro| (&intro["early"], &intro["early_from"]))
        .collect();
    assert_eq!(
        from,
        [
            (&json!("on"), &json!(switch)),
            (&json!("off"), &json!("default"))
        ]
    );
}

/// A 10.5, P-10, P-24: large requests are taken and answered, and what they hold is not in the log at any level.
#[tokio::test]
async fn item_and_backup_of_62_mib_then_they_are_taken_and_never_logged() {
    let mut world = World::new().await;
    let secret = "do-not-log-this-";
    let big = secret.repeat(8 * MIB / secret.len());
    for number in 0..4 {
        let key = format!("example.com/big-{number}");
        world.pvc["metadata"]["annotations"][key] = json!(big[..8 * MIB - 256 * 1024]);
    }
    for number in 0..4 {
        let key = format!("example.com/big-{number}");
        world.backup["metadata"]["annotations"][key] = json!(big[..8 * MIB - 256 * 1024]);
    }
    let request = world.request();
    assert!(request.item.len() + request.backup.len() > 61 * MIB);
    let plugin = world
        .launch()
        .arguments(["--log-level", "trace", "--features", "EnableCSI"])
        .serve()
        .await
        .unwrap();

    let answer = world.execute(&plugin).await.unwrap();

    let item: Value = serde_json::from_slice(&answer.item).unwrap();
    assert_eq!(
        item["metadata"]["annotations"]["example.com/big-3"],
        world.pvc["metadata"]["annotations"]["example.com/big-3"]
    );
    assert_eq!(world.names("volumesnapshots").len(), 1);
    let ended = kill(plugin).await;
    assert!(ended.stderr.len() > 10, "{:#?}", ended.stderr);
    for line in &ended.stderr {
        log_record(line);
        assert!(!line.contains(secret), "{} bytes", line.len());
    }
}

/// The same when the request cannot be used: the texts of decoders quote what they found.
#[tokio::test]
async fn large_item_of_a_wrong_shape_then_neither_answer_nor_log_repeat_it() {
    let mut world = World::new().await;
    world.pvc["metadata"]["annotations"] = json!("x".repeat(8 * MIB));
    let plugin = world.launch().serve().await.unwrap();
    let status = world.execute(&plugin).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    let ended = kill(plugin).await;
    let told = the(&ended.stderr, "cannot use the request");
    for text in [status.message(), told["error"].as_str().unwrap()] {
        assert!(text.len() < 1_000, "{} bytes", text.len());
        assert!(text.contains("metadata.annotations"), "{text}");
        assert!(text.contains("expected a map"), "{text}");
    }
    assert_eq!(counted(&ended.stderr).len(), 1);
}
