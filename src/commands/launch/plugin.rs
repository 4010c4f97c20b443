//! A plugin that is being talked to: its connection, its streams, its services, its end.
//!
//! May use: proto, wait.

use std::path::{Path, PathBuf};

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

use super::{Ended, GRACE, LaunchError, Started, socket_path};
use crate::proto::generated::plugin_lister_client::PluginListerClient;
use crate::proto::plugin::grpc_broker_client::GrpcBrokerClient;
use crate::proto::plugin::grpc_controller_client::GrpcControllerClient;
use crate::proto::plugin::grpc_stdio_client::GrpcStdioClient;
use crate::proto::plugin::{ConnInfo, Empty, StdioData};
use crate::proto::v2::backup_item_action_client::BackupItemActionClient;
use crate::wait::Deadline;

/// Largest message of a Go host: `grpc.MaxCallRecvMsgSize(math.MaxInt32)`.
const MESSAGE_LIMIT: usize = 0x7fff_ffff;

/// How many of the last lines of a plugin that did not come up are shown.
const TAIL: usize = 5;

/// A plugin that is being talked to. The process is killed when this is dropped.
#[derive(Debug)]
pub struct Plugin {
    /// The process.
    pub started: Started,
    /// Its socket.
    pub path: PathBuf,
    /// The connection.
    pub channel: Channel,
    /// Our half of the broker stream; dropping it closes that half.
    pub knocks: mpsc::Sender<ConnInfo>,
    /// The plugin's half.
    pub broker: Streaming<ConnInfo>,
    /// The stdio stream.
    pub stdio: Streaming<StdioData>,
}

impl Plugin {
    pub(super) async fn talk_to(started: Started) -> Result<Self, LaunchError> {
        let path = match socket_path(&started.line) {
            Ok(path) => path,
            Err(source) => return Err(unusable(started, source).await),
        };
        let channel = dial(&path).await?;
        let (knocks, heard) = mpsc::channel(1);
        let broker = GrpcBrokerClient::new(channel.clone())
            .start_stream(ReceiverStream::new(heard))
            .await
            .map_err(|source| refused("broker", source))?
            .into_inner();
        let stdio = GrpcStdioClient::new(channel.clone())
            .stream_stdio(())
            .await
            .map_err(|source| refused("stdio", source))?
            .into_inner();
        Ok(Self {
            started,
            path,
            channel,
            knocks,
            broker,
            stdio,
        })
    }

    /// PluginLister on this connection.
    #[must_use]
    pub fn lister(&self) -> PluginListerClient<Channel> {
        PluginListerClient::new(self.channel.clone())
    }

    /// BackupItemAction on this connection, with a Go host's message limits.
    #[must_use]
    pub fn action(&self) -> BackupItemActionClient<Channel> {
        BackupItemActionClient::new(self.channel.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT)
    }

    /// Ends it as go-plugin does: closes the broker stream, calls Shutdown, closes the connection, waits
    /// for [`GRACE`] and kills.
    ///
    /// # Errors
    /// The operating system cannot say how it ended.
    pub async fn kill(self) -> Result<Ended, LaunchError> {
        drop(self.knocks);
        drop(self.broker);
        let mut controller = GrpcControllerClient::new(self.channel.clone());
        // A host goes on without the answer: the process ends, or is killed.
        let answer = Deadline::after(GRACE)
            .limit(controller.shutdown(Empty {}))
            .await;
        drop(controller);
        drop(self.stdio);
        drop(self.channel);
        let mut ended = self.started.ended(GRACE).await?;
        ended.shutdown_answered = answer.is_some_and(|answer| answer.is_ok());
        Ok(ended)
    }
}

/// A connection to a plugin's socket.
///
/// # Errors
/// Nobody listens there.
pub async fn dial(path: &Path) -> Result<Channel, LaunchError> {
    let socket = path.to_owned();
    Endpoint::from_static("http://localhost")
        .connect_with_connector(tower::service_fn(move |_| {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await.map(TokioIo::new) }
        }))
        .await
        .map_err(|source| LaunchError::Dial {
            path: path.to_owned(),
            source,
        })
}

fn refused(stream: &'static str, source: tonic::Status) -> LaunchError {
    LaunchError::Stream {
        stream,
        source: Box::new(source),
    }
}

/// The error of a plugin without a usable handshake, with what it logged.
async fn unusable(started: Started, source: super::BadHandshake) -> LaunchError {
    let mut logged = match started.ended(GRACE).await {
        Ok(ended) => ended.stderr,
        Err(error) => return error,
    };
    let last = logged.split_off(logged.len().saturating_sub(TAIL));
    let logged = if last.is_empty() {
        "nothing".to_owned()
    } else {
        last.join("\n")
    };
    LaunchError::Handshake { logged, source }
}
