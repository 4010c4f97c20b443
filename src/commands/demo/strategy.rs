//! The strategies that the demo compares: what the plugin is told, and what that should give.
//!
//! May use: rules, model.

use std::time::Duration;

use crate::model::go_duration;
use crate::model::settings::{EarlySwitch, Settings, VARIABLE_EARLY_FAST_POLL};
use crate::rules::cadence::Cadence;

/// One way to wait for snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Looks as the built-in action does; the plugin's default.
    Slow,
    /// Looks often at first.
    Early,
}

impl Strategy {
    /// All, the slowest first.
    pub const ALL: [Self; 2] = [Self::Slow, Self::Early];

    /// Its name on the command line and in the tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Early => "early",
        }
    }

    /// What the plugin's environment says.
    #[must_use]
    pub const fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Slow => &[],
            Self::Early => &[(VARIABLE_EARLY_FAST_POLL, "true")],
        }
    }

    /// When the plugin looks, in words.
    #[must_use]
    pub fn looks(self) -> String {
        let Cadence {
            window,
            early_interval,
            interval,
            ..
        } = self.cadence();
        let interval = go_duration::short(interval);
        if window.is_zero() {
            format!("every {interval}")
        } else {
            format!(
                "every {} for {}, then every {interval}",
                go_duration::short(early_interval),
                go_duration::short(window)
            )
        }
    }

    /// The first look at or after `snapshot_time`: what one volume should take.
    #[must_use]
    pub fn expected(self, snapshot_time: Duration) -> Duration {
        let cadence = self.cadence();
        let (mut at, _) = cadence.next(None);
        while at < snapshot_time {
            (at, _) = cadence.next(Some(at));
        }
        at
    }

    /// The plugin's own cadence for its defaults and this environment.
    fn cadence(self) -> Cadence {
        Cadence::from_settings(&Settings {
            early: EarlySwitch {
                on: self == Self::Early,
                variable: None,
            },
            ..Settings::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_and_expectation_follow_the_cadence() {
        for (strategy, millis, expected) in [
            (Strategy::Slow, 0, 0),
            (Strategy::Slow, 1, 5),
            (Strategy::Slow, 5_000, 5),
            (Strategy::Slow, 5_001, 10),
            (Strategy::Early, 300, 1),
            (Strategy::Early, 1_200, 2),
            (Strategy::Early, 10_500, 15),
        ] {
            let time = Duration::from_millis(millis);
            assert_eq!(strategy.expected(time), Duration::from_secs(expected));
        }
        assert_eq!(Strategy::Slow.looks(), "every 5s");
        assert_eq!(Strategy::Early.looks(), "every 1s for 10s, then every 5s");
    }
}
