//! The cluster's clock: a fixed epoch plus what tokio's clock says has passed.
//!
//! Nothing else in this crate asks for the time, so under a paused clock every timestamp is exact and every run is the same.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// When every cluster starts: 2026-01-01T00:00:00Z.
const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Time since the cluster started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// How long the cluster has been there.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The instant that is `since_start` after the start.
    pub(crate) fn at(&self, since_start: Duration) -> Instant {
        self.start + since_start
    }

    /// Nanoseconds since 1970, as in a content's `status.creationTime`.
    pub fn unix_nanos(&self) -> i64 {
        let passed = i64::try_from(self.elapsed().as_nanos()).unwrap_or(i64::MAX);
        EPOCH
            .as_second()
            .saturating_mul(1_000_000_000)
            .saturating_add(passed)
    }

    /// Now as `metav1.Time` prints it: whole seconds, UTC.
    pub fn rfc3339(&self) -> String {
        rfc3339(self.unix_nanos())
    }
}

/// `metav1.Time` of nanoseconds since 1970.
pub(crate) fn rfc3339(unix_nanos: i64) -> String {
    Timestamp::from_second(unix_nanos.div_euclid(1_000_000_000))
        .unwrap_or(EPOCH)
        .to_string()
}
