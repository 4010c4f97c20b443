//! The values that the environment sets for the process and a Backup may set for itself.
//!
//! One parser for both: the environment variable and the annotation of a knob take the same
//! words. Pure; a bad value leaves the settings usable and is described, never fatal.

use std::time::Duration;

use super::go_duration::GoDuration;
use super::settings::{
    BadSetting, EarlySwitch, Settings, VARIABLE_CALL_TIMEOUT, VARIABLE_EARLY_CALL_TIMEOUT,
    VARIABLE_EARLY_FAST_POLL, VARIABLE_EARLY_INTERVAL, VARIABLE_EARLY_WINDOW,
    VARIABLE_POLL_INTERVAL,
};

/// One value that can be set for a process and overridden for a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// The early phase's switch.
    EarlyFastPoll,
    /// The early phase's length.
    EarlyWindow,
    /// Distance of looks in the early phase.
    EarlyInterval,
    /// Distance of looks after it.
    PollInterval,
    /// Limit of one look in the early phase.
    EarlyCallTimeout,
    /// Limit of one look after it.
    CallTimeout,
}

/// Where a knob's text was found, which decides by what name it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The process environment.
    Variable,
    /// An annotation on the Backup.
    Annotation,
}

/// An API server is asked this often at most, per volume.
pub const FLOOR_EARLY_INTERVAL: Duration = Duration::from_millis(100);
/// After the early phase nothing is gained by looking more often.
pub const FLOOR_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A shorter limit would fail healthy calls.
pub const FLOOR_CALL_TIMEOUT: Duration = Duration::from_millis(100);
/// Longer than any backup waits; a larger value is a typing mistake.
pub const MAXIMUM: Duration = Duration::from_hours(24);

/// Go's words for true and false (strconv.ParseBool), as an accepted form.
pub const ACCEPTED_BOOL: &str = "1, t, T, TRUE, true, True, 0, f, F, FALSE, false or False";

impl Knob {
    /// All knobs.
    pub const ALL: [Self; 6] = [
        Self::EarlyFastPoll,
        Self::EarlyWindow,
        Self::EarlyInterval,
        Self::PollInterval,
        Self::EarlyCallTimeout,
        Self::CallTimeout,
    ];

    /// The environment variable.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Self::EarlyFastPoll => VARIABLE_EARLY_FAST_POLL,
            Self::EarlyWindow => VARIABLE_EARLY_WINDOW,
            Self::EarlyInterval => VARIABLE_EARLY_INTERVAL,
            Self::PollInterval => VARIABLE_POLL_INTERVAL,
            Self::EarlyCallTimeout => VARIABLE_EARLY_CALL_TIMEOUT,
            Self::CallTimeout => VARIABLE_CALL_TIMEOUT,
        }
    }

    /// The annotation on a Backup.
    #[must_use]
    pub fn annotation(self) -> &'static str {
        match self {
            Self::EarlyFastPoll => "velero-plugin-csi-fastpoll/early-fast-poll",
            Self::EarlyWindow => "velero-plugin-csi-fastpoll/early-window",
            Self::EarlyInterval => "velero-plugin-csi-fastpoll/early-interval",
            Self::PollInterval => "velero-plugin-csi-fastpoll/poll-interval",
            Self::EarlyCallTimeout => "velero-plugin-csi-fastpoll/early-call-timeout",
            Self::CallTimeout => "velero-plugin-csi-fastpoll/call-timeout",
        }
    }

    fn name(self, origin: Origin) -> &'static str {
        match origin {
            Origin::Variable => self.variable(),
            Origin::Annotation => self.annotation(),
        }
    }

    fn floor(self) -> Duration {
        match self {
            Self::EarlyFastPoll | Self::EarlyWindow => Duration::ZERO,
            Self::EarlyInterval => FLOOR_EARLY_INTERVAL,
            Self::PollInterval => FLOOR_POLL_INTERVAL,
            Self::EarlyCallTimeout | Self::CallTimeout => FLOOR_CALL_TIMEOUT,
        }
    }

    fn slot(self, settings: &mut Settings) -> Option<&mut Duration> {
        match self {
            Self::EarlyFastPoll => None,
            Self::EarlyWindow => Some(&mut settings.early_window),
            Self::EarlyInterval => Some(&mut settings.early_interval),
            Self::PollInterval => Some(&mut settings.poll_interval),
            Self::EarlyCallTimeout => Some(&mut settings.early_look_limit),
            Self::CallTimeout => Some(&mut settings.look_limit),
        }
    }
}

/// Go's `strconv.ParseBool`: exactly its words, no trimming, no other case.
#[must_use]
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// Sets one knob from its text.
///
/// # Errors
/// The text is no such value, or out of range. Then a value under the floor has become the
/// floor, a bad switch in the environment has turned the early phase off, and everything else
/// is as it was before.
pub fn apply(
    settings: &mut Settings,
    knob: Knob,
    origin: Origin,
    text: &str,
) -> Result<(), BadSetting> {
    let name = knob.name(origin);
    match knob.slot(settings) {
        Some(slot) => apply_duration(slot, name, knob.floor(), text),
        None => apply_switch(&mut settings.early, name, origin, text),
    }
}

/// Sets every knob that a Backup's annotations name; what is bad is returned, in knob order.
pub fn apply_annotations<'a>(
    settings: &mut Settings,
    lookup: impl Fn(&str) -> Option<&'a str>,
) -> Vec<BadSetting> {
    Knob::ALL
        .into_iter()
        .filter_map(|knob| {
            let text = lookup(knob.annotation())?;
            apply(settings, knob, Origin::Annotation, text).err()
        })
        .collect()
}

fn apply_switch(
    early: &mut EarlySwitch,
    name: &'static str,
    origin: Origin,
    text: &str,
) -> Result<(), BadSetting> {
    if let Some(on) = parse_bool(text) {
        *early = EarlySwitch {
            on,
            variable: Some(name),
        };
        return Ok(());
    }
    if origin == Origin::Variable {
        *early = EarlySwitch {
            on: false,
            variable: Some(name),
        };
    }
    let using = if early.on { "true" } else { "false" };
    Err(BadSetting::new(name, text, ACCEPTED_BOOL, using))
}

fn apply_duration(
    slot: &mut Duration,
    name: &str,
    floor: Duration,
    text: &str,
) -> Result<(), BadSetting> {
    let parsed = GoDuration::parse(text).ok().and_then(GoDuration::to_std);
    match parsed {
        Some(value) if value >= floor && value <= MAXIMUM => {
            *slot = value;
            return Ok(());
        }
        Some(value) if value < floor => *slot = floor,
        _ => {}
    }
    let accepted = format!(
        "a Go duration such as 1.5s, from {} to {}",
        GoDuration::from_std(floor),
        GoDuration::from_std(MAXIMUM)
    );
    Err(BadSetting::new(
        name,
        text,
        accepted,
        GoDuration::from_std(*slot).to_string(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(knob: Knob, text: &str) -> (Settings, Option<BadSetting>) {
        let mut settings = Settings::default();
        let bad = apply(&mut settings, knob, Origin::Variable, text).err();
        (settings, bad)
    }

    #[test]
    fn switch_takes_exactly_the_words_of_go() {
        for word in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(parse_bool(word), Some(true), "{word}");
        }
        for word in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(parse_bool(word), Some(false), "{word}");
        }
        for word in ["", " true", "true ", "yes", "on", "tRUE", "y", "01", "2"] {
            assert_eq!(parse_bool(word), None, "{word}");
        }
    }

    #[test]
    fn bad_switch_in_the_environment_turns_the_phase_off() {
        let mut settings = Settings::default();
        settings.early.on = true;
        let bad = apply(&mut settings, Knob::EarlyFastPoll, Origin::Variable, "yes").unwrap_err();
        assert!(!settings.early.on);
        assert_eq!(bad.variable, "VELERO_CSI_EARLY_FAST_POLL");
        assert_eq!(bad.using, "false");
    }

    #[test]
    fn bad_switch_on_a_backup_keeps_the_process_wide_value() {
        let mut settings = Settings::default();
        settings.early.on = true;
        let bad = apply(
            &mut settings,
            Knob::EarlyFastPoll,
            Origin::Annotation,
            "yes",
        )
        .unwrap_err();
        assert!(settings.early.on);
        assert_eq!(bad.variable, "velero-plugin-csi-fastpoll/early-fast-poll");
        assert_eq!(bad.using, "true");
    }

    #[test]
    fn good_durations_are_taken_as_they_are() {
        assert_eq!(set(Knob::EarlyWindow, "0").0.early_window, Duration::ZERO);
        assert_eq!(
            set(Knob::EarlyWindow, "1m30s").0.early_window,
            Duration::from_secs(90)
        );
        assert_eq!(
            set(Knob::EarlyInterval, "100ms").0.early_interval,
            FLOOR_EARLY_INTERVAL
        );
        assert_eq!(
            set(Knob::PollInterval, "1s").0.poll_interval,
            FLOOR_POLL_INTERVAL
        );
        assert_eq!(
            set(Knob::CallTimeout, "3s").0.look_limit,
            Duration::from_secs(3)
        );
        assert_eq!(
            set(Knob::EarlyCallTimeout, "500ms").0.early_look_limit,
            Duration::from_millis(500)
        );
    }

    #[test]
    fn value_under_the_floor_becomes_the_floor() {
        let (settings, bad) = set(Knob::EarlyInterval, "1ms");
        assert_eq!(settings.early_interval, FLOOR_EARLY_INTERVAL);
        assert_eq!(bad.map(|bad| bad.using), Some("100ms".to_owned()));
        assert_eq!(
            set(Knob::PollInterval, "0s").0.poll_interval,
            FLOOR_POLL_INTERVAL
        );
    }

    #[test]
    fn negative_absurd_or_unreadable_values_keep_the_default() {
        for text in [
            "-1s",
            "24h0m1s",
            "100000h",
            "9999999999999h",
            "5",
            "fast",
            "",
            " 5s",
            "5 s",
        ] {
            let (settings, bad) = set(Knob::PollInterval, text);
            assert_eq!(settings, Settings::default(), "{text}");
            assert_eq!(bad.map(|bad| bad.using), Some("5s".to_owned()), "{text}");
        }
    }

    #[test]
    fn annotations_of_a_backup_are_applied_together() {
        let mut settings = Settings::default();
        let bad = apply_annotations(&mut settings, |key| match key {
            "velero-plugin-csi-fastpoll/early-fast-poll" => Some("true"),
            "velero-plugin-csi-fastpoll/early-window" => Some("20s"),
            "velero-plugin-csi-fastpoll/poll-interval" => Some("soon"),
            _ => None,
        });
        assert!(settings.early.on);
        assert_eq!(
            settings.early.variable,
            Some("velero-plugin-csi-fastpoll/early-fast-poll")
        );
        assert_eq!(settings.early_window, Duration::from_secs(20));
        assert_eq!(bad.len(), 1);
        assert_eq!(bad[0].variable, "velero-plugin-csi-fastpoll/poll-interval");
    }
}
