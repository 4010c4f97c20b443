//! Reads before the create: patient with an API server in trouble.
//!
//! May use: cluster, wait.

use std::time::Duration;

use super::error::ActionError;
use crate::cluster::{ApiError, Cluster, Grace, Limits};
use crate::wait::{self, Deadline, Ended, Interrupt, Look, Looker, Seen, Stopwatch};

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
    /// Waits for `work` of somebody else, no longer than this Execute may read.
    ///
    /// # Errors
    /// Those of `work`; an interrupt; or the deadline passed.
    pub async fn within<T>(
        &self,
        doing: &str,
        work: impl Future<Output = Result<T, ActionError>>,
    ) -> Result<T, ActionError> {
        let started = Stopwatch::start();
        let ended = tokio::select! {
            biased;
            reason = self.interrupt.raised() => return Err(ActionError::Interrupted(reason)),
            ended = self.deadline.and_last_look().limit(work) => ended,
        };
        ended.unwrap_or_else(|| {
            Err(ActionError::Patience {
                doing: doing.to_owned(),
                after: started.elapsed(),
                last: "it has not ended".to_owned(),
            })
        })
    }

    /// Asks until there is an answer, trying again every second while the API server is in trouble.
    ///
    /// # Errors
    /// The definite answer, or the last trouble when the deadline passes.
    pub async fn read<T, F, Fut>(&self, doing: &str, ask: F) -> Result<T, ActionError>
    where
        T: Send,
        F: FnMut(Limits) -> Fut + Send,
        Fut: Future<Output = Result<T, ApiError>> + Send,
    {
        let mut attempts = Attempts {
            cluster: self.cluster,
            ask,
            grace: Grace::default(),
            trouble: String::new(),
        };
        let started = Stopwatch::start();
        let limit = self.limit;
        let every = move |elapsed: Option<Duration>| (next_second(elapsed), limit);
        // Boxed: an Execute has many reads, and each would make its future larger.
        match Box::pin(wait::until(
            started,
            self.deadline.left(),
            every,
            self.interrupt,
            &mut attempts,
        ))
        .await
        {
            Ok(Ok(object)) => Ok(object),
            Ok(Err(source)) => Err(ActionError::Api {
                doing: doing.to_owned(),
                source,
            }),
            Err(Ended::Interrupted(reason)) => Err(ActionError::Interrupted(reason)),
            Err(Ended::TimedOut) => Err(ActionError::Patience {
                doing: doing.to_owned(),
                after: started.elapsed(),
                last: attempts.trouble,
            }),
        }
    }
}

/// The next whole second after `elapsed`; the start before the first try.
pub(super) fn next_second(elapsed: Option<Duration>) -> Duration {
    elapsed.map_or(Duration::ZERO, |elapsed| {
        Duration::from_secs(elapsed.as_secs()).saturating_add(RETRY)
    })
}

struct Attempts<'a, F> {
    cluster: &'a Cluster,
    ask: F,
    grace: Grace,
    trouble: String,
}

impl<T, F, Fut> Looker for Attempts<'_, F>
where
    T: Send,
    F: FnMut(Limits) -> Fut + Send,
    Fut: Future<Output = Result<T, ApiError>> + Send,
{
    type Found = Result<T, ApiError>;

    async fn look(&mut self, look: Look) -> Seen<Self::Found> {
        let limits = Limits::from(look);
        let ask = &mut self.ask;
        match self
            .grace
            .ask(self.cluster, &limits, || ask(limits.clone()))
            .await
        {
            Ok(answer) => Seen::Done(answer),
            Err(error) => {
                let text = error.to_string();
                if text != self.trouble {
                    tracing::info!(error = text, "the API server is in trouble, trying again");
                    self.trouble = text;
                }
                Seen::NotYet
            }
        }
    }
}
