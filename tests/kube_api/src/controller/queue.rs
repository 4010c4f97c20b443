//! A work queue as client-go's: a key is worked on by one worker at a time, and what comes meanwhile is done once more afterwards.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Semaphore;

use crate::store::Key;

/// First and longest pause between retries, the defaults of both controllers.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(5);

/// What a worker wants after it has looked at a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Nothing; earlier failures are forgotten.
    Done,
    /// Another look after the back-off.
    Retry,
    /// Another look after this long; no failure.
    After(Duration),
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// One permit for each waiting key.
    waiting: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Key>,
    dirty: HashSet<Key>,
    working: HashSet<Key>,
    failures: HashMap<Key, u32>,
}

impl Queue {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            waiting: Semaphore::new(0),
        })
    }

    /// Wants a look at this key.
    pub(super) fn add(&self, key: Key) {
        let mut state = self.state();
        if !state.dirty.insert(key.clone()) || state.working.contains(&key) {
            return;
        }
        state.waiting.push_back(key);
        self.waiting.add_permits(1);
    }

    /// Forgets that another look was wanted at a key that is being worked on.
    pub(super) fn lose(&self, key: &Key) {
        let mut state = self.state();
        if state.working.contains(key) {
            state.dirty.remove(key);
        }
    }

    /// The next key; [`Queue::finish`] must follow.
    pub(super) async fn next(&self) -> Key {
        loop {
            if let Ok(permit) = self.waiting.acquire().await {
                permit.forget();
            }
            let mut state = self.state();
            if let Some(key) = state.waiting.pop_front() {
                state.dirty.remove(&key);
                state.working.insert(key.clone());
                return key;
            }
        }
    }

    /// The look is over.
    pub(super) fn finish(self: &Arc<Self>, key: Key, next: Next) {
        let pause = {
            let mut state = self.state();
            state.working.remove(&key);
            if state.dirty.contains(&key) {
                state.waiting.push_back(key.clone());
                self.waiting.add_permits(1);
            }
            match next {
                Next::Done => {
                    state.failures.remove(&key);
                    return;
                }
                Next::After(time) => time,
                Next::Retry => {
                    let failures = state.failures.entry(key.clone()).or_insert(0);
                    let pause = FIRST_RETRY
                        .saturating_mul(2_u32.saturating_pow(*failures))
                        .min(LAST_RETRY);
                    *failures += 1;
                    pause
                }
            }
        };
        let queue = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            queue.add(key);
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
