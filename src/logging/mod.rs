//! Log lines as Velero reads them from a plugin's stderr (A 7). Never writes to stdout.
//!
//! Levels are part of the contract: Velero counts Warn and Error of a running backup.
//! May use: model, error.

mod fields;
mod layer;
mod line;
mod panics;

use std::io::{self, Write};

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub use layer::JsonLayer;

use crate::model::settings::LogLevel;

/// Starts logging to stderr from `level` up, panics included.
///
/// # Errors
/// Logging has been started already.
pub fn start(level: LogLevel) -> Result<(), tracing_subscriber::util::TryInitError> {
    tracing_subscriber::registry()
        .with(JsonLayer::new(filter(level), write_to_stderr))
        .try_init()?;
    panics::install_hook();
    Ok(())
}

/// One line in one `write(2)` under the lock of stderr (P-25). An error is not reported: there
/// is nowhere to report it to.
fn write_to_stderr(line: &[u8]) {
    let _ = io::stderr().lock().write_all(line);
}

/// Held by each test that has a subscriber of its own: tracing remembers per call site whether anybody listens, for
/// all threads, and two subscribers that come and go at once can leave it with the wrong answer.
#[cfg(test)]
static ONE_SUBSCRIBER: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn filter(level: LogLevel) -> tracing::Level {
    match level {
        LogLevel::Trace => tracing::Level::TRACE,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Error => tracing::Level::ERROR,
    }
}
