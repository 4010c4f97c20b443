//! Ends in the middle of a wait: Shutdown, SIGTERM, a caller or a host that goes away. Nothing stays behind.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use tonic::Code;
use velero_plugin_csi_fastpoll::commands::launch::{GRACE, Launch, dial, socket_path};
use velero_plugin_csi_fastpoll::proto::v2::backup_item_action_client::BackupItemActionClient;

use crate::support::{BINARY, PATIENCE, id, kill, log_record, within};
use crate::world::{World, counted, said};

/// What the log says about a snapshot that a hung driver may still finish: a Warn with the object's name.
fn assert_left_is_named(stderr: &[String], content: &str) {
    let counted = counted(stderr);
    let named = |record: &&serde_json::Map<String, serde_json::Value>| {
        record["@level"] == "warn" && record["@message"].as_str().unwrap().contains(content)
    };
    assert_eq!(counted.iter().filter(named).count(), 1, "{counted:#?}");
    let errors = counted.iter().filter(|record| record["@level"] == "error");
    assert_eq!(errors.count(), 1, "{counted:#?}");
}

/// A 10.4, P-11, T10: gone in time, and what the driver makes afterwards does not stay.
#[tokio::test]
async fn shutdown_while_the_driver_hangs_then_gone_in_two_seconds_and_nothing_stays() {
    let world = World::new().await;
    world.storage().hang();
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    world.hangs().await;
    let content = world.names("volumesnapshotcontents").remove(0);

    // Fails by itself after the two seconds that a host waits.
    let ended = kill(plugin).await;

    assert_eq!(ended.status.code(), Some(0));
    let status = within(PATIENCE, call).await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Aborted, "{status}");
    assert!(status.message().contains("told to stop"), "{status}");
    assert_eq!(world.sockets(), 0);
    assert_left_is_named(&ended.stderr, &content);
    world.storage().release();
    world.nothing_left().await;
}

#[tokio::test]
async fn sigterm_while_the_driver_hangs_then_the_same() {
    let world = World::new().await;
    world.storage().hang();
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    world.hangs().await;
    let content = world.names("volumesnapshotcontents").remove(0);

    kill_process(id(&plugin.started), Signal::TERM).unwrap();

    let ended = plugin.started.ended(GRACE).await.unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(within(PATIENCE, call).await.unwrap().is_err());
    assert_eq!(world.sockets(), 0);
    assert_left_is_named(&ended.stderr, &content);
    world.storage().release();
    world.nothing_left().await;
}

/// A driver that answers in time: everything is taken back before the end, and no warning is due.
#[tokio::test]
async fn shutdown_before_the_driver_has_begun_then_all_is_gone_at_the_end_of_the_process() {
    let world = World::new().await;
    // Nobody picks the VolumeSnapshot up.
    world.snapshotter.stop();
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    world.seen("get", "volumesnapshots", 2).await;
    let ended = kill(plugin).await;
    assert_eq!(ended.status.code(), Some(0));
    assert!(within(PATIENCE, call).await.unwrap().is_err());
    assert_eq!(world.names("volumesnapshots"), Vec::<String>::new());
    assert_eq!(world.names("volumesnapshotcontents"), Vec::<String>::new());
}

/// T2: the connection breaks in the middle of the wait; the plugin cleans up and serves on.
#[tokio::test]
async fn connection_lost_while_the_driver_hangs_then_nothing_stays_and_the_next_execute_works() {
    let mut world = World::new().await;
    world.storage().hang();
    let plugin = world.quick().serve().await.unwrap();
    let channel = dial(&plugin.path).await.unwrap();
    let request = world.request();
    let call = tokio::spawn(async move {
        let mut action = BackupItemActionClient::new(channel);
        action.execute(request).await
    });
    world.hangs().await;

    // The last handle on the connection goes with the task.
    call.abort();
    let _ = call.await;

    world.seen("delete", "volumesnapshots", 1).await;
    world.storage().release();
    world.nothing_left().await;
    said(&plugin, &["took the VolumeSnapshot and its content back"]).await;
    world.next_backup();
    let answer = world.execute(&plugin).await.unwrap();
    assert_eq!(answer.additional_items.len(), 1);
    assert_eq!(world.storage().handles().len(), 1);
    let ended = kill(plugin).await;
    assert_eq!(ended.status.code(), Some(0));
    let counted = counted(&ended.stderr);
    assert_eq!(counted.len(), 1, "{counted:#?}");
    let error = counted[0]["error"].as_str().unwrap();
    assert!(error.contains("the caller went away"), "{error}");
}

/// The snapshot succeeds at the moment in which its caller has gone: it is taken back as well.
#[tokio::test]
async fn caller_gives_up_and_the_driver_answers_afterwards_then_nothing_stays() {
    let world = World::new().await;
    world.storage().hang();
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    world.hangs().await;
    call.abort();
    world.storage().release();
    world.nothing_left().await;
    assert_eq!(kill(plugin).await.status.code(), Some(0));
}

/// F72: Velero is killed; its plugin notices, takes back and goes.
#[tokio::test]
async fn host_is_killed_while_the_driver_hangs_then_the_plugin_takes_back_and_goes() {
    let world = World::new().await;
    world.storage().hang();
    let started = Launch::of(Path::new("/bin/sh"))
        .arguments(["-c", "\"$0\" & wait", BINARY])
        .variable("VELERO_PLUGIN", "hello")
        .variable("TMPDIR", world.file("sockets"))
        .variable("KUBECONFIG", world.file("kubeconfig"))
        .variable("VELERO_CSI_EARLY_FAST_POLL", "true")
        .start()
        .await
        .unwrap();
    let channel = dial(&socket_path(&started.line).unwrap()).await.unwrap();
    let request = world.request();
    let call = tokio::spawn(async move {
        let mut action = BackupItemActionClient::new(channel);
        action.execute(request).await
    });
    world.hangs().await;
    assert_eq!(world.sockets(), 1);

    kill_process(id(&started), Signal::KILL).unwrap();

    // Both pipes are at their end only when the plugin has gone as well.
    let ended = within(Duration::from_secs(5), started.ended(PATIENCE))
        .await
        .unwrap();
    ended.stderr.iter().for_each(|line| drop(log_record(line)));
    assert_eq!(world.sockets(), 0);
    assert!(within(PATIENCE, call).await.unwrap().is_err());
    world.storage().release();
    world.nothing_left().await;
}
