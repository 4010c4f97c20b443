//! Settings from the environment and Velero's flags.
//!
//! The environment is given as a function, so that only main reads it. Every bad value is
//! collected, none stops the start: a plugin that does not come up stops the Velero server.
//! May use: cli, model.

use std::ffi::OsString;
use std::str::FromStr;

use crate::cli::Flags;
use crate::model::knobs::{self, ACCEPTED_BOOL, Knob, Origin};
use crate::model::settings::{
    BadSetting, EarlySwitch, LogLevel, Settings, VARIABLE_EARLY_UPSTREAM, VARIABLE_EXCLUDED_LABELS,
};

/// Looks a variable of the environment up.
pub type Lookup<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// More requests per second than an API server answers to one client; a larger value is a
/// mistake.
const MAXIMUM_RATE: u32 = 100_000;

/// The settings, and every value that could not be taken as it was.
#[must_use]
pub fn read(lookup: &Lookup<'_>, flags: &Flags) -> (Settings, Vec<BadSetting>) {
    let mut reader = Reader {
        lookup,
        settings: Settings::default(),
        bad: Vec::new(),
    };
    reader.knobs();
    reader.upstream_switch();
    reader.excluded_labels();
    reader.flags(flags);
    (reader.settings, reader.bad)
}

struct Reader<'a> {
    lookup: &'a Lookup<'a>,
    settings: Settings,
    bad: Vec<BadSetting>,
}

impl Reader<'_> {
    /// A variable that is set and not empty. What is not UTF-8 keeps replacement characters,
    /// which no value of ours accepts.
    fn variable(&self, name: &str) -> Option<String> {
        let value = (self.lookup)(name)?;
        (!value.is_empty()).then(|| value.to_string_lossy().into_owned())
    }

    fn knobs(&mut self) {
        for knob in Knob::ALL {
            if let Some(text) = self.variable(knob.variable()) {
                let result = knobs::apply(&mut self.settings, knob, Origin::Variable, &text);
                self.bad.extend(result.err());
            }
        }
    }

    /// Upstream's switch counts where ours is unset or empty.
    fn upstream_switch(&mut self) {
        if self.settings.early.variable.is_some() {
            return;
        }
        let Some(text) = self.variable(VARIABLE_EARLY_UPSTREAM) else {
            return;
        };
        let on = knobs::parse_bool(&text);
        if on.is_none() {
            let bad = BadSetting::new(VARIABLE_EARLY_UPSTREAM, &text, ACCEPTED_BOOL, "false");
            self.bad.push(bad);
        }
        self.settings.early = EarlySwitch {
            on: on.unwrap_or(false),
            variable: Some(VARIABLE_EARLY_UPSTREAM),
        };
    }

    fn excluded_labels(&mut self) {
        let Some(text) = self.variable(VARIABLE_EXCLUDED_LABELS) else {
            return;
        };
        let entries = text
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty());
        let (good, odd): (Vec<&str>, Vec<&str>) = entries.partition(|entry| is_label_entry(entry));
        self.settings.label_deny = good.into_iter().map(str::to_owned).collect();
        if !odd.is_empty() {
            self.bad.push(BadSetting::new(
                VARIABLE_EXCLUDED_LABELS,
                &odd.join(","),
                "label keys with commas between them, each with an optional * at its end",
                "the other entries",
            ));
        }
    }

    fn flags(&mut self, flags: &Flags) {
        let defaults = Settings::default();
        self.settings.argv_present = flags.present;
        self.settings.features.clone_from(&flags.features);
        self.settings.kubeconfig = given(flags.kubeconfig.as_ref());
        self.settings.kubecontext = given(flags.kubecontext.as_ref());
        self.settings.global_policy_configmap = given(flags.global_policy_configmap.as_ref());
        if let Some(text) = &flags.log_level {
            match log_level(text) {
                Some(level) => self.settings.log_level = level,
                None => self.bad.push(BadSetting::new(
                    "--log-level",
                    text,
                    "trace, debug, info, warning, error, fatal or panic",
                    "info",
                )),
            }
        }
        self.settings.client_qps = self.number(
            "--client-qps",
            flags.client_qps.as_ref(),
            defaults.client_qps,
            |value| *value > 0.0 && f64::from(*value) <= f64::from(MAXIMUM_RATE),
            "a number over 0 and up to 100000",
        );
        self.settings.client_burst = self.number(
            "--client-burst",
            flags.client_burst.as_ref(),
            defaults.client_burst,
            |value| (1..=MAXIMUM_RATE).contains(value),
            "a whole number from 1 to 100000",
        );
        self.settings.client_page_size = self.number(
            "--client-page-size",
            flags.client_page_size.as_ref(),
            defaults.client_page_size,
            |value| (1..=MAXIMUM_RATE).contains(value),
            "a whole number from 1 to 100000",
        );
    }

    fn number<T: FromStr + ToString>(
        &mut self,
        name: &str,
        text: Option<&String>,
        default: T,
        accepts: impl Fn(&T) -> bool,
        accepted: &str,
    ) -> T {
        let Some(text) = text else { return default };
        if let Some(value) = text.parse().ok().filter(accepts) {
            return value;
        }
        self.bad
            .push(BadSetting::new(name, text, accepted, default.to_string()));
        default
    }
}

fn given(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

/// As logrus reads levels: in any case, `warning` and `warn` alike. Nothing of ours is worse
/// than an error.
fn log_level(text: &str) -> Option<LogLevel> {
    Some(match text.to_ascii_lowercase().as_str() {
        "trace" => LogLevel::Trace,
        "debug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "warn" | "warning" => LogLevel::Warn,
        "error" | "fatal" | "panic" => LogLevel::Error,
        _ => return None,
    })
}

fn is_label_entry(entry: &str) -> bool {
    let key = entry.strip_suffix('*').unwrap_or(entry);
    key.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

#[cfg(test)]
mod tests;
