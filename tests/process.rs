//! The real binary as a child process of a plugin host (A 10).

#![cfg(feature = "demo")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod support;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use support::{BINARY, PATIENCE, ended, id, is_pending_for, kill, launch, log_record, within};
use tonic::Code;
use velero_plugin_csi_fastpoll::commands::launch::{GRACE, Launch, Plugin, dial, socket_path};
use velero_plugin_csi_fastpoll::model::names::ACTION;
use velero_plugin_csi_fastpoll::proto::generated::Empty;
use velero_plugin_csi_fastpoll::proto::generated::plugin_lister_client::PluginListerClient;
use velero_plugin_csi_fastpoll::proto::plugin::ConnInfo;
use velero_plugin_csi_fastpoll::proto::v2::{
    BackupItemActionAppliesToRequest, BackupItemActionCancelRequest,
    BackupItemActionProgressRequest, ExecuteRequest,
};

const MIB: usize = 1024 * 1024;

/// R-3: in this phase an item is echoed and no API is asked.
const FINALIZING: &[u8] = br#"{"metadata":{"name":"b","namespace":"velero","uid":"u"},"spec":{},"status":{"phase":"Finalizing"}}"#;

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn entries(directory: &Path) -> usize {
    directory.read_dir().unwrap().count()
}

async fn commands(plugin: &Plugin) -> Vec<(String, String, String)> {
    let answer = plugin
        .lister()
        .list_plugins(Empty {})
        .await
        .unwrap()
        .into_inner();
    answer
        .plugins
        .into_iter()
        .map(|p| (p.command, p.kind, p.name))
        .collect()
}

fn item_of(size: usize) -> Vec<u8> {
    let head =
        br#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{"big":""#;
    let tail = br#""},"name":"data","namespace":"db"}}"#;
    let mut item = head.to_vec();
    item.resize(size - tail.len(), b'x');
    item.extend_from_slice(tail);
    item
}

fn execute(item: Vec<u8>) -> ExecuteRequest {
    ExecuteRequest {
        plugin: ACTION.into(),
        item: item.into(),
        backup: FINALIZING.into(),
    }
}

// ---- by hand

/// A 10.1, P-2.
#[test]
fn started_without_the_cookie_it_explains_itself_on_stderr_and_exits_1() {
    for cookie in [None, Some("Hello"), Some("")] {
        let mut command = Command::new(BINARY);
        command.env_clear();
        if let Some(cookie) = cookie {
            command.env("VELERO_PLUGIN", cookie);
        }
        let output = command.args(["--features", "EnableCSI"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(
            text.contains("install /plugins") && text.contains("--help"),
            "{text}"
        );
        assert!(text.lines().count() <= 5, "{text}");
    }
}

#[test]
fn version_and_help_go_to_stdout() {
    let output = Command::new(BINARY).arg("--version").output().unwrap();
    assert!(output.status.success());
    let version = format!("velero-plugin-csi-fastpoll {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), version);
    let output = Command::new(BINARY).arg("--help").output().unwrap();
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("install TARGET")
    );
}

/// F84, T12: also over a file that is running.
#[tokio::test]
async fn installed_copy_serves_and_can_be_installed_over_while_it_runs() {
    let directory = scratch();
    let install = || {
        Command::new(BINARY)
            .arg("install")
            .arg(directory.path())
            .output()
            .unwrap()
    };
    let output = install();
    assert!(output.status.success(), "{output:?}");
    let installed = directory.path().join("velero-plugin-csi-fastpoll");
    assert_eq!(
        installed.metadata().unwrap().permissions().mode() & 0o7777,
        0o755
    );
    assert_eq!(
        std::fs::read(&installed).unwrap(),
        std::fs::read(BINARY).unwrap()
    );

    let sockets = scratch();
    let plugin = Launch::of(&installed)
        .variable("VELERO_PLUGIN", "hello")
        .variable("TMPDIR", sockets.path())
        .serve()
        .await
        .unwrap();
    assert_eq!(commands(&plugin).await[0].0, installed.to_str().unwrap());
    assert!(install().status.success());
    assert_eq!(entries(directory.path()), 1);
    assert_eq!(commands(&plugin).await.len(), 1);
    assert_eq!(kill(plugin).await.status.code(), Some(0));
}

#[test]
fn install_into_a_missing_directory_says_so_and_exits_1() {
    let output = Command::new(BINARY)
        .args(["install", "/no/such/directory/"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("/no/such/directory/ is not a directory"), "{text}");
}

// ---- start

/// A 10.2, P-3, P-4.
#[tokio::test]
async fn handshake_is_one_byte_exact_line_and_list_plugins_gives_argv_0() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let expected = format!("1|2|unix|{}|grpc|\n", plugin.path.display());
    assert_eq!(plugin.started.line, expected);
    assert!(plugin.path.starts_with(directory.path()));
    assert_eq!(
        commands(&plugin).await,
        [(
            BINARY.to_owned(),
            "BackupItemActionV2".to_owned(),
            ACTION.to_owned()
        )]
    );
    let ended = kill(plugin).await;
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.stdout.is_empty(), "{:?}", ended.stdout);
}

/// A 4.3: Velero later executes the command as it was listed.
#[tokio::test]
async fn listed_command_is_argv_0_verbatim() {
    let directory = scratch();
    let mut command = launch(directory.path()).command();
    command.arg0("./plugins//odd name");
    let mut child = command.spawn().unwrap();
    let mut stdout = tokio::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    within(
        PATIENCE,
        tokio::io::AsyncBufReadExt::read_line(&mut stdout, &mut line),
    )
    .await
    .unwrap();
    let channel = dial(Path::new(line.split('|').nth(3).unwrap()))
        .await
        .unwrap();
    let mut lister = PluginListerClient::new(channel);
    let answer = lister.list_plugins(Empty {}).await.unwrap().into_inner();
    assert_eq!(answer.plugins[0].command, "./plugins//odd name");
}

/// A 10.3, P-15, F76: whatever Velero's argv holds, also words that mean something by hand.
#[tokio::test]
async fn every_command_line_serves_when_the_cookie_is_there() {
    for line in [
        "",
        "--log-level info",
        "--log-level warning --features EnableCSI",
        "--features EnableCSI --log-level warning --default-snapshot-move-data --unknown x -v 4",
        "--features=EnableCSI --log-level debug --uploader-type=kopia --client-qps=50 \
         --client-burst 60 --default-item-operation-timeout=4h --unknown --bool-flag=false -v 4 \
         positional",
        "--client-qps=fast --client-burst=-1 --log-level=loud --features",
        "--help",
        "--version",
        "install /nowhere",
        "demo",
        "-- --features x",
        "server --unknown=",
    ] {
        let directory = scratch();
        let plugin = launch(directory.path())
            .arguments(line.split_whitespace())
            .serve()
            .await
            .unwrap();
        assert_eq!(commands(&plugin).await.len(), 1, "{line}");
        let ended = kill(plugin).await;
        assert_eq!(ended.status.code(), Some(0), "{line}");
        ended.stderr.iter().for_each(|line| drop(log_record(line)));
    }
}

#[tokio::test]
async fn bad_settings_do_not_stop_the_start() {
    let directory = scratch();
    let plugin = launch(directory.path())
        .variable("VELERO_CSI_EARLY_FAST_POLL", "maybe")
        .variable("VELERO_CSI_EARLY_WINDOW", "-1h")
        .variable("VELERO_CSI_POLL_INTERVAL", "\u{1}")
        .variable("KUBECONFIG", "/no/such/file")
        .variable("KUBERNETES_SERVICE_HOST", "256.0.0.1")
        .serve()
        .await
        .unwrap();
    assert_eq!(commands(&plugin).await.len(), 1);
    assert_eq!(kill(plugin).await.status.code(), Some(0));
}

/// P-1: variables of other hosts change nothing.
#[tokio::test]
async fn certificate_and_multiplexing_are_ignored() {
    let directory = scratch();
    let started = launch(directory.path())
        .variable("PLUGIN_CLIENT_CERT", "-----BEGIN CERTIFICATE-----")
        .variable("PLUGIN_MULTIPLEX_GRPC", "true")
        .variable("PLUGIN_UNIX_SOCKET_GROUP", "nogroup")
        .start()
        .await
        .unwrap();
    assert!(started.line.ends_with("|grpc|\n"), "{}", started.line);
}

/// F77.
#[tokio::test]
async fn socket_goes_to_the_first_directory_that_takes_it() {
    let (given, temporary, velero) = (scratch(), scratch(), scratch());
    let long = given.path().join("x".repeat(100));
    std::fs::create_dir(&long).unwrap();
    let table = [
        (given.path(), temporary.path(), given.path()),
        (
            Path::new("/no/such/directory"),
            temporary.path(),
            temporary.path(),
        ),
        (Path::new("/dev/null"), temporary.path(), temporary.path()),
        (&long, temporary.path(), temporary.path()),
        (Path::new("relative"), temporary.path(), temporary.path()),
        (Path::new(""), temporary.path(), temporary.path()),
        (
            Path::new("/no/such/directory"),
            Path::new("/neither"),
            Path::new("/tmp"),
        ),
    ];
    for (first, second, expected) in table {
        let plugin = launch(second)
            .variable("PLUGIN_UNIX_SOCKET_DIR", first)
            .variable("VELERO_SCRATCH_DIR", velero.path())
            .serve()
            .await
            .unwrap();
        let directory = plugin.path.parent().unwrap().to_owned();
        assert_eq!(directory.parent().unwrap(), expected, "{}", first.display());
        assert_eq!(
            directory.metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
        kill(plugin).await;
        assert!(!directory.exists(), "{}", directory.display());
    }
}

/// Nobody will ever dial, so nothing may be left behind.
#[tokio::test]
async fn handshake_that_cannot_be_written_is_an_error_record_and_exit_1() {
    let directory = scratch();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = launch(directory.path()).command();
    let child = command.stdout(writer).spawn().unwrap();
    let output = within(PATIENCE, child.wait_with_output()).await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let record = log_record(text.trim_end());
    assert_eq!(record["@level"], "error");
    let error = record["error"].as_str().unwrap();
    assert!(
        error.starts_with("write the handshake line to stdout: "),
        "{error}"
    );
    assert_eq!(entries(directory.path()), 0);
}

// ---- calls

#[tokio::test]
async fn applies_to_selects_claims_and_nothing_else() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let request = BackupItemActionAppliesToRequest {
        plugin: ACTION.into(),
    };
    let answer = plugin
        .action()
        .applies_to(request)
        .await
        .unwrap()
        .into_inner();
    let selector = answer.resource_selector.unwrap();
    assert_eq!(selector.included_resources, ["persistentvolumeclaims"]);
    assert_eq!(selector.selector, "");
    assert!(selector.included_namespaces.is_empty() && selector.excluded_namespaces.is_empty());
    assert!(selector.excluded_resources.is_empty());
    kill(plugin).await;
}

/// P-14.
#[tokio::test]
async fn other_and_empty_plugin_names_are_not_found() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let mut action = plugin.action();
    for name in [
        "",
        "velero.io/csi-pvc-backupper",
        "velero-plugin-csi-fastpoll/other",
    ] {
        let plugin = name.to_owned();
        let all = [
            action
                .applies_to(BackupItemActionAppliesToRequest {
                    plugin: plugin.clone(),
                })
                .await
                .unwrap_err(),
            action
                .execute(ExecuteRequest {
                    plugin: plugin.clone(),
                    ..execute(item_of(200))
                })
                .await
                .unwrap_err(),
            action
                .progress(BackupItemActionProgressRequest {
                    plugin: plugin.clone(),
                    ..Default::default()
                })
                .await
                .unwrap_err(),
            action
                .cancel(BackupItemActionCancelRequest {
                    plugin,
                    ..Default::default()
                })
                .await
                .unwrap_err(),
        ];
        for status in all {
            assert_eq!(status.code(), Code::Unknown, "{name}");
            assert!(
                status.message().contains(&format!("{name} was not found")),
                "{status}"
            );
        }
    }
    kill(plugin).await;
}

#[tokio::test]
async fn progress_and_cancel_of_a_foreign_operation_name_its_id() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    for id in ["", "du-1234.5678", "odd \u{2028} id"] {
        let mut action = plugin.action();
        let progress = BackupItemActionProgressRequest {
            plugin: ACTION.into(),
            operation_id: id.into(),
            backup: FINALIZING.to_vec(),
        };
        let cancel = BackupItemActionCancelRequest {
            plugin: ACTION.into(),
            operation_id: id.into(),
            backup: FINALIZING.to_vec(),
        };
        for status in [
            action.progress(progress).await.unwrap_err(),
            action.cancel(cancel).await.unwrap_err(),
        ] {
            let shown = format!("{id:?}");
            let named = status.message().contains(id) || status.message().contains(&shown);
            assert!(named, "{status}");
            assert_ne!(status.code(), Code::Aborted);
        }
    }
    kill(plugin).await;
}

/// A 10.5, A 10.7, P-10.
#[tokio::test]
async fn large_items_are_taken_and_echoed_byte_by_byte() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    for size in [256, 8 * MIB, 63 * MIB] {
        let item = item_of(size);
        let answer = plugin
            .action()
            .execute(execute(item.clone()))
            .await
            .unwrap()
            .into_inner();
        assert!(
            answer.item == item,
            "{size} bytes do not come back as they were"
        );
        assert_eq!(answer.operation_id, "");
        assert!(answer.additional_items.is_empty() && answer.post_operation_items.is_empty());
    }
    let ended = kill(plugin).await;
    ended.stderr.iter().for_each(|line| drop(log_record(line)));
}

#[tokio::test]
async fn request_over_the_limit_is_refused_with_both_sizes_and_the_next_one_works() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let status = plugin
        .action()
        .execute(execute(item_of(66 * MIB)))
        .await
        .unwrap_err();
    assert!(status.message().contains("the limit is"), "{status}");
    assert_eq!(commands(&plugin).await.len(), 1);
    kill(plugin).await;
}

/// A 10.10, P-27.
#[tokio::test]
async fn hundred_parallel_calls_on_one_connection_are_all_answered() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..100 {
        let (mut lister, mut action) = (plugin.lister(), plugin.action());
        calls.spawn(async move {
            let answer = lister.list_plugins(Empty {}).await.unwrap().into_inner();
            assert_eq!(answer.plugins.len(), 1);
            let request = BackupItemActionAppliesToRequest {
                plugin: ACTION.into(),
            };
            action.applies_to(request).await.unwrap();
            let item = item_of(1000 + index);
            let answer = action
                .execute(execute(item.clone()))
                .await
                .unwrap()
                .into_inner();
            assert!(answer.item == item);
        });
    }
    let answered = within(PATIENCE, calls.join_all()).await;
    assert_eq!(answered.len(), 100);
    assert_eq!(kill(plugin).await.status.code(), Some(0));
}

/// P-8: a burst of calls that are given up at once must not cost the connection.
#[tokio::test]
async fn connection_survives_hundreds_of_calls_that_are_given_up() {
    let directory = scratch();
    let mut plugin = launch(directory.path()).serve().await.unwrap();
    for _ in 0..500 {
        let mut lister = plugin.lister();
        let call = lister.list_plugins(Empty {});
        tokio::select! {
            biased;
            _ = call => {}
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(commands(&plugin).await.len(), 1);
    // The first connection's streams are still open.
    let silence = Duration::from_millis(50);
    assert!(
        is_pending_for(silence, plugin.broker.message()).await,
        "the broker stream ended"
    );
    assert_eq!(kill(plugin).await.status.code(), Some(0));
}

// ---- support services

#[tokio::test]
async fn health_is_serving_for_plugin_and_for_all_and_unknown_for_others() {
    use tonic_health::pb::HealthCheckRequest;
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(plugin.channel.clone());
    for service in ["plugin", ""] {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        assert_eq!(
            health.check(request).await.unwrap().into_inner().status,
            1,
            "{service}"
        );
    }
    let request = HealthCheckRequest {
        service: "other".into(),
    };
    assert_eq!(
        health.check(request).await.unwrap_err().code(),
        Code::NotFound
    );
    kill(plugin).await;
}

/// P-7, F73: open and silent, whatever the host says, and an orderly end.
#[tokio::test]
async fn broker_and_stdio_stay_open_and_end_without_error_at_sigterm() {
    let directory = scratch();
    let mut plugin = launch(directory.path()).serve().await.unwrap();
    for id in 0..10 {
        plugin
            .knocks
            .send(ConnInfo {
                service_id: id,
                ..ConnInfo::default()
            })
            .await
            .unwrap();
    }
    assert_eq!(commands(&plugin).await.len(), 1);
    let silence = Duration::from_millis(100);
    assert!(is_pending_for(silence, plugin.broker.message()).await);
    assert!(is_pending_for(silence, plugin.stdio.message()).await);
    kill_process(id(&plugin.started), Signal::TERM).unwrap();
    assert_eq!(
        within(PATIENCE, plugin.broker.message()).await.unwrap(),
        None
    );
    assert_eq!(
        within(PATIENCE, plugin.stdio.message()).await.unwrap(),
        None
    );
    assert_eq!(ended(plugin.started).await.status.code(), Some(0));
}

/// P-9: the end of a connection is not the end of the process.
#[tokio::test]
async fn host_can_dial_the_same_socket_again() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let Plugin {
        started,
        path,
        channel,
        knocks,
        broker,
        stdio,
    } = plugin;
    drop((channel, knocks, broker, stdio));
    let channel = dial(&path).await.unwrap();
    let mut lister = PluginListerClient::new(channel);
    assert_eq!(
        lister
            .list_plugins(Empty {})
            .await
            .unwrap()
            .into_inner()
            .plugins
            .len(),
        1
    );
    kill_process(id(&started), Signal::TERM).unwrap();
    assert_eq!(ended(started).await.status.code(), Some(0));
}

/// F71: hosts of other languages send the socket's path as authority.
#[tokio::test]
async fn odd_authorities_do_no_harm() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    for authority in [
        "localhost",
        "unused",
        "",
        "%2Ftmp%2Fplugin1",
        "/tmp/plugin1",
    ] {
        let path = plugin.path.clone();
        let frames = tokio::task::spawn_blocking(move || raw_list_plugins(&path, authority))
            .await
            .unwrap();
        let answered = frames.contains(&DATA);
        assert!(
            answered || frames.contains(&RST_STREAM),
            "{authority:?}: {frames:?}"
        );
        if ["localhost", "unused"].contains(&authority) {
            assert!(answered, "{authority:?}: {frames:?}");
        }
        assert_eq!(commands(&plugin).await.len(), 1, "after {authority:?}");
    }
    kill(plugin).await;
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// ListPlugins by hand-made HTTP/2 frames; the types of the frames that come back for it.
fn raw_list_plugins(path: &Path, authority: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/generated.PluginLister/ListPlugins"),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        // HPACK literal without indexing, both strings plain.
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend_from_slice(&[kind, flags, 0, 0, 0, stream]);
        frame.extend_from_slice(payload);
        frame
    };
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frame(HEADERS, END_HEADERS, 1, &block));
    bytes.extend(frame(DATA, END_STREAM, 1, &[0; 5]));

    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&bytes).unwrap();
    let mut kinds = Vec::new();
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).unwrap();
        if head[8] == 1 {
            kinds.push(head[3]);
            if head[3] == RST_STREAM || head[4] & END_STREAM != 0 {
                break;
            }
        }
    }
    kinds
}

// ---- end

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
