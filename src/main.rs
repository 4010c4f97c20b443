//! Argv and environment become a mode, and the mode an exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use velero_plugin_csi_fastpoll::action::PvcAction;
use velero_plugin_csi_fastpoll::cli::{self, Mode};
use velero_plugin_csi_fastpoll::error::chain;
use velero_plugin_csi_fastpoll::goplugin::calls::Calls;
use velero_plugin_csi_fastpoll::goplugin::listener::{Candidate, Socket};
use velero_plugin_csi_fastpoll::goplugin::{handshake, server};
use velero_plugin_csi_fastpoll::{config, install, logging, velero};

/// Waiting needs no more, and each worker costs start-up time (T17).
const WORKERS: usize = 2;

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (command, arguments) = match argv.split_first() {
        Some((command, arguments)) => (command.as_str(), arguments),
        None => ("", [].as_slice()),
    };
    let cookie = velero::COOKIE;
    let cookie_given = cookie.is_given(variable(cookie.key).as_deref());
    match cli::mode(arguments, cookie_given) {
        Mode::Serve => serve(command, arguments),
        Mode::Version => say(&format!(
            "velero-plugin-csi-fastpoll {}\n",
            env!("CARGO_PKG_VERSION")
        )),
        Mode::Help => say(cli::HELP),
        Mode::Install { target } => {
            match install::install(Path::new(install::OWN_EXECUTABLE), Path::new(&target)) {
                Ok(file) => say(&format!("installed {}\n", file.display())),
                Err(error) => failed(&chain(&error)),
            }
        }
        Mode::InstallUsage => failed("usage: velero-plugin-csi-fastpoll install TARGET"),
        Mode::Demo { arguments } => demo(&arguments),
        Mode::NotByHand => complain(cli::NOT_BY_HAND),
    }
}

#[expect(clippy::disallowed_methods, reason = "this file owns the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Text for a person who asked. A reader that has gone is no error.
fn say(text: &str) -> ExitCode {
    let _ = io::stdout().lock().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn complain(text: &str) -> ExitCode {
    let _ = io::stderr().lock().write_all(text.as_bytes());
    ExitCode::FAILURE
}

fn failed(text: &str) -> ExitCode {
    complain(&format!("velero-plugin-csi-fastpoll: {text}\n"))
}

/// The same for Velero, which shows only log records where a person will see them.
fn not_served(error: &dyn std::error::Error) -> ExitCode {
    tracing::error!(error = chain(error), "the plugin cannot serve");
    ExitCode::FAILURE
}

fn serve(command: &str, arguments: &[String]) -> ExitCode {
    let (settings, bad) = config::read(&|name| variable(name), &cli::flags(arguments));
    if let Err(error) = logging::start(settings.log_level) {
        return failed(&chain(&error));
    }
    let socket = match Socket::bind(candidates()) {
        Ok(socket) => socket,
        Err(error) => return not_served(&error),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return not_served(&error),
    };
    let calls = Calls::default();
    let action = Arc::new(PvcAction::new(settings, bad));
    let services = velero::services(command, action, &calls);
    let announce = |path: &Path| handshake::announce(velero::APP_PROTOCOL, path);
    let result = runtime.block_on(server::serve(socket, announce, &calls, services));
    // A call that did not end in time must not hold the process.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => not_served(&error),
    }
}

/// Where the socket may be, in go-plugin's order, and Velero's scratch directory at the end for
/// a container whose `/tmp` is read-only (F77).
fn candidates() -> impl Iterator<Item = Candidate> {
    [
        ("PLUGIN_UNIX_SOCKET_DIR", variable("PLUGIN_UNIX_SOCKET_DIR")),
        ("TMPDIR", variable("TMPDIR")),
        ("the default", Some(OsString::from("/tmp"))),
        ("VELERO_SCRATCH_DIR", variable("VELERO_SCRATCH_DIR")),
    ]
    .into_iter()
    .filter_map(|(origin, directory)| {
        let directory = directory.filter(|directory| !directory.is_empty())?;
        Some(Candidate {
            origin,
            directory: PathBuf::from(directory),
        })
    })
}

#[cfg(feature = "demo")]
fn demo(arguments: &[String]) -> ExitCode {
    velero_plugin_csi_fastpoll::commands::demo::run(Path::new(install::OWN_EXECUTABLE), arguments)
}

#[cfg(not(feature = "demo"))]
fn demo(_arguments: &[String]) -> ExitCode {
    failed(
        "this binary is built without the demo; in a checkout of the source run \
         `cargo run --release -- demo`",
    )
}
