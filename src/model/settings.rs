//! What the process was told by its environment and by Velero's flags, as parsed values.
//!
//! Parsing is in [`crate::model::knobs`] (values a backup may override) and in the shell's
//! configuration reader (everything else).

use std::time::Duration;

/// Turns the early phase on or off.
pub const VARIABLE_EARLY_FAST_POLL: &str = "VELERO_CSI_EARLY_FAST_POLL";
/// Upstream's name for the same switch, read when ours is unset or empty.
pub const VARIABLE_EARLY_UPSTREAM: &str = "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING";
/// Length of the early phase.
pub const VARIABLE_EARLY_WINDOW: &str = "VELERO_CSI_EARLY_WINDOW";
/// Distance of two looks in the early phase.
pub const VARIABLE_EARLY_INTERVAL: &str = "VELERO_CSI_EARLY_INTERVAL";
/// Distance of two looks afterwards.
pub const VARIABLE_POLL_INTERVAL: &str = "VELERO_CSI_POLL_INTERVAL";
/// Limit of one look in the early phase.
pub const VARIABLE_EARLY_CALL_TIMEOUT: &str = "VELERO_CSI_EARLY_CALL_TIMEOUT";
/// Limit of one look afterwards, and of every other API call.
pub const VARIABLE_CALL_TIMEOUT: &str = "VELERO_CSI_CALL_TIMEOUT";
/// PVC labels that a VolumeSnapshot does not get.
pub const VARIABLE_EXCLUDED_LABELS: &str = "VELERO_CSI_EXCLUDED_LABELS";

/// Windows VSS thaws by itself after this time, so looking often pays only so long.
pub const DEFAULT_EARLY_WINDOW: Duration = Duration::from_secs(10);
/// Upstream's early interval.
pub const DEFAULT_EARLY_INTERVAL: Duration = Duration::from_secs(1);
/// Upstream's interval.
pub const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// A look that takes longer than two early intervals tells less than the next one.
pub const DEFAULT_EARLY_LOOK_LIMIT: Duration = Duration::from_secs(2);
/// As long as the distance of two looks.
pub const DEFAULT_LOOK_LIMIT: Duration = Duration::from_secs(5);
/// Velero's own default (A 4.4).
pub const DEFAULT_CLIENT_QPS: f32 = 100.0;
/// Velero's own default (A 4.4).
pub const DEFAULT_CLIENT_BURST: u32 = 100;
/// Velero's own default (A 4.4).
pub const DEFAULT_CLIENT_PAGE_SIZE: u32 = 500;

/// Whether the early phase is on, and who said so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlySwitch {
    /// The phase is on.
    pub on: bool,
    /// The environment variable or backup annotation that decided; `None` when none was set.
    pub variable: Option<&'static str>,
}

/// Least severe level that is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// For a developer.
    Debug,
    /// One line per decision and object.
    #[default]
    Info,
    /// Counted by Velero as a backup warning.
    Warn,
    /// Counted by Velero as a backup error.
    Error,
}

/// All settings of the process.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The early phase.
    pub early: EarlySwitch,
    /// How long the early phase lasts, counted from the create's answer.
    pub early_window: Duration,
    /// Distance of two looks in it.
    pub early_interval: Duration,
    /// Distance of two looks after it.
    pub poll_interval: Duration,
    /// Limit of one look in the early phase.
    pub early_look_limit: Duration,
    /// Limit of one look after it, and of every other API call.
    pub look_limit: Duration,
    /// Keys of PVC labels that are not copied to the VolumeSnapshot; a trailing `*` means prefix.
    pub label_deny: Vec<String>,
    /// Names given to `--features`; `None` when argv has no such flag.
    pub features: Option<Vec<String>>,
    /// Whether Velero gave us any argument at all.
    pub argv_present: bool,
    /// `--client-qps`: sustained API requests per second.
    pub client_qps: f32,
    /// `--client-burst`: API requests at once.
    pub client_burst: u32,
    /// `--client-page-size`: objects per LIST page.
    pub client_page_size: u32,
    /// `--kubeconfig`.
    pub kubeconfig: Option<String>,
    /// `--kubecontext`.
    pub kubecontext: Option<String>,
    /// `--global-backup-volume-policies-configmap`.
    pub global_policy_configmap: Option<String>,
    /// `--log-level`.
    pub log_level: LogLevel,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            early: EarlySwitch::default(),
            early_window: DEFAULT_EARLY_WINDOW,
            early_interval: DEFAULT_EARLY_INTERVAL,
            poll_interval: DEFAULT_POLL_INTERVAL,
            early_look_limit: DEFAULT_EARLY_LOOK_LIMIT,
            look_limit: DEFAULT_LOOK_LIMIT,
            label_deny: Vec::new(),
            features: None,
            argv_present: false,
            client_qps: DEFAULT_CLIENT_QPS,
            client_burst: DEFAULT_CLIENT_BURST,
            client_page_size: DEFAULT_CLIENT_PAGE_SIZE,
            kubeconfig: None,
            kubecontext: None,
            global_policy_configmap: None,
            log_level: LogLevel::default(),
        }
    }
}

/// A value that could not be taken as it was. It never stops the start: `using` holds instead,
/// and the first Execute of a process names all of them in one Warn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSetting {
    /// Environment variable, flag or annotation.
    pub variable: String,
    /// What was there (shortened, and with replacement characters where it was not UTF-8).
    pub value: String,
    /// What would have been accepted.
    pub accepted: String,
    /// What holds instead.
    pub using: String,
}

/// `NAME="VALUE" (accepted: …; using …)`.
impl std::fmt::Display for BadSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}={:?} (accepted: {}; using {})",
            self.variable, self.value, self.accepted, self.using
        )
    }
}

/// Longest part of a bad value that is repeated in messages, in characters.
const VALUE_SHOWN: usize = 80;

impl BadSetting {
    /// A bad setting whose value is shortened for messages.
    #[must_use]
    pub fn new(
        variable: &str,
        value: &str,
        accepted: impl Into<String>,
        using: impl Into<String>,
    ) -> Self {
        let mut shown: String = value.chars().take(VALUE_SHOWN).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self {
            variable: variable.to_owned(),
            value: shown,
            accepted: accepted.into(),
            using: using.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_long_bad_value_is_shortened_in_messages() {
        let bad = BadSetting::new("X", &"ä".repeat(10_000), "a number", "1");
        assert_eq!(bad.value.chars().count(), VALUE_SHOWN + 1);
        assert!(bad.to_string().ends_with("(accepted: a number; using 1)"));
    }
}
