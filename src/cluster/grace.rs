//! How long a 401 or 403 is taken for an API server that is still coming up.
//!
//! A restarted API server answers 403 until RBAC is primed, with the same Status as a real denial, and
//! kube keeps a rotated token for up to a minute. So both are waited out for a while, for reads only: a
//! create's 403 may be a quota or a terminating namespace. May use: wait.

use std::time::Duration;

use super::call::{Cluster, Limits};
use super::error::{ApiError, Fault};
use crate::wait::Stopwatch;

/// How long an API server that is not ready may answer 403.
const FORBIDDEN: Duration = Duration::from_secs(15);
/// How long a path may be unserved by an API server that is ready, while nothing is made yet.
const UNSERVED: Duration = Duration::from_secs(5);
/// How long a rotated token may be refused: kube re-reads its file once a minute.
const UNAUTHORIZED: Duration = Duration::from_secs(75);

/// Remembers since when reads have been refused.
#[derive(Debug, Default)]
pub struct Grace {
    forbidden: Option<Refused>,
    unauthorized: Option<Stopwatch>,
    unserved: Option<Stopwatch>,
    /// Something of ours exists: an unserved path is never a reason to give it up.
    patient: bool,
}

/// A run of 403s.
#[derive(Debug, Clone, Copy)]
struct Refused {
    since: Stopwatch,
    /// The API server has said that it is ready after a 403: the next one is real.
    server_was_ready: bool,
}

impl Grace {
    /// For reads of what exists: an unserved path is waited out, whatever the API server says.
    #[must_use]
    pub fn patient() -> Self {
        Self {
            patient: true,
            ..Self::default()
        }
    }

    /// Whether a read that ended in `error` is worth repeating.
    ///
    /// A 403 is final once the API server called itself ready before it, or after 15 s; a 401 after
    /// 75 s; an unserved path after 5 s if the API server is ready and nothing is made yet; a NotFound, a
    /// conflict and a refusal at once; all else is trouble that passes.
    pub async fn may_pass(&mut self, error: &ApiError, cluster: &Cluster, limits: &Limits) -> bool {
        if !matches!(error.fault, Fault::Forbidden(_)) {
            self.forbidden = None;
        }
        match error.fault {
            Fault::Forbidden(_) => {
                let mut run = match self.forbidden {
                    Some(run) if run.server_was_ready || run.since.elapsed() >= FORBIDDEN => {
                        return false;
                    }
                    Some(run) => run,
                    None => Refused {
                        since: Stopwatch::start(),
                        server_was_ready: false,
                    },
                };
                run.server_was_ready = cluster.is_ready(limits).await;
                self.forbidden = Some(run);
                true
            }
            Fault::Unauthorized(_) => {
                self.unauthorized
                    .get_or_insert_with(Stopwatch::start)
                    .elapsed()
                    < UNAUTHORIZED
            }
            Fault::Unserved(_) if !self.patient => {
                let since = *self.unserved.get_or_insert_with(Stopwatch::start);
                since.elapsed() < UNSERVED || !cluster.is_ready(limits).await
            }
            _ => error.is_transient(),
        }
    }

    /// A read was answered: what went before is over.
    fn answered(&mut self) {
        *self = Self {
            patient: self.patient,
            ..Self::default()
        };
    }

    /// Asks once, or twice when a 403 can be settled at once, and judges the answer.
    ///
    /// `Ok` is the definite answer, an object or a final error; `Err` is trouble that may pass.
    ///
    /// # Errors
    /// The trouble.
    pub async fn ask<T, F, Fut>(
        &mut self,
        cluster: &Cluster,
        limits: &Limits,
        mut ask: F,
    ) -> Result<Result<T, ApiError>, ApiError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, ApiError>>,
    {
        for _ in 0..2 {
            match ask().await {
                Ok(answer) => {
                    self.answered();
                    return Ok(Ok(answer));
                }
                Err(error) if !self.may_pass(&error, cluster, limits).await => {
                    return Ok(Err(error));
                }
                Err(error) if !self.forbidden.is_some_and(|run| run.server_was_ready) => {
                    return Err(error);
                }
                // The API server has called itself ready after the 403: the next answer counts.
                Err(_) => {}
            }
        }
        let answer = ask().await?;
        self.answered();
        Ok(Ok(answer))
    }
}
