//! The life of a plugin process between its handshake and its end.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::RoutesBuilder;
use tonic::transport::Server;
use tonic_health::ServingStatus;

use super::calls::Calls;
use super::listener::{NoPlace, Socket};
use super::process::{self, Signals};
use super::support::Support;
use crate::proto::plugin::grpc_broker_server::GrpcBrokerServer;
use crate::proto::plugin::grpc_controller_server::GrpcControllerServer;
use crate::proto::plugin::grpc_stdio_server::GrpcStdioServer;
use crate::wait;

/// Largest request: 64 MiB of payload and a little for its frame (P-10). A service sets it by
/// `max_decoding_message_size`; a larger message is refused with a text that names both sizes.
pub const MESSAGE_LIMIT: usize = 64 * 1024 * 1024 + 64 * 1024;

/// The host kills 2 s after Shutdown; what cannot be taken back by then is only named (T10).
const STOP_LIMIT: Duration = Duration::from_millis(1500);

/// When no call runs any more, answers need only a moment to leave. A host that has stopped
/// reading gets no more than this.
const FLUSH_LIMIT: Duration = Duration::from_millis(300);

/// The service name under which go-plugin asks for health.
const HEALTH_NAME: &str = "plugin";

/// A request of several MiB should not wait for window updates.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
/// Room for several of them at once.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// More than any host's workers, so that no call queues behind another in the transport.
const STREAMS: u32 = 4096;
/// After a failed accept, so that a full file table does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a plugin process cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No directory takes the socket.
    #[error(transparent)]
    Socket(#[from] NoPlace),
    /// Signal handlers or the asynchronous listener.
    #[error("prepare to serve")]
    Prepare(#[source] io::Error),
    /// The line on stdout.
    #[error("write the handshake line to stdout")]
    Handshake(#[source] io::Error),
    /// The gRPC server ended by itself.
    #[error("serve gRPC")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves `services` and go-plugin's own on `socket` until Shutdown, SIGTERM or the host's
/// death, then waits a moment for running calls. The socket is removed in every case.
///
/// `announce` tells the host the socket's path; everything is ready when it is called.
///
/// # Errors
/// Serving could not begin, or the server broke.
pub async fn serve(
    socket: Socket,
    announce: impl FnOnce(&Path) -> io::Result<()>,
    calls: &Calls,
    mut services: RoutesBuilder,
) -> Result<(), ServeError> {
    let host = process::parent();
    let signals = Signals::catch().map_err(ServeError::Prepare)?;
    let path = socket.path().to_owned();
    let (listener, place) = socket.into_parts();
    let listener = UnixListener::from_std(listener).map_err(ServeError::Prepare)?;

    let support = Support::new(calls.stop().clone());
    let (health, health_service) = tonic_health::server::health_reporter();
    health
        .set_service_status(HEALTH_NAME, ServingStatus::Serving)
        .await;
    services
        .add_service(GrpcBrokerServer::new(support.clone()))
        .add_service(GrpcStdioServer::new(support.clone()))
        .add_service(GrpcControllerServer::new(support))
        .add_service(health_service);

    announce(&path).map_err(ServeError::Handshake)?;

    let connections = UnixListenerStream::new(listener).then(|accepted| async {
        if accepted.is_err() {
            wait::pause(ACCEPT_PAUSE).await;
        }
        accepted
    });
    // P-8: no age, idle or keep-alive limit; and a burst of calls that a host gives up at once
    // must not make the transport close the connection.
    let server = Server::builder()
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(STREAMS)
        .http2_max_pending_accept_reset_streams(Some(STREAMS as usize))
        .http2_max_local_error_reset_streams(Some(STREAMS as usize))
        .add_routes(services.routes())
        .serve_with_incoming_shutdown(connections, calls.stop().clone().cancelled_owned());
    let serving = async {
        let result = server.await;
        calls.stop().cancel();
        result
    };
    let watching = process::watch(signals, host, calls.stop());
    let running = async {
        calls.stop().cancelled().await;
        calls.ended().await;
    };
    // An orderly end has sent every answer and waited for every call, also for those whose
    // client has gone.
    let result = tokio::select! {
        (result, (), ()) = async { tokio::join!(serving, watching, running) } => {
            result.map_err(ServeError::from)
        }
        () = late(calls) => Ok(()),
    };
    drop(place);
    result
}

/// Completes when a stop has taken as long as it may.
async fn late(calls: &Calls) {
    calls.stop().cancelled().await;
    let flushed = async {
        calls.ended().await;
        wait::pause(FLUSH_LIMIT).await;
    };
    tokio::select! {
        () = flushed => {}
        () = wait::pause(STOP_LIMIT) => {}
    }
}
