//! The other side of the wire: starts a plugin as Velero does, reads its handshake, dials, and ends it.
//!
//! What a host does is written down here once more on purpose, from Velero and go-plugin, and not taken
//! from our server: otherwise both sides could be wrong in the same way. May use: proto, wait.

mod handshake;
mod lines;
mod plugin;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

pub use handshake::{BadHandshake, socket_path};
pub use lines::Lines;
pub use plugin::{Plugin, dial};

use crate::wait::{Deadline, Stopwatch};

/// How long a plugin may take to its handshake line, go-plugin's `StartTimeout`.
pub const START_LIMIT: Duration = Duration::from_mins(1);

/// How long go-plugin waits after Shutdown before it kills.
pub const GRACE: Duration = Duration::from_secs(2);

/// Longest first line, go-plugin's `bufio.Scanner`.
const LINE_LIMIT: u64 = 64 * 1024;

/// What is kept of stdout after the first line; a plugin writes nothing there.
const REST_LIMIT: u64 = 1024 * 1024;

/// What Velero and go-plugin put into a plugin's environment.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("VELERO_PLUGIN", "hello"),
    ("PLUGIN_MIN_PORT", "10000"),
    ("PLUGIN_MAX_PORT", "25000"),
    ("PLUGIN_PROTOCOL_VERSIONS", "2"),
];

/// Why a plugin cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program cannot be executed, or waited for.
    #[error("start {}", program.display())]
    Start {
        /// What was to be executed.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing on stdout in time.
    #[error("the plugin wrote no handshake line within {} s", START_LIMIT.as_secs())]
    Silent,
    /// It ended, or its line is of another form.
    #[error("the plugin's handshake cannot be used; it logged: {logged}")]
    Handshake {
        /// The end of its stderr.
        logged: String,
        /// What is wrong with the line.
        source: BadHandshake,
    },
    /// Its socket cannot be reached.
    #[error("connect to the plugin at {}", path.display())]
    Dial {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: tonic::transport::Error,
    },
    /// A stream that every host opens is refused.
    #[error("open the plugin's {stream} stream")]
    Stream {
        /// Which.
        stream: &'static str,
        /// Its answer.
        source: Box<tonic::Status>,
    },
}

/// How to start a plugin.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Launch {
    /// A plugin's binary with the variables that Velero gives it, and nothing else of our environment.
    #[must_use]
    pub fn of_plugin(program: &Path) -> Self {
        ENVIRONMENT
            .iter()
            .fold(Self::of(program), |launch, (name, value)| {
                launch.variable(name, value)
            })
    }

    /// A program with an empty environment.
    #[must_use]
    pub fn of(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Sets a variable; the last value counts.
    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// The command: stdin closed, stdout and stderr piped, killed when its handle is dropped.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Starts it and reads its first line, which is empty when it ended without one.
    ///
    /// # Errors
    /// It cannot be started, or says nothing in time.
    pub async fn start(&self) -> Result<Started, LaunchError> {
        let failed = |source| LaunchError::Start {
            program: self.program.clone(),
            source,
        };
        let stopwatch = Stopwatch::start();
        let mut child = self.command().spawn().map_err(failed)?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let stderr = Lines::collect(stderr);
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        Deadline::after(START_LIMIT)
            .limit((&mut stdout).take(LINE_LIMIT).read_line(&mut line))
            .await
            .ok_or(LaunchError::Silent)?
            .map_err(failed)?;
        let elapsed = stopwatch.elapsed();
        let after = tokio::spawn(async move {
            let mut rest = Vec::new();
            // What cannot be read was not written for anybody.
            let _ = (&mut stdout).take(REST_LIMIT).read_to_end(&mut rest).await;
            rest
        });
        Ok(Started {
            program: self.program.clone(),
            child,
            line,
            elapsed,
            stderr,
            after,
        })
    }

    /// Starts it, dials, and opens the two streams that a host opens at once.
    ///
    /// # Errors
    /// See [`LaunchError`]; the process has been killed then.
    pub async fn serve(&self) -> Result<Plugin, LaunchError> {
        Plugin::talk_to(self.start().await?).await
    }
}

/// A plugin whose first line has been read.
#[derive(Debug)]
pub struct Started {
    program: PathBuf,
    /// The process.
    pub child: Child,
    /// Its first line on stdout, line feed included; empty at the end of stdout.
    pub line: String,
    /// From its start to that line.
    pub elapsed: Duration,
    /// What it logs.
    pub stderr: Lines,
    after: JoinHandle<Vec<u8>>,
}

impl Started {
    /// Waits for its end, and kills it when it has not ended within `limit`.
    ///
    /// # Errors
    /// The operating system cannot say how it ended.
    pub async fn ended(mut self, limit: Duration) -> Result<Ended, LaunchError> {
        let stopwatch = Stopwatch::start();
        let waited = match Deadline::after(limit).limit(self.child.wait()).await {
            Some(waited) => waited,
            None => match self.child.kill().await {
                Ok(()) => self.child.wait().await,
                Err(error) => Err(error),
            },
        };
        let status = waited.map_err(|source| LaunchError::Start {
            program: self.program,
            source,
        })?;
        Ok(Ended {
            status,
            elapsed: stopwatch.elapsed(),
            stdout: self.after.await.unwrap_or_default(),
            stderr: self.stderr.all().await,
            shutdown_answered: false,
        })
    }
}

/// A plugin that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How; a signal when it had to be killed.
    pub status: ExitStatus,
    /// How long it was waited for.
    pub elapsed: Duration,
    /// Stdout after the first line.
    pub stdout: Vec<u8>,
    /// The lines of stderr.
    pub stderr: Vec<String>,
    /// Shutdown was called, and answered in time.
    pub shutdown_answered: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::chain;

    async fn refused(launch: Launch) -> String {
        let error = launch.serve().await.expect_err("this is no plugin");
        chain(&error)
    }

    #[tokio::test]
    async fn program_that_is_no_plugin_then_its_last_words_are_in_the_error() {
        let shell = Launch::of(Path::new("/bin/sh"));
        let text = refused(shell.arguments(["-c", "echo sorry >&2; exit 3"])).await;
        assert!(text.contains("it logged: sorry"), "{text}");
        assert!(text.contains("ended without a handshake line"), "{text}");
    }

    #[tokio::test]
    async fn missing_program_then_it_is_named() {
        let text = refused(Launch::of_plugin(Path::new("/no/such/plugin"))).await;
        assert!(text.starts_with("start /no/such/plugin: "), "{text}");
    }

    #[tokio::test]
    async fn environment_then_only_what_was_given() {
        let shell = Launch::of(Path::new("/bin/sh")).variable("A", "1");
        let started = shell.variable("A", "2").arguments(["-c", "echo $A$HOME"]);
        let started = started.start().await.unwrap();
        assert_eq!(started.line, "2\n");
        let ended = started.ended(GRACE).await.unwrap();
        assert!(ended.status.success());
    }

    #[tokio::test]
    async fn program_that_does_not_end_then_it_is_killed() {
        let shell = Launch::of(Path::new("/bin/sh"));
        let started = shell.arguments(["-c", "echo up; exec sleep 600"]);
        let started = started.start().await.unwrap();
        let ended = started.ended(Duration::from_millis(50)).await.unwrap();
        assert_eq!(ended.status.code(), None);
    }
}
