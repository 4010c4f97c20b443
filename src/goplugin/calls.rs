//! Requests as tracked tasks: each goes on to its own end when its client leaves (T2), a panic
//! in it is an answer instead of a dead connection (T3), and a stop waits for all of them.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::wait::Interrupt;

/// Starts requests and knows which still run. Clones share both.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Why a request has no answer of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// It panicked with this text.
    #[error("plugin panicked: {0}")]
    Panicked(String),
    /// The process ended under it.
    #[error("plugin stopped")]
    Stopped,
}

impl Calls {
    /// The process-wide stop.
    #[must_use]
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Runs `work` to its end in a task and returns what it returned.
    ///
    /// When the returned future is dropped, which is how a server says that the client has
    /// gone, the task's [`Interrupt`] fires and the task runs on to take back what it did.
    ///
    /// # Errors
    /// The work panicked, or the process stopped before its end.
    pub async fn run<W, F, T>(&self, work: W) -> Result<T, Lost>
    where
        W: FnOnce(Interrupt) -> F + Send + 'static,
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.run_or(work, |_, _| async {}).await
    }

    /// The same, but a result that came when the client had just gone is given to `unread`.
    ///
    /// # Errors
    /// See [`Calls::run`].
    pub async fn run_or<W, F, T, U, G>(&self, work: W, unread: U) -> Result<T, Lost>
    where
        W: FnOnce(Interrupt) -> F + Send + 'static,
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
        U: FnOnce(T, Interrupt) -> G + Send + 'static,
        G: Future<Output = ()> + Send + 'static,
    {
        let caller = CancellationToken::new();
        let interrupt = Interrupt::new(self.stop.clone(), caller.clone());
        let slot = Arc::new(Mutex::new(None));
        let (ready, filled) = oneshot::channel();
        // Dropped when the value has been taken, or when the client has gone: the slot tells which.
        let (reading, read) = oneshot::channel::<()>();
        let offered = Arc::clone(&slot);
        let task = self.tasks.spawn(async move {
            let value = work(interrupt.clone()).await;
            *locked(&offered) = Some(value);
            if ready.send(()).is_ok() {
                let _ = read.await;
            }
            let left = locked(&offered).take();
            if let Some(value) = left {
                unread(value, interrupt).await;
            }
        });
        let leaving = caller.drop_guard();
        let result = filled.await;
        leaving.disarm();
        if result.is_ok()
            && let Some(value) = locked(&slot).take()
        {
            drop(reading);
            return Ok(value);
        }
        drop(reading);
        match task.await.map_err(JoinError::try_into_panic) {
            Err(Ok(payload)) => Err(Lost::Panicked(text_of(payload.as_ref()))),
            Ok(()) | Err(Err(_)) => Err(Lost::Stopped),
        }
    }

    /// Completes when no request runs any more; none should be started after this.
    pub async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn locked<T>(slot: &Mutex<Option<T>>) -> MutexGuard<'_, Option<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Reason;

    #[tokio::test]
    async fn work_returns_its_own_value() {
        assert_eq!(Calls::default().run(|_| async { 7 }).await, Ok(7));
    }

    #[tokio::test]
    async fn panic_is_an_error_with_its_text_and_the_next_call_works() {
        let calls = Calls::default();
        let lost = calls.run(|_| async { panic!("odd {}", 1) }).await;
        assert_eq!(lost, Err::<(), _>(Lost::Panicked("odd 1".to_owned())));
        let lost = calls.run(|_| async { panic!("plain") }).await;
        assert_eq!(lost, Err::<(), _>(Lost::Panicked("plain".to_owned())));
        assert_eq!(calls.run(|_| async { 1 }).await, Ok(1));
    }

    #[tokio::test]
    async fn caller_that_leaves_interrupts_work_which_runs_on() {
        let calls = Calls::default();
        let (started, begun) = oneshot::channel();
        let (ended, end) = oneshot::channel();
        let call = calls.run(|interrupt| async move {
            started.send(()).unwrap();
            let reason = interrupt.raised().await;
            tokio::task::yield_now().await;
            ended.send(reason).unwrap();
        });
        tokio::select! {
            _ = call => panic!("the call must not end before its caller leaves"),
            begun = begun => begun.unwrap(),
        }
        assert_eq!(end.await, Ok(Reason::CallerGone));
        calls.ended().await;
    }

    #[tokio::test]
    async fn stop_interrupts_every_call() {
        let calls = Calls::default();
        calls.stop().cancel();
        let reason = calls
            .run(|interrupt| async move { interrupt.raised().await })
            .await;
        assert_eq!(reason, Ok(Reason::Stop));
    }

    #[tokio::test]
    async fn result_that_comes_when_its_caller_has_just_left_is_given_to_unread() {
        let calls = Calls::default();
        let (unread, value) = oneshot::channel();
        let mut call = Box::pin(calls.run_or(
            |_| async { 7 },
            |value, _| async move {
                unread.send(value).unwrap();
            },
        ));
        // Once to start the task; then the task ends, and its value waits for a second look that never comes.
        let first = futures::poll!(&mut call);
        assert!(first.is_pending());
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        drop(call);
        assert_eq!(value.await, Ok(7));
    }
}
