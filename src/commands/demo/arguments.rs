//! The demo's command line. May use: model.

use std::time::Duration;

use lexopt::Arg;

use super::strategy::Strategy;
use crate::model::go_duration::GoDuration;

/// `demo --help`.
pub const HELP: &str = "\
velero-plugin-csi-fastpoll demo: watch the plugin at work, without a cluster

Starts an in-memory Kubernetes API with a snapshot controller and a storage, starts this binary as Velero
starts its plugins, backs up a virtual machine, and shows how long the guest was frozen.

    --volumes N           volumes of the virtual machine, 1 to 64 (default 4)
    --latency TIME        what the storage needs for a snapshot, 0s to 2m (default 1.2s)
    --bind-latency TIME   what the snapshot controller needs before that, 0s to 2m (default 0s)
    --strategy NAME       slow, early or all (default all)
                          slow: every 5 s, as the built-in action does; early: every second at first
    --json                one JSON document on stdout instead of text
    -v, --verbose         show what the plugin logs
    -h, --help            this text

A TIME is a Go duration, such as 300ms, 1.2s or 1m30s.
";

/// Enough to see what many volumes mean; the slow strategy takes five minutes for them.
const MOST_VOLUMES: u32 = 64;

/// Longer than this nobody watches, and both together stay well inside Velero's 10 minutes.
const LONGEST: Duration = Duration::from_mins(2);

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The help text.
    Help,
    /// The demo.
    Demo(Arguments),
}

/// How the demo runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Volumes of the virtual machine.
    pub volumes: u32,
    /// From the driver's call to the snapshot's handle.
    pub latency: Duration,
    /// From the VolumeSnapshot to its content.
    pub bind_latency: Duration,
    /// One backup each, in this order.
    pub strategies: Vec<Strategy>,
    /// JSON instead of text.
    pub json: bool,
    /// With the plugin's log.
    pub verbose: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            volumes: 4,
            latency: Duration::from_millis(1200),
            bind_latency: Duration::ZERO,
            strategies: Strategy::ALL.to_vec(),
            json: false,
            verbose: false,
        }
    }
}

impl Arguments {
    /// From the create of a VolumeSnapshot to its handle.
    #[must_use]
    pub fn snapshot_time(&self) -> Duration {
        self.bind_latency.saturating_add(self.latency)
    }
}

/// A command line that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentError {
    /// A value that is not accepted.
    #[error("{flag} {value:?}: {accepted} is accepted")]
    Value {
        /// Whose value.
        flag: &'static str,
        /// What was given.
        value: String,
        /// What is accepted.
        accepted: String,
    },
    /// No such flag, a flag without its value, or a value that no flag takes.
    #[error(transparent)]
    Form(#[from] lexopt::Error),
}

/// Reads the words after `demo`. Of a flag given twice the last counts.
///
/// # Errors
/// Says which flag is wrong, and what it accepts.
pub fn parse(words: &[String]) -> Result<Asked, ArgumentError> {
    let mut parser = lexopt::Parser::from_args(words);
    let mut arguments = Arguments::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Asked::Help),
            Arg::Short('v') | Arg::Long("verbose") => arguments.verbose = true,
            Arg::Long("json") => arguments.json = true,
            Arg::Long("volumes") => arguments.volumes = volumes(&text(&mut parser)?)?,
            Arg::Long("latency") => {
                arguments.latency = time("--latency", &text(&mut parser)?)?;
            }
            Arg::Long("bind-latency") => {
                arguments.bind_latency = time("--bind-latency", &text(&mut parser)?)?;
            }
            Arg::Long("strategy") => arguments.strategies = strategies(&text(&mut parser)?)?,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Asked::Demo(arguments))
}

fn text(parser: &mut lexopt::Parser) -> Result<String, ArgumentError> {
    Ok(parser.value()?.to_string_lossy().into_owned())
}

fn volumes(value: &str) -> Result<u32, ArgumentError> {
    value
        .parse()
        .ok()
        .filter(|volumes| (1..=MOST_VOLUMES).contains(volumes))
        .ok_or_else(|| ArgumentError::Value {
            flag: "--volumes",
            value: value.to_owned(),
            accepted: format!("a whole number from 1 to {MOST_VOLUMES}"),
        })
}

fn time(flag: &'static str, value: &str) -> Result<Duration, ArgumentError> {
    GoDuration::parse(value)
        .ok()
        .and_then(GoDuration::to_std)
        .filter(|time| *time <= LONGEST)
        .ok_or_else(|| ArgumentError::Value {
            flag,
            value: value.to_owned(),
            accepted: format!(
                "a Go duration from 0s to {}, such as 300ms or 1.2s,",
                GoDuration::from_std(LONGEST)
            ),
        })
}

fn strategies(value: &str) -> Result<Vec<Strategy>, ArgumentError> {
    if value == "all" {
        return Ok(Strategy::ALL.to_vec());
    }
    Strategy::ALL
        .into_iter()
        .find(|strategy| strategy.name() == value)
        .map(|strategy| vec![strategy])
        .ok_or_else(|| ArgumentError::Value {
            flag: "--strategy",
            value: value.to_owned(),
            accepted: "slow, early or all".to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Asked, ArgumentError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn no_words_then_the_defaults_that_the_help_names() {
        let Ok(Asked::Demo(arguments)) = parsed("") else {
            panic!("not the demo");
        };
        assert_eq!(arguments, Arguments::default());
        assert!(HELP.contains(&format!("(default {})", arguments.volumes)));
        let latency = GoDuration::from_std(arguments.latency).to_string();
        assert!(HELP.contains(&format!("(default {latency})")));
        assert!(HELP.contains(&format!("1 to {MOST_VOLUMES}")));
    }

    #[test]
    fn every_flag_in_both_forms() {
        let line = "--volumes=2 --latency 200ms --bind-latency=1m30s --strategy early --json -v";
        let expected = Arguments {
            volumes: 2,
            latency: Duration::from_millis(200),
            bind_latency: Duration::from_secs(90),
            strategies: vec![Strategy::Early],
            json: true,
            verbose: true,
        };
        assert_eq!(parsed(line).unwrap(), Asked::Demo(expected));
        assert_eq!(parsed("--volumes 2 --help").unwrap(), Asked::Help);
    }

    #[test]
    fn bad_value_then_flag_value_and_accepted_form_are_named() {
        for (line, flag, value, accepted) in [
            ("--volumes 0", "--volumes", "0", "from 1 to 64"),
            ("--volumes 65", "--volumes", "65", "from 1 to 64"),
            ("--volumes=four", "--volumes", "four", "a whole number"),
            ("--volumes -1", "--volumes", "-1", "a whole number"),
            ("--latency 2", "--latency", "2", "a Go duration"),
            ("--latency soon", "--latency", "soon", "such as 300ms"),
            ("--latency -1s", "--latency", "-1s", "from 0s to 2m0s"),
            ("--bind-latency 2h", "--bind-latency", "2h", "to 2m0s"),
            (
                "--strategy fast",
                "--strategy",
                "fast",
                "slow, early or all",
            ),
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{flag} {value:?}: ")), "{error}");
            assert!(error.contains(accepted), "{error}");
        }
    }

    #[test]
    fn bad_form_then_the_word_is_named() {
        for (line, word) in [
            ("--speed 3", "--speed"),
            ("more", "more"),
            ("--volumes", "--volumes"),
            ("--json=yes", "--json"),
            ("-x", "-x"),
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
