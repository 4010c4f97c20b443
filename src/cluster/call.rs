//! The one place through which every request goes: queue, limits, errors.
//!
//! At most 16 requests are in flight and Velero's `--client-qps` and `--client-burst` hold; waiting for
//! either is bounded by the caller's deadline only. May use: model, wait.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use leaky_bucket::RateLimiter;
use serde::de::DeserializeOwned;
use tokio::sync::{OnceCell, Semaphore};

use super::answer;
use super::client::ClientSource;
use super::error::{ApiError, Fault};
use super::request::Call;
use crate::model::one_line::one_line;
use crate::model::settings::Settings;
use crate::wait::{Budget, Deadline, Look};

/// Requests in flight at once: keeps 100 parallel Executes within their memory (T16).
const IN_FLIGHT: usize = 16;

/// How long a request may take: its own budget on the wire, and a point in time.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Time on the wire, shared by the requests of one look.
    pub budget: Arc<Budget>,
    /// The end of everything.
    pub deadline: Deadline,
}

impl From<Look> for Limits {
    fn from(look: Look) -> Self {
        Self {
            budget: look.budget,
            deadline: look.deadline,
        }
    }
}

/// The cluster as this plugin asks it.
pub struct Cluster {
    source: ClientSource,
    client: OnceCell<Client>,
    in_flight: Semaphore,
    rate: RateLimiter,
    page_size: u32,
}

impl Cluster {
    /// Makes no connection and reads no file.
    #[must_use]
    pub fn new(source: ClientSource, settings: &Settings) -> Self {
        Self {
            source,
            client: OnceCell::new(),
            in_flight: Semaphore::new(IN_FLIGHT),
            rate: rate(settings.client_qps, settings.client_burst),
            page_size: settings.client_page_size,
        }
    }

    /// Objects per page of a list.
    pub(super) fn page_size(&self) -> u32 {
        self.page_size
    }

    /// Sends `call` and decodes the object that comes back.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        call: Call,
        query: &str,
        body: Vec<u8>,
        limits: &Limits,
    ) -> Result<T, ApiError> {
        match self.send(&call, query, body, limits).await {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(object) => Ok(object),
                Err(error) => Err(ApiError {
                    call: Box::new(call),
                    fault: Fault::Unreadable(error.to_string()),
                }),
            },
            Err(fault) => Err(ApiError {
                call: Box::new(call),
                fault,
            }),
        }
    }

    /// Asks the API server whether it is ready; everybody may ask that.
    pub async fn is_ready(&self, limits: &Limits) -> bool {
        let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else {
            return false;
        };
        self.exchange(request, limits)
            .await
            .is_ok_and(|(code, _)| code.is_success())
    }

    async fn send(
        &self,
        call: &Call,
        query: &str,
        body: Vec<u8>,
        limits: &Limits,
    ) -> Result<Vec<u8>, Fault> {
        let request = call.request(query, body).map_err(|error| Fault::Refused {
            code: 0,
            message: error.to_string(),
        })?;
        let (code, bytes) = self.exchange(request, limits).await?;
        if code.is_success() {
            Ok(bytes)
        } else {
            Err(answer::fault(call, code, &bytes))
        }
    }

    async fn exchange(
        &self,
        request: http::Request<Vec<u8>>,
        limits: &Limits,
    ) -> Result<(http::StatusCode, Vec<u8>), Fault> {
        let queued = async {
            self.rate.acquire_one().await;
            self.in_flight.acquire().await
        };
        let Some(Ok(_permit)) = limits.deadline.limit(queued).await else {
            return Err(Fault::Queued);
        };
        // Boxed: kube's, hyper's and TLS's futures are deep, and every request of ours is built on this one.
        let work = Box::pin(async {
            let client = self
                .client
                .get_or_try_init(|| self.source.build())
                .await
                .map_err(Fault::NoClient)?;
            let response = client
                .send(request.map(Body::from))
                .await
                .map_err(|error| unavailable(&error))?;
            let code = response.status();
            let body = response
                .into_body()
                .collect()
                .await
                .map_err(|error| unavailable(&error))?;
            Ok((code, body.to_bytes().to_vec()))
        });
        limits
            .budget
            .spend(limits.deadline, work)
            .await
            .unwrap_or(Err(Fault::NoAnswer(limits.budget.limit())))
    }
}

/// The innermost cause says what happened; kube's and hyper's own texts repeat it (T6).
fn unavailable(error: &kube::Error) -> Fault {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let innermost = one_line(&cause.to_string());
    Fault::Unavailable(if is_of_tls(cause) {
        format!("TLS: {innermost}")
    } else {
        innermost
    })
}

/// TLS errors travel in I/O errors, one in another, and their texts do not say what they are about.
fn is_of_tls(cause: &(dyn std::error::Error + 'static)) -> bool {
    let carried = cause
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref);
    cause.is::<rustls::Error>() || carried.is_some_and(|carried| is_of_tls(carried))
}

/// A token bucket of `burst` tokens that fills `qps` times a second.
fn rate(qps: f32, burst: u32) -> RateLimiter {
    let interval = Duration::from_secs(1).div_f32(qps.max(0.1));
    let burst = usize::try_from(burst).unwrap_or(usize::MAX).max(1);
    RateLimiter::builder()
        .max(burst)
        .initial(burst)
        .refill(1)
        .interval(interval)
        .fair(true)
        .build()
}
