//! The services that every go-plugin server has beside its own: broker, stdio and controller.
//!
//! The host opens the first two at once and keeps them for its life (P-7, P-9). Both stay open
//! and silent here, and end without error when the process stops, which the host takes as a
//! normal end.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::{Request, Response, Status, Streaming};

use crate::proto::plugin::grpc_broker_server::GrpcBroker;
use crate::proto::plugin::grpc_controller_server::GrpcController;
use crate::proto::plugin::grpc_stdio_server::GrpcStdio;
use crate::proto::plugin::{ConnInfo, Empty, StdioData};

/// All three services; they share the process-wide stop.
#[derive(Clone, Debug)]
pub(super) struct Support {
    stop: CancellationToken,
}

impl Support {
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self { stop }
    }
}

#[tonic::async_trait]
impl GrpcController for Support {
    /// Answers and begins the stop (P-11). The server sends what is still to be answered before
    /// it closes the connection, this answer included.
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.stop.cancel();
        Ok(Response::new(Empty {}))
    }
}

#[tonic::async_trait]
impl GrpcBroker for Support {
    type StartStreamStream = Silence<ConnInfo>;

    async fn start_stream(
        &self,
        request: Request<Streaming<ConnInfo>>,
    ) -> Result<Response<Self::StartStreamStream>, Status> {
        Ok(Response::new(Silence::new(
            &self.stop,
            Some(request.into_inner()),
        )))
    }
}

#[tonic::async_trait]
impl GrpcStdio for Support {
    type StreamStdioStream = Silence<StdioData>;

    async fn stream_stdio(
        &self,
        _: Request<()>,
    ) -> Result<Response<Self::StreamStdioStream>, Status> {
        Ok(Response::new(Silence::new(&self.stop, None)))
    }
}

/// A stream that yields nothing and ends with the process. Holds the host's half, if there is
/// one, so that it is not reset, and reads it so that it cannot fill.
pub(super) struct Silence<T> {
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    heard: Option<Streaming<T>>,
}

impl<T> Silence<T> {
    fn new(stop: &CancellationToken, heard: Option<Streaming<T>>) -> Self {
        Self {
            stopped: Box::pin(stop.clone().cancelled_owned()),
            heard,
        }
    }
}

impl<T> Stream for Silence<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(heard) = &mut self.heard {
            match Pin::new(heard).poll_next(context) {
                // A host may send connection offers; none is of use here.
                Poll::Ready(Some(Ok(_))) => {}
                // The host closed its half: so do we.
                Poll::Ready(None | Some(Err(_))) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        self.stopped.as_mut().poll(context).map(|()| None)
    }
}
