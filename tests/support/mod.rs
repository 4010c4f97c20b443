//! A plugin host as Velero is one: starts the binary with cookie, environment and arguments,
//! reads the handshake, dials, opens the broker and stdio streams, and ends it as go-plugin does.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::disallowed_methods, reason = "a host has its own clock")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test code"
)]

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};
use velero_plugin_csi_fastpoll::goplugin::server::MESSAGE_LIMIT;
use velero_plugin_csi_fastpoll::proto::generated::plugin_lister_client::PluginListerClient;
use velero_plugin_csi_fastpoll::proto::plugin::grpc_broker_client::GrpcBrokerClient;
use velero_plugin_csi_fastpoll::proto::plugin::grpc_controller_client::GrpcControllerClient;
use velero_plugin_csi_fastpoll::proto::plugin::grpc_stdio_client::GrpcStdioClient;
use velero_plugin_csi_fastpoll::proto::plugin::{ConnInfo, Empty, StdioData};
use velero_plugin_csi_fastpoll::proto::v2::backup_item_action_client::BackupItemActionClient;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_velero-plugin-csi-fastpoll");

/// Longer than anything here takes; a test that reaches it fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How long go-plugin waits after Shutdown before it kills (A 2.6).
pub const GRACE: Duration = Duration::from_secs(2);

/// How to start a plugin.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Launch {
    /// The binary under test with Velero's handshake variables (A 1.2) and sockets in `scratch`.
    pub fn new(scratch: &Path) -> Self {
        Self::of(Path::new(BINARY))
            .variable("VELERO_PLUGIN", "hello")
            .variable("PLUGIN_MIN_PORT", "10000")
            .variable("PLUGIN_MAX_PORT", "25000")
            .variable("PLUGIN_PROTOCOL_VERSIONS", "2")
            .variable("TMPDIR", scratch)
    }

    /// Another program, with an empty environment.
    pub fn of(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Sets a variable; the last value counts.
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Adds arguments.
    pub fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// The command, all three streams piped or closed.
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

    /// Starts it and reads the handshake line.
    pub async fn start(&self) -> Started {
        let begin = Instant::now();
        let mut child = self.command().spawn().expect("start the plugin");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let stderr = Lines::collect(child.stderr.take().expect("stderr"));
        let mut line = String::new();
        within(PATIENCE, stdout.read_line(&mut line))
            .await
            .expect("read the handshake");
        let elapsed = begin.elapsed();
        let after = tokio::spawn(async move {
            let mut rest = Vec::new();
            stdout.read_to_end(&mut rest).await.map(|_| rest)
        });
        Started {
            child,
            line,
            elapsed,
            stderr,
            after,
        }
    }

    /// Starts it, dials, and opens the two streams that a host opens at once.
    pub async fn serve(&self) -> Plugin {
        let started = self.start().await;
        let path = started.socket_path();
        let channel = dial(&path).await;
        let (knocks, broker) = open_broker(&channel).await;
        let stdio = open_stdio(&channel).await;
        Plugin {
            started,
            path,
            channel,
            knocks,
            broker,
            stdio,
        }
    }
}

/// A plugin whose first line has been read.
#[derive(Debug)]
pub struct Started {
    /// The process.
    pub child: Child,
    /// Its first line on stdout, line feed included; empty at the end of stdout.
    pub line: String,
    /// From its start to that line.
    pub elapsed: Duration,
    /// What it logs.
    pub stderr: Lines,
    after: JoinHandle<std::io::Result<Vec<u8>>>,
}

impl Started {
    /// Field 4 of the handshake.
    pub fn socket_path(&self) -> PathBuf {
        let fields: Vec<&str> = self.line.split('|').collect();
        assert_eq!(fields.len(), 6, "handshake: {:?}", self.line);
        PathBuf::from(fields[3])
    }

    /// Process id.
    pub fn id(&self) -> rustix::process::Pid {
        let id = self.child.id().expect("the process runs");
        rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
    }

    /// Waits for its end: status, everything on stdout after the first line, stderr lines.
    pub async fn ended(mut self) -> Ended {
        let begin = Instant::now();
        let status = within(PATIENCE, self.child.wait())
            .await
            .expect("wait for the plugin");
        let elapsed = begin.elapsed();
        let stdout = within(PATIENCE, self.after).await.unwrap().unwrap();
        Ended {
            status,
            elapsed,
            stdout,
            stderr: self.stderr.all().await,
        }
    }
}

/// A plugin that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// How long it was waited for.
    pub elapsed: Duration,
    /// Stdout after the first line.
    pub stdout: Vec<u8>,
    /// Stderr.
    pub stderr: Vec<String>,
}

/// A plugin that is being talked to.
pub struct Plugin {
    /// The process.
    pub started: Started,
    /// Its socket.
    pub path: PathBuf,
    /// The connection.
    pub channel: Channel,
    /// Our half of the broker stream; dropping it closes that half.
    pub knocks: tokio::sync::mpsc::Sender<ConnInfo>,
    /// The plugin's half.
    pub broker: Streaming<ConnInfo>,
    /// The stdio stream.
    pub stdio: Streaming<StdioData>,
}

impl Plugin {
    /// PluginLister on this connection.
    pub fn lister(&self) -> PluginListerClient<Channel> {
        PluginListerClient::new(self.channel.clone())
    }

    /// BackupItemAction on this connection, with Go's message limits.
    pub fn action(&self) -> BackupItemActionClient<Channel> {
        BackupItemActionClient::new(self.channel.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(usize::MAX)
    }

    /// Ends it as go-plugin does (A 2.6): closes the broker stream, calls Shutdown, closes the
    /// connection, waits for two seconds at most.
    pub async fn kill(self) -> Ended {
        drop(self.knocks);
        drop(self.broker);
        let shutdown = GrpcControllerClient::new(self.channel.clone())
            .shutdown(Empty {})
            .await;
        shutdown.expect("Shutdown is answered");
        drop(self.stdio);
        drop(self.channel);
        within(GRACE, self.started.ended()).await
    }
}

/// A connection to a socket.
pub async fn dial(path: &Path) -> Channel {
    let path = path.to_owned();
    Endpoint::from_static("http://localhost")
        .connect_with_connector(tower::service_fn(move |_| {
            let path = path.clone();
            async move { UnixStream::connect(path).await.map(TokioIo::new) }
        }))
        .await
        .expect("connect to the plugin")
}

async fn open_broker(
    channel: &Channel,
) -> (tokio::sync::mpsc::Sender<ConnInfo>, Streaming<ConnInfo>) {
    let (knocks, heard) = tokio::sync::mpsc::channel(1);
    let heard = futures_stream(heard);
    let stream = GrpcBrokerClient::new(channel.clone())
        .start_stream(heard)
        .await;
    (knocks, stream.expect("StartStream opens").into_inner())
}

async fn open_stdio(channel: &Channel) -> Streaming<StdioData> {
    let stream = GrpcStdioClient::new(channel.clone()).stream_stdio(()).await;
    stream.expect("StreamStdio opens").into_inner()
}

fn futures_stream<T>(
    receiver: tokio::sync::mpsc::Receiver<T>,
) -> tokio_stream::wrappers::ReceiverStream<T> {
    tokio_stream::wrappers::ReceiverStream::new(receiver)
}

/// Lines of a stream, collected while they come.
#[derive(Debug)]
pub struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    reader: JoinHandle<()>,
}

impl Lines {
    fn collect(stream: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let reader = tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream
                .read_until(b'\n', &mut line)
                .await
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8(std::mem::take(&mut line)).expect("stderr is UTF-8");
                sink.lock()
                    .unwrap()
                    .push(text.trim_end_matches('\n').to_owned());
            }
        });
        Self { lines, reader }
    }

    /// What has come so far.
    pub fn so_far(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Everything, once the stream has ended.
    pub async fn all(self) -> Vec<String> {
        within(PATIENCE, self.reader)
            .await
            .expect("read stderr to its end");
        Arc::try_unwrap(self.lines).unwrap().into_inner().unwrap()
    }
}

/// The future's value, or a failed test.
pub async fn within<F: Future>(limit: Duration, future: F) -> F::Output {
    let done = tokio::time::timeout(limit, future).await;
    done.unwrap_or_else(|_| panic!("not done within {limit:?}"))
}

/// Whether the future is still pending after `time`.
pub async fn is_pending_for<F: Future>(time: Duration, future: F) -> bool {
    tokio::time::timeout(time, future).await.is_err()
}

/// A line that Velero reads as a log record (T4, P-22, P-24), as its object.
pub fn log_record(line: &str) -> serde_json::Map<String, serde_json::Value> {
    assert!(line.len() <= 60 * 1024, "{} bytes", line.len());
    let value: serde_json::Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"));
    let record = value
        .as_object()
        .unwrap_or_else(|| panic!("not an object: {line}"))
        .clone();
    for key in ["@message", "@level"] {
        assert!(
            record.get(key).is_some_and(serde_json::Value::is_string),
            "{key}: {line}"
        );
    }
    for key in ["@timestamp", "namespace", "name", "resource"] {
        assert!(
            record.get(key).is_none_or(serde_json::Value::is_string),
            "{key}: {line}"
        );
    }
    record
}
