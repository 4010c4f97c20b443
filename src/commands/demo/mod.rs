//! `demo`: the plugin at work, without a cluster.
//!
//! The plugin is this very binary, started and asked as Velero does it, over the real protocol; the cluster is
//! the in-memory Kubernetes API of the tests, on loopback. Nothing here knows a result: every figure is taken
//! from the API's record, the storage, the plugin's answers and its log. May use: launch, proto, rules, model, wait.

mod arguments;
mod backup;
mod error;
mod execution;
mod figures;
mod log;
mod measure;
mod record;
mod scene;
mod screen;
mod seconds;
mod strategy;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::chain;
use crate::model::names::PLUGIN;
use arguments::{Arguments, Asked, HELP};
use backup::Played;
use error::DemoError;
use figures::Report;
use screen::{Screen, Shown};

/// The cluster, the storage, the plugin's host and the display have little to do.
const WORKERS: usize = 2;

/// What a shell gives to a program that ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// A wrong command line, as with most tools.
const USAGE: u8 = 2;

/// Runs the demo that `arguments` ask for; `plugin` is the plugin's binary.
#[must_use]
pub fn run(plugin: &Path, arguments: &[String]) -> ExitCode {
    let result = match arguments::parse(arguments) {
        Ok(Asked::Help) => print(HELP),
        Ok(Asked::Demo(arguments)) => show(plugin, &arguments),
        Err(error) => Err(error.into()),
    };
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let code = match &error {
        // Whoever read our output has seen enough.
        DemoError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            return ExitCode::SUCCESS;
        }
        DemoError::Arguments(_) => USAGE.into(),
        DemoError::Interrupted => INTERRUPTED.into(),
        _ => ExitCode::FAILURE,
    };
    // Nothing can be done about an error here.
    let _ = writeln!(io::stderr().lock(), "{PLUGIN} demo: {}", chain(&error));
    code
}

fn print(text: &str) -> Result<(), DemoError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

fn show(plugin: &Path, arguments: &Arguments) -> Result<(), DemoError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(DemoError::Runtime)?;
    let report = runtime.block_on(async {
        let stop = CancellationToken::new();
        tokio::spawn(stop_at_signals(stop.clone())?);
        play_all(plugin, arguments, &stop).await
    })?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&report).map_err(io::Error::from)?;
        print(&format!("{text}\n"))
    } else {
        print(&table::text(&report))
    }
}

/// Ctrl-C, a request to end, and a closed terminal.
fn stop_at_signals(stop: CancellationToken) -> Result<impl Future<Output = ()> + use<>, DemoError> {
    let catch = |kind| signal(kind).map_err(DemoError::Runtime);
    let mut interrupt = catch(SignalKind::interrupt())?;
    let mut terminate = catch(SignalKind::terminate())?;
    let mut hang_up = catch(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
        stop.cancel();
    })
}

async fn play_all(
    plugin: &Path,
    arguments: &Arguments,
    stop: &CancellationToken,
) -> Result<Report, DemoError> {
    let mut screen = if arguments.json {
        Screen::new(Box::new(io::stderr()), false, Shown::Warnings)
    } else {
        let stdout = io::stdout();
        let live = stdout.is_terminal();
        let shown = if arguments.verbose {
            Shown::Everything
        } else {
            Shown::Progress
        };
        Screen::new(Box::new(stdout), live, shown)
    };
    screen.line(&introduction(arguments))?;
    let scratch = tempfile::Builder::new()
        .prefix("fastpoll-demo-")
        .tempdir()
        .map_err(DemoError::Scratch)?;
    let mut report = Report::new(arguments);
    for strategy in &arguments.strategies {
        let played = Played {
            plugin,
            scratch: scratch.path(),
            arguments,
            strategy: *strategy,
            stop,
        };
        report.strategies.push(played.play(&mut screen).await?);
    }
    Ok(report)
}

/// What is going to happen, and how long it takes.
fn introduction(arguments: &Arguments) -> String {
    let Arguments {
        volumes,
        strategies,
        ..
    } = arguments;
    let snapshot = arguments.snapshot_time();
    let lines: Vec<String> = strategies
        .iter()
        .map(|strategy| {
            let each = strategy.expected(snapshot);
            format!(
                "  {:<5}  looks {}: about {} a volume, {} in all\n",
                strategy.name(),
                strategy.looks(),
                seconds::plain(each),
                seconds::plain(each.saturating_mul(*volumes)),
            )
        })
        .collect();
    format!(
        "Backs up a Windows virtual machine with {volumes} {} on a storage that takes {} for a snapshot:\n\
         the real plugin over Velero's protocol, an in-memory Kubernetes API on loopback. No cluster is touched.\n\
         {}",
        if *volumes == 1 { "volume" } else { "volumes" },
        seconds::plain(snapshot),
        lines.concat(),
    )
}
