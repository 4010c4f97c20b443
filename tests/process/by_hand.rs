//! What a person sees who starts the binary.

use super::*;

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
    assert!(
        text.contains("/no/such/directory/ is not a directory"),
        "{text}"
    );
}
