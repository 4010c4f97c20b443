//! The only clock: deadlines, the polling loop and the reasons to give up early.
//!
//! Everything here runs on tokio's clock, so a test can pause it and half an hour of waiting
//! takes milliseconds. Beside the layers: commands, wire, story and cluster may use it. May use: nothing of ours.

// The one file that may touch the clock, see clippy.toml.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// What the last look gets for itself, counted from the deadline.
pub const LAST_LOOK: Duration = Duration::from_secs(1);

/// A point in time, and what is left until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// `after` from now. Durations beyond the clock's range end in a year.
    #[must_use]
    pub fn after(after: Duration) -> Self {
        Stopwatch::start().deadline(after)
    }

    /// Time left; zero when passed.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// This deadline, and a look at its end.
    #[must_use]
    pub fn and_last_look(self) -> Self {
        Self(self.0.checked_add(LAST_LOOK).unwrap_or(self.0))
    }

    /// Waits for `work`, at most until this deadline; `None` when it passes first.
    pub async fn limit<T>(self, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.0, work).await.ok()
    }
}

/// Time since a start, for the elapsed fields of logs and errors.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The deadline `after` the start.
    #[must_use]
    pub fn deadline(self, after: Duration) -> Deadline {
        const YEAR: Duration = Duration::from_hours(24 * 365);
        Deadline(self.0.checked_add(after.min(YEAR)).unwrap_or(self.0))
    }
}

/// Waits for `after`.
pub async fn pause(after: Duration) {
    sleep(after).await;
}

/// What one look may spend on the wire.
///
/// Time in our own queue (in-flight limit, client QPS) is not counted: our own limits must never
/// turn into an error of a wait (W-4, F03).
#[derive(Debug)]
pub struct Budget {
    limit: Duration,
    left_us: AtomicU64,
}

impl Budget {
    /// A budget of `limit` in all.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            left_us: AtomicU64::new(u64::try_from(limit.as_micros()).unwrap_or(u64::MAX)),
        }
    }

    /// What it was at the start.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// What is left of it.
    #[must_use]
    pub fn left(&self) -> Duration {
        Duration::from_micros(self.left_us.load(Ordering::Relaxed))
    }

    /// Runs `work` within what is left of the budget and of the deadline; `None` when it did not fit.
    pub async fn spend<T>(&self, deadline: Deadline, work: impl Future<Output = T>) -> Option<T> {
        let started = Instant::now();
        let result = timeout(self.left().min(deadline.left()), work).await.ok();
        let spent = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let rest = self.left_us.load(Ordering::Relaxed).saturating_sub(spent);
        self.left_us.store(rest, Ordering::Relaxed);
        result
    }
}

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

    /// Completes when the process is told to end; a caller that left does not count.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }
}

/// One look of a wait.
#[derive(Debug)]
pub struct Look {
    /// When it started, since the start of the wait.
    pub at: Duration,
    /// What it may spend on the wire.
    pub budget: Arc<Budget>,
    /// When it ends at the latest.
    pub deadline: Deadline,
}

/// What a look found.
#[derive(Debug)]
pub enum Seen<T> {
    /// What was waited for.
    Done(T),
    /// Not yet.
    NotYet,
    /// Not yet known: the look ran out of its own time.
    TooSlow,
}

/// Something that can be looked at again and again.
pub trait Looker: Send {
    /// What is waited for.
    type Found;

    /// Looks once, within the look's budget and deadline.
    fn look(&mut self, look: Look) -> impl Future<Output = Seen<Self::Found>> + Send;
}

/// Why a wait ended without the thing waited for.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// The deadline passed; the last look was made and found nothing.
    TimedOut,
    /// Interrupted.
    Interrupted(Reason),
}

/// How far a look's limit grows after looks that were too slow.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

/// Looks at the instants of `schedule` until one look is [`Seen::Done`], `timeout` has passed since
/// `started`, or the interrupt fires.
///
/// `schedule` gives, for the time since `started` (`None` before the first look), the next instant to
/// look at and what that look may spend on the wire.
///
/// Instants are fixed: a slow look never shifts the others, those that it covers are dropped, and two
/// looks never run at once. After a look that ran out of its own time the next may take twice as
/// long, up to 10 s. One last look starts at the timeout itself and gets [`LAST_LOOK`]. A look that
/// is still running when the timeout passes is dropped for it.
///
/// # Errors
/// [`Ended`] says why there is nothing.
pub async fn until<L: Looker>(
    started: Stopwatch,
    timeout: Duration,
    schedule: impl Fn(Option<Duration>) -> (Duration, Duration) + Send,
    interrupt: &Interrupt,
    looker: &mut L,
) -> Result<L::Found, Ended> {
    let deadline = started.deadline(timeout);
    let (mut at, mut limit) = schedule(None);
    let mut stretch = 1_u32;
    loop {
        let last = at >= timeout;
        let ends = if last {
            started.deadline(timeout.saturating_add(LAST_LOOK))
        } else {
            deadline
        };
        let budget = if last {
            LAST_LOOK
        } else {
            limit.saturating_mul(stretch).min(LONGEST_LOOK.max(limit))
        };
        let this = Look {
            at: started.elapsed(),
            budget: Arc::new(Budget::new(budget)),
            deadline: ends,
        };
        let seen = tokio::select! {
            biased;
            reason = interrupt.raised() => return Err(Ended::Interrupted(reason)),
            seen = ends.limit(looker.look(this)) => seen,
        };
        match seen {
            Some(Seen::Done(value)) => return Ok(value),
            Some(Seen::NotYet) => stretch = 1,
            Some(Seen::TooSlow) | None => stretch = stretch.saturating_mul(2).min(16),
        }
        if last {
            return Err(Ended::TimedOut);
        }
        (at, limit) = schedule(Some(started.elapsed()));
        at = at.min(timeout);
        tokio::select! {
            biased;
            reason = interrupt.raised() => return Err(Ended::Interrupted(reason)),
            () = sleep_until(started.deadline(at).0) => {}
        }
    }
}
