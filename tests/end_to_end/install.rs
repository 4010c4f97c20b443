//! `install` with the real binary, over what may be there already.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use velero_plugin_csi_fastpoll::commands::launch::{Launch, Plugin};
use velero_plugin_csi_fastpoll::proto::generated::Empty;

use crate::support::{BINARY, kill};

const NAME: &str = "velero-plugin-csi-fastpoll";

/// A user who owns nothing.
const NOBODY: u32 = 65534;

fn install(target: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.env_clear().arg("install").arg(target);
    command
}

fn names(directory: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().into_string().unwrap()
    };
    let mut names: Vec<String> = directory.read_dir().unwrap().map(name).collect();
    names.sort();
    names
}

/// Exit code 1 and one line on stderr that names the target.
fn assert_refused(output: &Output, target: &Path, why: &str) {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty());
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(target.to_str().unwrap()), "{text}");
    assert!(text.contains(why), "{text}");
}

async fn serve(program: &Path, sockets: &Path) -> Plugin {
    let launch = Launch::of(program)
        .variable("VELERO_PLUGIN", "hello")
        .variable("TMPDIR", sockets);
    launch.serve().await.unwrap()
}

async fn assert_lists(plugin: &Plugin) {
    let answer = plugin.lister().list_plugins(Empty {}).await.unwrap();
    assert_eq!(answer.into_inner().plugins.len(), 1);
}

/// The binary with something behind its end: longer, and it runs.
fn longer_binary(path: PathBuf) -> (PathBuf, Vec<u8>) {
    let mut bytes = std::fs::read(BINARY).unwrap();
    bytes.extend_from_slice(&[7; 4096]);
    std::fs::write(&path, &bytes).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    (path, bytes)
}

/// T12, F84: writing into a running file would be refused (ETXTBSY), and a longer one would keep its old end.
#[tokio::test]
async fn longer_older_binary_is_running_then_it_runs_on_and_the_new_one_is_whole() {
    let (plugins, sockets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (file, _) = longer_binary(plugins.path().join(NAME));
    let old = serve(&file, sockets.path()).await;

    let output = install(plugins.path()).output().unwrap();

    assert!(output.status.success(), "{output:?}");
    assert!(std::fs::read(&file).unwrap() == std::fs::read(BINARY).unwrap());
    assert_eq!(names(plugins.path()), [NAME]);
    assert_lists(&old).await;
    let new = serve(&file, sockets.path()).await;
    assert_lists(&new).await;
    assert_eq!(kill(old).await.status.code(), Some(0));
    assert_eq!(kill(new).await.status.code(), Some(0));
}

/// A full disk, as far as a process can have one for itself: a write in the middle fails.
#[test]
fn write_fails_half_way_then_the_older_file_is_as_it_was_and_nothing_else_is_there() {
    let plugins = tempfile::tempdir().unwrap();
    let (file, before) = longer_binary(plugins.path().join(NAME));
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" install \"$1\"";
    let output = Command::new("/bin/sh")
        .args(["-c", script, BINARY])
        .arg(plugins.path())
        .output()
        .unwrap();
    assert_refused(&output, &file, "write the file: ");
    assert!(std::fs::read(&file).unwrap() == before);
    assert_eq!(names(plugins.path()), [NAME]);
}

/// Run as another user where the tests run as root, whom permissions do not stop.
#[test]
fn directory_is_read_only_then_it_is_said_and_nothing_changes() {
    let place = tempfile::tempdir().unwrap();
    let plugins = place.path().join("plugins");
    let program = place.path().join("program");
    std::fs::create_dir(&plugins).unwrap();
    std::fs::copy(BINARY, &program).unwrap();
    for path in [place.path(), &plugins, &program] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o555)).unwrap();
    }
    let mut command = Command::new(&program);
    command.env_clear().arg("install").arg(&plugins);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    assert_refused(
        &output,
        &plugins.join(NAME),
        "create a file in the directory: ",
    );
    assert_eq!(names(&plugins), Vec::<String>::new());
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn target_is_no_place_for_a_file_then_it_is_said_and_nothing_is_left() {
    let place = tempfile::tempdir().unwrap();
    let below_file = place.path().join("file/below");
    std::fs::write(place.path().join("file"), "").unwrap();
    let output = install(&below_file).output().unwrap();
    assert_refused(&output, &below_file, "is not a directory");

    // A directory has the plugin's name.
    let taken = place.path().join(NAME);
    std::fs::create_dir_all(taken.join("child")).unwrap();
    let output = install(place.path()).output().unwrap();
    assert_refused(&output, &taken, "it is not a regular file");
    assert_eq!(names(place.path()), ["file", NAME]);
    assert_eq!(names(&taken), ["child"]);
}

#[test]
fn target_is_missing_or_there_are_two_then_the_usage_is_shown() {
    for words in [
        &["install"][..],
        &["install", ""],
        &["install", "/tmp", "/tmp"],
    ] {
        let output = Command::new(BINARY)
            .env_clear()
            .args(words)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("install TARGET"), "{words:?}: {text}");
    }
}
