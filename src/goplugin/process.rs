//! When the process has to end, other than by Shutdown: SIGTERM, and the death of the host.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::wait;

/// How often the parent is looked at. Together with the time for taking back it stays under
/// the 2 s that a plugin may outlive its host (F72).
const PARENT_LOOK: Duration = Duration::from_millis(400);

/// The signals of a plugin, caught from now on.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// # Errors
    /// The handlers cannot be installed.
    pub(super) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }
}

/// Process id of whoever started us.
pub(super) fn parent() -> Option<i32> {
    rustix::process::getppid().map(rustix::process::Pid::as_raw_pid)
}

/// Fires `stop` at SIGTERM or when the parent is no longer `host`, and returns when it has
/// fired for whatever reason. SIGINT is ignored, as Go plugins do: a terminal sends it to the
/// host as well, and the host decides.
pub(super) async fn watch(mut signals: Signals, host: Option<i32>, stop: &CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = signals.terminate.recv() => stop.cancel(),
            _ = signals.interrupt.recv() => {}
            () = wait::pause(PARENT_LOOK) => if parent() != host { stop.cancel() },
        }
    }
}
