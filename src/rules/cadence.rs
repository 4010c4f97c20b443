//! When to look for the snapshot handle: fixed instants, early ones close together.
//!
//! Pure arithmetic over durations since the VolumeSnapshot was created. May use: model.

use std::time::Duration;

use crate::model::settings::Settings;

/// The two-phase cadence of one wait.
///
/// Early: at `k × early_interval` inside the window and at its end; afterwards at
/// `window + k × interval`. Without an early window: at `k × interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// Length of the early window; zero when the early phase is off.
    pub window: Duration,
    /// Distance of looks inside the early window.
    pub early_interval: Duration,
    /// Distance of looks afterwards.
    pub interval: Duration,
    /// What one early look may spend on the wire.
    pub early_limit: Duration,
    /// What one later look may spend on the wire.
    pub limit: Duration,
}

impl Cadence {
    /// The cadence that the settings ask for.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            window: if settings.early.on {
                settings.early_window
            } else {
                Duration::ZERO
            },
            early_interval: settings.early_interval,
            interval: settings.poll_interval,
            early_limit: settings.early_look_limit,
            limit: settings.look_limit,
        }
    }

    /// The first instant after `elapsed` (`None`: the start) and what the look made then may spend on
    /// the wire.
    #[must_use]
    pub fn next(&self, elapsed: Option<Duration>) -> (Duration, Duration) {
        let Some(elapsed) = elapsed else {
            return (
                Duration::ZERO,
                if self.window.is_zero() {
                    self.limit
                } else {
                    self.early_limit
                },
            );
        };
        if elapsed < self.window {
            let early = step_after(elapsed, self.early_interval);
            if early < self.window {
                return (early, self.early_limit);
            }
            return (self.window, self.limit);
        }
        let later = step_after(elapsed.saturating_sub(self.window), self.interval);
        (self.window.saturating_add(later), self.limit)
    }
}

/// The first multiple of `step` that is greater than `elapsed`.
fn step_after(elapsed: Duration, step: Duration) -> Duration {
    let step_ns = step.as_nanos().max(1);
    let next = (elapsed.as_nanos() / step_ns)
        .saturating_add(1)
        .saturating_mul(step_ns);
    let seconds = u64::try_from(next / 1_000_000_000).unwrap_or(u64::MAX);
    let nanos = u32::try_from(next % 1_000_000_000).unwrap_or(0);
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn cadence(window: u64) -> Cadence {
        Cadence {
            window: SECOND * u32::try_from(window).unwrap(),
            early_interval: SECOND,
            interval: SECOND * 5,
            early_limit: SECOND * 2,
            limit: SECOND * 5,
        }
    }

    fn instants(cadence: &Cadence, count: usize) -> Vec<f64> {
        std::iter::successors(Some(Duration::ZERO), |at| Some(cadence.next(Some(*at)).0))
            .take(count)
            .map(|at| at.as_secs_f64())
            .collect()
    }

    #[test]
    fn window_of_ten_seconds_then_looks_at_every_second_and_every_five_afterwards() {
        let expected = [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 15., 20., 25.];
        assert_eq!(instants(&cadence(10), 14), expected);
    }

    #[test]
    fn early_phase_off_then_looks_every_five_seconds() {
        assert_eq!(instants(&cadence(0), 4), [0., 5., 10., 15.]);
    }

    #[test]
    fn window_that_is_no_multiple_of_the_interval_then_a_look_at_its_end() {
        let cadence = Cadence {
            window: Duration::from_millis(2500),
            ..cadence(0)
        };
        assert_eq!(instants(&cadence, 6), [0., 1., 2., 2.5, 7.5, 12.5]);
    }

    #[test]
    fn interval_longer_than_the_window_then_only_its_end_is_looked_at() {
        let cadence = Cadence {
            early_interval: SECOND * 30,
            ..cadence(3)
        };
        assert_eq!(instants(&cadence, 4), [0., 3., 8., 13.]);
    }

    #[test]
    fn look_that_covers_instants_then_they_are_dropped() {
        let (next, _) = cadence(10).next(Some(Duration::from_millis(3200)));
        assert_eq!(next, SECOND * 4);
    }

    proptest! {
        #[test]
        fn next_instant_is_always_later_and_never_more_than_one_interval_away(
            window in 0_u64..100_000, early in 100_u64..10_000, late in 1_000_u64..20_000, at in 0_u64..200_000,
        ) {
            let cadence = Cadence {
                window: Duration::from_millis(window),
                early_interval: Duration::from_millis(early),
                interval: Duration::from_millis(late),
                early_limit: SECOND,
                limit: SECOND,
            };
            let at = Duration::from_millis(at);
            let (next, _) = cadence.next(Some(at));
            prop_assert!(next > at);
            prop_assert!(next <= at + cadence.interval.max(cadence.early_interval));
        }
    }
}
