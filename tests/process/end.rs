//! How the process ends, and what it leaves.

use super::*;

/// A 10.4, P-11, F72.
#[tokio::test]
async fn shutdown_with_open_streams_ends_the_process_at_once_and_leaves_nothing() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let ended = kill(plugin).await;
    assert_eq!(ended.status.code(), Some(0));
    assert!(
        ended.elapsed < Duration::from_millis(500),
        "{:?}",
        ended.elapsed
    );
    assert_eq!(entries(directory.path()), 0);
    assert!(ended.stderr.is_empty(), "{:?}", ended.stderr);
}

#[tokio::test]
async fn sigterm_is_an_orderly_end_and_sigint_is_none() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    kill_process(id(&plugin.started), Signal::INT).unwrap();
    assert_eq!(commands(&plugin).await.len(), 1);
    kill_process(id(&plugin.started), Signal::TERM).unwrap();
    let ended = ended(plugin.started).await;
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(entries(directory.path()), 0);
}

/// A host that no longer reads or answers must not hold the process.
#[tokio::test]
async fn sigterm_ends_the_process_in_time_although_the_host_is_stuck() {
    let directory = scratch();
    let started = launch(directory.path()).start().await.unwrap();
    let mut stuck = UnixStream::connect(socket_path(&started.line).unwrap()).unwrap();
    stuck
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    kill_process(id(&started), Signal::TERM).unwrap();
    let ended = within(GRACE, ended(started)).await;
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(entries(directory.path()), 0);
}

/// F72: a plugin does not outlive a killed host.
#[tokio::test]
async fn death_of_the_parent_ends_the_process_within_two_seconds() {
    let directory = scratch();
    let started = Launch::of(Path::new("/bin/sh"))
        .arguments(["-c", "\"$0\" & wait", BINARY])
        .variable("VELERO_PLUGIN", "hello")
        .variable("TMPDIR", directory.path())
        .start()
        .await
        .unwrap();
    let path = socket_path(&started.line).unwrap();
    let channel = dial(&path).await.unwrap();
    assert!(path.exists());
    kill_process(id(&started), Signal::KILL).unwrap();
    // Both pipes are at their end only when the plugin has gone as well.
    let ended = within(GRACE, ended(started)).await;
    assert!(ended.stderr.is_empty(), "{:?}", ended.stderr);
    assert_eq!(entries(directory.path()), 0);
    drop(channel);
}

/// P-6, P-25, T4: at the most talkative level, too.
#[tokio::test]
async fn every_line_of_stderr_is_a_log_record_and_stdout_stays_silent() {
    let directory = scratch();
    let plugin = launch(directory.path())
        .arguments(["--log-level", "trace"])
        .serve()
        .await
        .unwrap();
    commands(&plugin).await;
    plugin
        .action()
        .execute(execute(item_of(8 * MIB)))
        .await
        .unwrap();
    let ended = kill(plugin).await;
    assert!(!ended.stderr.is_empty());
    for line in &ended.stderr {
        assert!(!line.contains("xxxxxxxx"), "the item is logged");
        let record = log_record(line);
        assert!(
            ["trace", "debug", "info"].contains(&record["@level"].as_str().unwrap()),
            "{line}"
        );
        assert!(
            !record["logSource"].as_str().unwrap().starts_with('/'),
            "{line}"
        );
    }
    assert!(ended.stdout.is_empty());
}
