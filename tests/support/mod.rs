//! What the tests that start the real binary share: how to start it, and how to wait with a limit.
//!
//! The host's side of the protocol is the demo's, `commands::launch`.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::disallowed_methods, reason = "a host has its own clock")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test code"
)]

use std::path::Path;
use std::time::Duration;

use velero_plugin_csi_fastpoll::commands::launch::{Ended, Launch, Plugin, Started};

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_velero-plugin-csi-fastpoll");

/// Longer than anything here takes; a test that reaches it fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The binary under test as Velero starts it (A 1.2), with its sockets in `scratch`.
pub fn launch(scratch: &Path) -> Launch {
    Launch::of_plugin(Path::new(BINARY)).variable("TMPDIR", scratch)
}

/// Process id.
pub fn id(started: &Started) -> rustix::process::Pid {
    let id = started.child.id().expect("the process runs");
    rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

/// Ends a plugin as go-plugin does (A 2.6); it answers Shutdown and need not be killed.
pub async fn kill(plugin: Plugin) -> Ended {
    let ended = plugin.kill().await.expect("wait for the plugin");
    assert!(ended.shutdown_answered, "Shutdown is answered");
    assert!(ended.status.code().is_some(), "{}", ended.status);
    ended
}

/// Waits for an end that has another reason.
pub async fn ended(started: Started) -> Ended {
    let ended = within(PATIENCE, started.ended(PATIENCE)).await;
    ended.expect("wait for the plugin")
}

/// The future's value, or a failed test.
pub async fn within<F: Future>(limit: Duration, future: F) -> F::Output {
    let done = tokio::time::timeout(limit, future).await;
    done.unwrap_or_else(|_| panic!("not done within {limit:?}"))
}

/// Whether the future is still pending after `time`.
pub async fn is_pending_for<F: Future>(time: Duration, future: F) -> bool {
    tokio::time::timeout(time, future).await.is_err()
}

/// A line that Velero reads as a log record (T4, P-22, P-24), as its object.
pub fn log_record(line: &str) -> serde_json::Map<String, serde_json::Value> {
    assert!(line.len() <= 60 * 1024, "{} bytes", line.len());
    let value: serde_json::Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"));
    let record = value
        .as_object()
        .unwrap_or_else(|| panic!("not an object: {line}"))
        .clone();
    for key in ["@message", "@level"] {
        assert!(
            record.get(key).is_some_and(serde_json::Value::is_string),
            "{key}: {line}"
        );
    }
    for key in ["@timestamp", "namespace", "name", "resource"] {
        assert!(
            record.get(key).is_none_or(serde_json::Value::is_string),
            "{key}: {line}"
        );
    }
    record
}
