//! Reads before the create: patient with an API server in trouble.
//!
//! May use: cluster, wait.

use std::time::Duration;

use super::error::ActionError;
use crate::cluster::{ApiError, Cluster, Grace, Limits};
use crate::wait::{self, Deadline, Ended, Interrupt, Look, Seen, Stopwatch};

/// Distance of two tries of a read that met trouble.
const RETRY: Duration = Duration::from_secs(1);

/// What a read needs: the cluster, its limits, and who may end it.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Where to ask.
    pub cluster: &'a Cluster,
    /// What one request may take.
    pub limit: Duration,
    /// The end of all reads of this Execute.
    pub deadline: Deadline,
    /// Who may end it earlier.
    pub interrupt: &'a Interrupt,
}

impl Reader<'_> {
    /// Asks until there is an answer, trying again every second while the API server is in trouble.
    ///
    /// # Errors
    /// The definite answer, or the last trouble when the deadline passes.
    pub async fn read<T, F>(&self, doing: &str, mut ask: F) -> Result<T, ActionError>
    where
        F: AsyncFnMut(Limits<'_>) -> Result<T, ApiError>,
    {
        let mut grace = Grace::default();
        let mut trouble = String::new();
        let started = Stopwatch::start();
        let limit = self.limit;
        let cluster = self.cluster;
        let every = move |elapsed: Option<Duration>| (next_second(elapsed), limit);
        let look = async |look: Look| {
            let limits = Limits { budget: &look.budget, deadline: look.deadline };
            match grace.ask(cluster, limits, async || ask(limits).await).await {
                Ok(answer) => Seen::Done(answer),
                Err(error) => {
                    let text = error.to_string();
                    if text != trouble {
                        tracing::info!(error = text, "the API server is in trouble, trying again");
                        trouble = text;
                    }
                    Seen::NotYet
                }
            }
        };
        match wait::until(started, self.deadline.left(), every, self.interrupt, look).await {
            Ok(Ok(object)) => Ok(object),
            Ok(Err(source)) => Err(ActionError::Api { doing: doing.to_owned(), source }),
            Err(Ended::Interrupted(reason)) => Err(ActionError::Interrupted(reason)),
            Err(Ended::TimedOut) => Err(ActionError::Patience {
                doing: doing.to_owned(),
                after: started.elapsed(),
                last: if trouble.is_empty() { "no answer".to_owned() } else { trouble },
            }),
        }
    }
}

pub(super) fn next_second(elapsed: Option<Duration>) -> Duration {
    match elapsed {
        None => Duration::ZERO,
        Some(elapsed) => RETRY.saturating_mul(u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX).saturating_add(1)),
    }
}
