//! The command line: what a person may ask for, and Velero's own flags.
//!
//! Velero starts a plugin with the server's flags of whatever version it is (A 4.4, T7, F76), so
//! nothing here can fail: flags of interest are found as pflag would find them, everything else
//! is passed over. May use: model.

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Serve as a plugin.
    Serve,
    /// Print the version.
    Version,
    /// Print how to use it.
    Help,
    /// Copy the own executable to this path.
    Install {
        /// A directory, or the file to create.
        target: String,
    },
    /// `install` without or with too many words.
    InstallUsage,
    /// Show the plugin at work against an in-memory API.
    Demo {
        /// What follows the word.
        arguments: Vec<String>,
    },
    /// Started by hand with nothing we know.
    NotByHand,
}

/// The mode for `arguments` (without `argv[0]`). With the host's cookie it is always
/// [`Mode::Serve`], whatever words there are.
#[must_use]
pub fn mode(arguments: &[String], cookie_given: bool) -> Mode {
    if cookie_given {
        return Mode::Serve;
    }
    let mut words = arguments.iter().map(String::as_str);
    match words.next() {
        Some("--version" | "-V" | "version") => Mode::Version,
        Some("--help" | "-h" | "help") => Mode::Help,
        Some("install") => match (words.next(), words.next()) {
            (Some("--help" | "-h"), _) => Mode::Help,
            (Some(target), None) if !target.is_empty() => Mode::Install {
                target: target.to_owned(),
            },
            _ => Mode::InstallUsage,
        },
        Some("demo") => Mode::Demo {
            arguments: words.map(str::to_owned).collect(),
        },
        _ => Mode::NotByHand,
    }
}

/// Velero's flags that we honour, as text. Of a flag given twice the last counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// There is any argument at all.
    pub present: bool,
    /// `--log-level`
    pub log_level: Option<String>,
    /// `--features`; given twice, the last list counts, as in the server itself.
    pub features: Option<Vec<String>>,
    /// `--client-qps`
    pub client_qps: Option<String>,
    /// `--client-burst`
    pub client_burst: Option<String>,
    /// `--client-page-size`
    pub client_page_size: Option<String>,
    /// `--kubeconfig`
    pub kubeconfig: Option<String>,
    /// `--kubecontext`
    pub kubecontext: Option<String>,
    /// `--global-backup-volume-policies-configmap`
    pub global_policy_configmap: Option<String>,
}

/// Finds the flags of interest (P-15): `--name=value`, `--name value`, up to `--`. A flag of interest takes the next word whatever it looks like, as
/// pflag does; no other word ever takes one, so a boolean flag cannot swallow anything.
#[must_use]
pub fn flags(arguments: &[String]) -> Flags {
    let mut flags = Flags {
        present: !arguments.is_empty(),
        ..Flags::default()
    };
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            if let Some(place) = place(&mut flags, name)
                && let Some(value) = value.or_else(|| words.next())
            {
                place.put(value);
            }
        }
    }
    flags
}

/// Where a flag's value goes.
enum Place<'a> {
    Last(&'a mut Option<String>),
    LastList(&'a mut Option<Vec<String>>),
}

impl Place<'_> {
    fn put(self, value: &str) {
        match self {
            Self::Last(slot) => *slot = Some(value.to_owned()),
            Self::LastList(slot) => {
                // Not trimmed: for the server " EnableCSI" is another name than "EnableCSI".
                let names = value.split(',').filter(|name| !name.is_empty());
                *slot = Some(names.map(str::to_owned).collect());
            }
        }
    }
}

fn place<'a>(flags: &'a mut Flags, name: &str) -> Option<Place<'a>> {
    Some(match name {
        "features" => Place::LastList(&mut flags.features),
        "log-level" => Place::Last(&mut flags.log_level),
        "client-qps" => Place::Last(&mut flags.client_qps),
        "client-burst" => Place::Last(&mut flags.client_burst),
        "client-page-size" => Place::Last(&mut flags.client_page_size),
        "kubeconfig" => Place::Last(&mut flags.kubeconfig),
        "kubecontext" => Place::Last(&mut flags.kubecontext),
        "global-backup-volume-policies-configmap" => {
            Place::Last(&mut flags.global_policy_configmap)
        }
        _ => return None,
    })
}

/// What a person sees who starts the plugin by hand.
pub const NOT_BY_HAND: &str = "\
velero-plugin-csi-fastpoll is a plugin of Velero, which starts it and talks to it by itself.
It is not meant to be run by hand. To put it where Velero finds its plugins:
    velero-plugin-csi-fastpoll install /plugins
More: velero-plugin-csi-fastpoll --help
";

/// `--help`.
pub const HELP: &str = "\
velero-plugin-csi-fastpoll: CSI snapshots for Velero with the shortest possible freeze window

Velero starts this program as a plugin. A person can use it as:

    velero-plugin-csi-fastpoll install TARGET   copy it to TARGET, a directory or a file name
    velero-plugin-csi-fastpoll demo             watch it at work, without a cluster (not in the
                                                binary for Velero: cargo run --release -- demo)
    velero-plugin-csi-fastpoll --version
    velero-plugin-csi-fastpoll --help

Settings, read from the environment of the Velero server:

    VELERO_CSI_EARLY_FAST_POLL      look often at first: true or false (default false; where it
                                    is not set, CSI_SNAPSHOT_EARLY_FREQUENT_POLLING decides)
    VELERO_CSI_EARLY_WINDOW         how long (default 10s)
    VELERO_CSI_EARLY_INTERVAL       how often in that time (default 1s, at least 100ms)
    VELERO_CSI_POLL_INTERVAL        how often afterwards (default 5s, at least 1s)
    VELERO_CSI_EARLY_CALL_TIMEOUT   limit of one look in that time (default 2s)
    VELERO_CSI_CALL_TIMEOUT         limit of one API call otherwise (default 5s)
    VELERO_CSI_EXCLUDED_LABELS      PVC labels not to copy to VolumeSnapshots, with commas
                                    between them; a * at the end stands for any rest
";

#[cfg(test)]
mod tests;
