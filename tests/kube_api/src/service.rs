//! From a request to its answer: record it, let faults happen, serve it.

use std::{
    error::Error,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::{
    api::KubeApi,
    body::{self, ApiBody},
    discovery,
    fault::{Answer, Fault},
    record::Recorded,
    request::{Request, Target},
    verbs, watching,
};

type Served<'a> = Pin<Box<dyn Future<Output = io::Result<Response<ApiBody>>> + Send + 'a>>;
type Released = Pin<Box<dyn Future<Output = ()> + Send>>;
type Serve<'a> = Box<dyn FnOnce() -> Response<ApiBody> + Send + 'a>;

impl<B> tower::Service<http::Request<B>> for KubeApi
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ApiBody>;
    type Error = io::Error;
    type Future = Served<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move { api.answer(request).await })
    }
}

impl KubeApi {
    /// Answers one request.
    ///
    /// # Errors
    /// Only when a fault says that the connection breaks, or when the request's body does.
    pub async fn answer<B>(&self, request: http::Request<B>) -> io::Result<Response<ApiBody>>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (parts, incoming) = request.into_parts();
        let bytes = incoming
            .collect()
            .await
            .map_err(io::Error::other)?
            .to_bytes();
        let request = Request::read(&parts, bytes, &self.resources());
        let recorded = Recorded::of(&request, self.elapsed());
        // Before the request can be seen in the record: a release that comes then must not be missed.
        let released: Released = Box::pin(self.released());
        let (number, fault) = self.admit(&recorded);
        let answered = match fault {
            Some(fault) => {
                suffer(
                    fault,
                    &recorded,
                    released,
                    Box::new(|| self.serve_request(&request)),
                )
                .await
            }
            None => Ok(self.serve_request(&request)),
        };
        if let Ok(response) = &answered {
            self.note_answer(number, response.status().as_u16());
        }
        answered
    }

    fn serve_request(&self, request: &Request) -> Response<ApiBody> {
        if let Some(parameter) = request.unknown_parameter() {
            return self.unexpected(request, &format!("query parameter {parameter}"));
        }
        let served = match &request.target {
            Target::Ready => Some(discovery::ready(self.ready_status())),
            Target::Object(target) if request.verb == "watch" => {
                Some(watching::serve(self, target, request))
            }
            Target::Object(target) => self.store(|store| verbs::serve(store, target, request)),
            _ if request.verb == "get" => discovery::serve(&request.target, &self.resources()),
            _ => None,
        };
        served.unwrap_or_else(|| self.unexpected(request, "path"))
    }

    fn unexpected(&self, request: &Request, what: &str) -> Response<ApiBody> {
        let query: Vec<String> = request
            .query
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        self.note_unexpected(format!(
            "{} {}?{}: unknown {what}",
            request.verb,
            request.path,
            query.join("&")
        ));
        discovery::page_not_found()
    }
}

/// Lets a fault happen; `serve` gives the proper answer, when it comes to that.
fn suffer<'a>(
    fault: Fault,
    request: &'a Recorded,
    released: Released,
    serve: Serve<'a>,
) -> Served<'a> {
    Box::pin(async move {
        match fault {
            Fault::Answer(answer) => Ok(made_up(answer)),
            Fault::AnswerWith(make) => Ok(made_up(make(request))),
            Fault::Refuse => Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "connection refused",
            )),
            Fault::Reset => Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "connection reset by peer",
            )),
            Fault::Cut => Ok(serve().map(ApiBody::cut)),
            Fault::Hang => {
                released.await;
                Ok(serve())
            }
            Fault::Slow(time) => {
                tokio::time::sleep(time).await;
                Ok(serve())
            }
            Fault::AfterWrite(then) => {
                let response = serve();
                suffer(*then, request, released, Box::new(move || response)).await
            }
        }
    })
}

fn made_up(answer: Answer) -> Response<ApiBody> {
    let mut response = body::answer(answer.code, &answer.content_type, answer.body);
    for (name, value) in answer.headers {
        let parsed = (
            http::HeaderName::try_from(name),
            http::HeaderValue::try_from(value),
        );
        if let (Ok(name), Ok(value)) = parsed {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
