//! From exec to the handshake line.

use super::*;

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
