//! The client-side request limit of client-go: so many requests per second, after a burst.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// A request limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Requests per second.
    pub qps: u32,
    /// Requests that may come at once.
    pub burst: u32,
}

impl Limit {
    /// What snapshot-controller and csi-snapshotter have when nobody says otherwise.
    pub const UPSTREAM_DEFAULT: Self = Self { qps: 5, burst: 10 };
}

/// A token bucket, first come first served.
#[derive(Debug)]
pub(super) struct Limiter {
    limit: Option<Limit>,
    /// When the bucket will be full again.
    full_at: Mutex<Instant>,
}

impl Limiter {
    pub(super) fn new(limit: Option<Limit>) -> Self {
        Self {
            limit,
            full_at: Mutex::new(Instant::now()),
        }
    }

    /// Waits for the right to send one request.
    pub(super) async fn take(&self) {
        let Some(limit) = self.limit else { return };
        let token = Duration::from_secs(1) / limit.qps.max(1);
        let allowed = {
            let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            *full_at = (*full_at).max(now) + token;
            // The bucket holds `burst` tokens: as long as it fills up within that time, a token is there.
            full_at
                .checked_sub(token * limit.burst.max(1))
                .unwrap_or(now)
        };
        tokio::time::sleep_until(allowed).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_come_in_a_burst_and_then_evenly() {
        let limiter = Limiter::new(Some(Limit { qps: 5, burst: 3 }));
        let start = Instant::now();
        let mut instants = Vec::new();
        for _ in 0..6 {
            limiter.take().await;
            instants.push(start.elapsed().as_millis());
        }
        assert_eq!(instants, [0, 0, 0, 200, 400, 600]);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let start = Instant::now();
        for _ in 0..3 {
            limiter.take().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "the burst is back");
    }
}
