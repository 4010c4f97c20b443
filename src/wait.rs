//! The only clock: deadlines, the polling loop and the reasons to give up early.
//!
//! Everything here runs on tokio's clock, so a test can pause it and half an hour of waiting
//! takes milliseconds. May use: model.

use tokio_util::sync::CancellationToken;

/// Why a running request must end before its work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The process is told to end (Shutdown, SIGTERM) or its parent died.
    Stop,
    /// The client that asked has gone away; nobody will read the answer.
    CallerGone,
}

/// Two ways in which a request can be interrupted: the whole process stops, or its caller leaves.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    stop: CancellationToken,
    caller: CancellationToken,
}

impl Interrupt {
    /// An interrupt that fires with `stop` (process wide) or `caller` (this request).
    #[must_use]
    pub fn new(stop: CancellationToken, caller: CancellationToken) -> Self {
        Self { stop, caller }
    }

    /// The reason, if it has fired. Stop is reported before a caller that left.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        if self.stop.is_cancelled() {
            Some(Reason::Stop)
        } else if self.caller.is_cancelled() {
            Some(Reason::CallerGone)
        } else {
            None
        }
    }

    /// Completes when the interrupt fires.
    pub async fn raised(&self) -> Reason {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Reason::Stop,
            () = self.caller.cancelled() => Reason::CallerGone,
        }
    }
}

/// Completes after `duration`.
pub async fn pause(duration: std::time::Duration) {
    #[expect(clippy::disallowed_methods, reason = "this file owns the clock")]
    tokio::time::sleep(duration).await;
}
