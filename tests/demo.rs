//! The demo as a person starts it: what it says, what it exits with, and that nothing stays behind.

#![cfg(feature = "demo")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_velero-plugin-csi-fastpoll");

/// The demo with its temporary directory inside `scratch`.
fn demo(scratch: &Path, line: &str) -> Command {
    let mut command = Command::new(BINARY);
    command
        .env("TMPDIR", scratch)
        .arg("demo")
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the demo to its end and checks that nothing of it is left.
fn run(line: &str) -> Output {
    let scratch = tempfile::tempdir().unwrap();
    let output = demo(scratch.path(), line).output().unwrap();
    assert_nothing_left(scratch.path());
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The demo's processes: each knows `scratch` from its environment.
fn processes(scratch: &Path) -> usize {
    let name = scratch.to_str().unwrap().as_bytes();
    let is_ours = |environment: &[u8]| environment.windows(name.len()).any(|part| part == name);
    Path::new("/proc")
        .read_dir()
        .unwrap()
        // A process may end while it is looked at.
        .filter_map(|process| std::fs::read(process.ok()?.path().join("environ")).ok())
        .filter(|environment| is_ours(environment))
        .count()
}

fn assert_nothing_left(scratch: &Path) {
    let files: Vec<_> = scratch.read_dir().unwrap().collect();
    assert!(files.is_empty(), "{files:?}");
    assert_eq!(processes(scratch), 0);
}

fn micros(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("not a time: {value}"))
}

#[test]
fn json_then_one_document_whose_figures_agree_with_each_other() {
    let output = run("--volumes 1 --latency 200ms --strategy all --json");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["volumes"], 1);
    assert_eq!(report["latency_us"], 200_000);
    assert_eq!(report["thaw_us"], 10_000_000);

    let strategies = report["strategies"].as_array().unwrap();
    let names: Vec<&Value> = strategies.iter().map(|one| &one["strategy"]).collect();
    assert_eq!(names, ["slow", "early"]);
    let (slow, early) = (&strategies[0], &strategies[1]);
    assert_eq!(slow["looks_at"], "every 5s");
    assert_eq!(early["looks_at"], "every 1s for 10s, then every 5s");
    assert!(micros(&early["window_us"]) < micros(&slow["window_us"]));
    // The first look after 200 ms.
    assert!(micros(&slow["window_us"]) >= 5_000_000, "{slow}");
    assert!(micros(&early["window_us"]) >= 1_000_000, "{early}");

    for outcome in strategies {
        assert_eq!(outcome["exit_status"], 0);
        let in_time = micros(&outcome["window_us"]) < 10_000_000;
        assert_eq!(outcome["in_time"], in_time);
        assert!(micros(&outcome["handshake_us"]) > 0);
        let volumes = outcome["volumes"].as_array().unwrap();
        assert_eq!(volumes.len(), 1);
        let volume = &volumes[0];
        assert_eq!(volume["pvc"], "win2022-system");
        let name = volume["volume_snapshot"].as_str().unwrap();
        assert!(name.starts_with("velero-win2022-system-"), "{name}");
        let content = volume["content"].as_str().unwrap();
        assert!(content.starts_with("snapcontent-"), "{content}");
        assert_eq!(volume["handle"], "snap-1");
        assert!(micros(&volume["cut_after_us"]) >= 200_000, "{volume}");
        let (bound, handle) = (
            micros(&volume["bound_after_us"]),
            micros(&volume["handle_after_us"]),
        );
        assert!(bound <= handle, "{volume}");
        assert!(handle <= micros(&volume["execute_us"]), "{volume}");
        assert!(micros(&volume["execute_us"]) <= micros(&outcome["window_us"]));
        // A create, and a request or two at each look.
        let (looks, requests) = (
            volume["looks"].as_u64().unwrap(),
            volume["requests"].as_u64().unwrap(),
        );
        assert!(looks >= 2 && requests > looks, "{volume}");
        assert_eq!(outcome["requests"], volume["requests"]);
    }
}

#[test]
fn text_then_every_strategy_and_volume_is_named_and_nothing_is_for_terminals() {
    let output = run("--volumes 2 --latency 200ms --bind-latency 50ms --strategy early -v");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "");
    let stdout = text(&output.stdout);
    assert!(!stdout.contains('\u{1b}'), "{stdout}");
    let begin = "Backs up a Windows virtual machine with 2 volumes on a storage that takes 250 ms";
    assert!(stdout.starts_with(begin), "{stdout}");
    for part in [
        "  early  looks every 1s for 10s, then every 5s: about 1 s a volume, 2 s in all\n",
        "early: plugin started",
        "\n  win2022-system ",
        "\n  win2022-data-1 ",
        "  plugin info: the storage has cut the snapshot (",
        "| early    | every 1s for 10s, then every 5s |",
        "| early    | win2022-system |",
        "| early    | win2022-data-1 |",
        "OK, ",
        "Next: ",
    ] {
        assert!(stdout.contains(part), "{part}\n{stdout}");
    }
    assert!(!stdout.contains("slow"), "{stdout}");
    let (_, section) = stdout.rsplit_once("section \"").unwrap();
    let (section, _) = section.split_once('"').unwrap();
    let readme = include_str!("../README.md");
    assert!(readme.contains(&format!("\n## {section}\n")), "{section}");
}

#[test]
fn all_strategies_then_the_table_compares_them() {
    let output = run("--volumes 1 --latency 200ms");
    assert!(output.status.success(), "{output:?}");
    let stdout = text(&output.stdout);
    for part in [
        "| slow     | win2022-system |",
        "| early    | win2022-system |",
        "VELERO_CSI_EARLY_FAST_POLL=true freezes the guest ",
    ] {
        assert!(stdout.contains(part), "{part}\n{stdout}");
    }
}

#[test]
fn bad_arguments_then_exit_2_and_one_line_that_names_them() {
    for (line, parts) in [
        ("--volumes 0", ["--volumes \"0\"", "1 to 64"]),
        ("--latency soon", ["--latency \"soon\"", "Go duration"]),
        ("--bind-latency -1s", ["--bind-latency \"-1s\"", "300ms"]),
        (
            "--strategy fast",
            ["--strategy \"fast\"", "slow, early or all"],
        ),
        ("--speed", ["--speed", "invalid option"]),
        ("twice", ["twice", "unexpected argument"]),
        ("--latency", ["--latency", "missing argument"]),
    ] {
        let output = run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
        let stderr = text(&output.stderr);
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.ends_with(" (see demo --help)\n"), "{stderr}");
        for part in parts {
            assert_eq!(stderr.matches(part).count(), 1, "{line}: {stderr}");
        }
    }
}

#[test]
fn help_then_every_flag_on_stdout() {
    let output = run("--help");
    assert!(output.status.success());
    let stdout = text(&output.stdout);
    for flag in [
        "--volumes",
        "--latency",
        "--bind-latency",
        "--strategy",
        "--json",
        "--verbose",
        "--help",
    ] {
        assert!(stdout.contains(flag), "{flag}");
    }
}

/// Starts a demo that would take minutes and reads until the plugin waits, with something to take back.
fn waiting(scratch: &Path) -> (Child, impl BufRead + use<>) {
    let mut child = demo(scratch, "--volumes 64 --latency 30s -v")
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting_for=") {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "the demo ended");
    }
    (child, stdout)
}

#[test]
fn signal_then_the_plugin_is_ended_and_the_directory_removed() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let scratch = tempfile::tempdir().unwrap();
        let (mut child, mut stdout) = waiting(scratch.path());
        assert_eq!(scratch.path().read_dir().unwrap().count(), 1);
        assert_eq!(processes(scratch.path()), 2, "the demo and the plugin");
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert_nothing_left(scratch.path());
    }
}

#[test]
fn reader_that_has_gone_then_a_quiet_end() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut child, stdout) = {
        let mut child = demo(
            scratch.path(),
            "--volumes 3 --latency 200ms --strategy early",
        )
        .spawn()
        .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        (child, stdout)
    };
    drop(stdout);
    assert!(child.wait().unwrap().success());
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(stderr, "");
    assert_nothing_left(scratch.path());
}
