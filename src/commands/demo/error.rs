//! Why the demo has no result. May use: launch.

use std::io;

use super::arguments::ArgumentError;
use crate::commands::launch::LaunchError;

/// Why the demo has no result.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The command line is wrong.
    #[error("{0} (see demo --help)")]
    Arguments(ArgumentError),
    /// The demo itself cannot run.
    #[error("start the demo")]
    Runtime(#[source] io::Error),
    /// No place for sockets and kubeconfig.
    #[error("create a temporary directory")]
    Scratch(#[source] io::Error),
    /// No port for the in-memory API.
    #[error("serve the in-memory Kubernetes API on loopback")]
    Api(#[source] io::Error),
    /// The plugin does not come up, or does not end.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The plugin answers with an error.
    #[error("{call}: {}: {}", status.code(), status.message())]
    Call {
        /// Of which service and object.
        call: String,
        /// The answer.
        status: Box<tonic::Status>,
    },
    /// The plugin answers something else than what was asked for.
    #[error("{0}")]
    Unexpected(String),
    /// Nobody reads our output.
    #[error("write the output")]
    Output(#[from] io::Error),
    /// Ctrl-C.
    #[error("interrupted; the plugin has ended and the temporary directory is removed")]
    Interrupted,
}

impl DemoError {
    /// The plugin's error answer to a call.
    pub fn call(call: impl Into<String>, status: tonic::Status) -> Self {
        Self::Call {
            call: call.into(),
            status: Box::new(status),
        }
    }
}

// Not a source: its text is in ours already.
impl From<ArgumentError> for DemoError {
    fn from(error: ArgumentError) -> Self {
        Self::Arguments(error)
    }
}
