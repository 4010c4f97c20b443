//! The body of an answer: whole, cut in the middle, or a stream of watch events.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Response, header};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;
use tokio::sync::mpsc;

/// The body of an answer.
#[derive(Debug)]
pub struct ApiBody(Kind);

#[derive(Debug)]
enum Kind {
    Whole(Option<Bytes>),
    /// What still comes, before the connection breaks.
    Cut {
        first: Option<Bytes>,
        announced: u64,
    },
    Stream(mpsc::Receiver<io::Result<Bytes>>),
}

impl ApiBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(
            Some(bytes.into()).filter(|bytes| !bytes.is_empty()),
        ))
    }

    pub(crate) fn stream(events: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self(Kind::Stream(events))
    }

    /// The same, but the connection breaks half-way.
    pub(crate) fn cut(self) -> Self {
        match self.0 {
            Kind::Whole(bytes) => {
                let bytes = bytes.unwrap_or_default();
                let announced = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                Self(Kind::Cut {
                    first: Some(bytes.slice(..bytes.len() / 2)),
                    announced,
                })
            }
            other => Self(other),
        }
    }
}

impl Body for ApiBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Cut { first, .. } => Poll::Ready(Some(match first.take() {
                Some(bytes) => Ok(Frame::data(bytes)),
                None => Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "connection closed in the middle of the answer",
                )),
            })),
            Kind::Stream(events) => events
                .poll_recv(context)
                .map(|event| event.map(|event| event.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Kind::Cut { announced, .. } => SizeHint::with_exact(*announced),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}

/// A JSON answer.
pub(crate) fn json(code: u16, body: &Value) -> Response<ApiBody> {
    answer(code, "application/json", body.to_string())
}

/// Any answer.
pub(crate) fn answer(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::whole(body));
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = header::HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}
