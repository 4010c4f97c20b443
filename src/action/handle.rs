//! Waiting for the snapshot handle, and telling what is waited for.
//!
//! May use: cluster, rules, model, wait.

use std::time::Duration;

use super::error::ActionError;
use super::snapshot::Made;
use crate::cluster::{ApiError, Cluster, Fault, Grace, Limits};
use crate::model::go_duration;
use crate::model::snapshot::{VolumeSnapshot, VolumeSnapshotContent};
use crate::rules::cadence::Cadence;
use crate::rules::readiness::{self, ContentState, Handle, Lost, SnapshotState};
use crate::wait::{self, Ended, Interrupt, Look, Looker, Seen, Stopwatch};

/// Distance of two lines about the same reason to wait.
const REMIND: Duration = Duration::from_secs(30);
/// An error of the driver that lasts this long is worth a backup warning; most pass sooner (F11, F18).
const WARN_AFTER: Duration = Duration::from_secs(10);
/// A VolumeSnapshot that nobody has touched for this long has no snapshot-controller (F15).
const UNTOUCHED: Duration = Duration::from_secs(30);

/// What is waited for, and how.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The VolumeSnapshot.
    pub made: &'a Made,
    /// Its class, for texts.
    pub class: &'a str,
    /// The volume's CSI driver, for texts.
    pub driver: &'a str,
    /// When to look.
    pub cadence: Cadence,
    /// When to give up, counted from the create's answer.
    pub timeout: Duration,
}

/// A handle, and when it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The handle.
    pub handle: Handle,
    /// First look, since the create, at which the VolumeSnapshot was bound.
    pub bound: Duration,
    /// The look, since the create, at which the handle was there.
    pub handle_seen: Duration,
    /// Looks made.
    pub looks: u32,
}

/// Waits until the VolumeSnapshot is bound and its content has a handle.
///
/// # Errors
/// The snapshot is lost, refused to be read, not there in time, or the wait was interrupted.
pub async fn wait(
    cluster: &Cluster,
    plan: Plan<'_>,
    created: Stopwatch,
    interrupt: &Interrupt,
) -> Result<Cut, ActionError> {
    let mut observer = Observer::new(cluster, plan);
    let cadence = plan.cadence;
    let ended = wait::until(
        created,
        plan.timeout,
        |elapsed| cadence.next(elapsed),
        interrupt,
        &mut observer,
    )
    .await;
    match ended {
        Ok(result) => result,
        Err(Ended::Interrupted(reason)) => Err(ActionError::Interrupted(reason)),
        // A handle wins over any error, also when the API server was away at the end.
        Err(Ended::TimedOut) => observer
            .held
            .take()
            .map_or_else(|| Err(observer.timed_out()), Ok),
    }
}

/// The two objects of one look; `None` is an object that certainly does not exist.
struct Fetched {
    snapshot: Option<VolumeSnapshot>,
    content: Option<VolumeSnapshotContent>,
}

/// One request while the VolumeSnapshot is not bound, two afterwards.
async fn fetch(cluster: &Cluster, made: &Made, limits: &Limits) -> Result<Fetched, ApiError> {
    let snapshot = existing(cluster.snapshot(&made.namespace, &made.name, limits).await)?;
    let content = match snapshot.as_ref().and_then(VolumeSnapshot::bound_content) {
        Some(name) => existing(cluster.content(name, limits).await)?,
        None => None,
    };
    Ok(Fetched { snapshot, content })
}

fn existing<T>(answer: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

impl Looker for Observer<'_> {
    type Found = Result<Cut, ActionError>;

    async fn look(&mut self, look: Look) -> Seen<Self::Found> {
        self.looks = self.looks.saturating_add(1);
        let at = look.at;
        let limits = Limits::from(look);
        let (cluster, made) = (self.cluster, self.plan.made);
        match self
            .grace
            .ask(cluster, &limits, || fetch(cluster, made, &limits))
            .await
        {
            Ok(Ok(fetched)) => match self.interpret(at, fetched) {
                Observed::Cut(cut) => Seen::Done(Ok(cut)),
                Observed::Lost(lost) => Seen::Done(Err(ActionError::Lost(lost))),
                Observed::NotYet(waiting_for) => {
                    self.trouble = None;
                    self.say(at, waiting_for);
                    Seen::NotYet
                }
            },
            Ok(Err(source)) => {
                let doing = format!(
                    "wait for the handle of VolumeSnapshot {}/{}",
                    made.namespace, made.name
                );
                Seen::Done(Err(ActionError::Api { doing, source }))
            }
            Err(error) => self.failed(&error, at),
        }
    }
}

/// What has been seen so far, and said about it.
struct Observer<'a> {
    cluster: &'a Cluster,
    plan: Plan<'a>,
    uid: String,
    grace: Grace,
    looks: u32,
    bound: Option<Duration>,
    waiting_for: String,
    said: Option<Duration>,
    snapshot_error: Option<String>,
    content_error: Option<String>,
    errored_since: Option<Duration>,
    said_error: Option<String>,
    warned_of_error: bool,
    warned_of_untouched: bool,
    trouble: Option<String>,
    /// A handle that was seen beside an error.
    held: Option<Cut>,
}

impl<'a> Observer<'a> {
    fn new(cluster: &'a Cluster, plan: Plan<'a>) -> Self {
        Self {
            cluster,
            plan,
            uid: plan.made.uid.clone().unwrap_or_default(),
            grace: Grace::patient(),
            looks: 0,
            bound: None,
            waiting_for: String::new(),
            said: None,
            snapshot_error: None,
            content_error: None,
            errored_since: None,
            said_error: None,
            warned_of_error: false,
            warned_of_untouched: false,
            trouble: None,
            held: None,
        }
    }

    /// What the two objects say, put into words.
    fn interpret(&mut self, at: Duration, fetched: Fetched) -> Observed {
        let made = self.plan.made;
        let key = format!("{}/{}", made.namespace, made.name);
        let Some(snapshot) = fetched.snapshot else {
            let labels = made.labels.keys().cloned().collect();
            return Observed::Lost(Lost::SnapshotDeleted(key, labels));
        };
        let (name, error) = match readiness::of_snapshot(&snapshot, &self.uid) {
            SnapshotState::Lost(lost) => return Observed::Lost(lost),
            SnapshotState::Unbound { touched, error } => {
                self.note_errors(at, error, None);
                self.note_untouched(at, touched);
                let who = if touched { "bind" } else { "pick up" };
                return Observed::NotYet(format!(
                    "the snapshot-controller to {who} VolumeSnapshot {key}"
                ));
            }
            SnapshotState::Bound { content, error } => (content, error),
        };
        let bound = *self.bound.get_or_insert(at);
        let Some(content) = fetched.content else {
            return Observed::Lost(Lost::ContentDeleted(name));
        };
        match readiness::of_content(&content) {
            ContentState::Lost(lost) => Observed::Lost(lost),
            ContentState::NoHandle {
                error: content_error,
            } => {
                self.note_errors(at, error, content_error);
                Observed::NotYet(self.missing_handle(&name))
            }
            ContentState::Handle(handle) => {
                let early = self.plan.cadence.window.min(self.plan.timeout);
                let cut = Cut {
                    handle,
                    bound,
                    handle_seen: at,
                    looks: self.looks,
                };
                if cut.handle.error.is_some() && at < early {
                    self.note_errors(at, error, cut.handle.error.clone());
                    self.held = Some(cut);
                    return Observed::NotYet(format!(
                        "VolumeSnapshotContent {name} to lose its error"
                    ));
                }
                Observed::Cut(cut)
            }
        }
    }

    /// Trouble that may pass is remembered for the time-out's text.
    fn failed<T>(&mut self, error: &ApiError, at: Duration) -> Seen<T> {
        let text = error.to_string();
        if self.trouble.as_ref() != Some(&text) {
            tracing::info!(
                error = text,
                elapsed = go_duration::short(at),
                "a look failed, looking on"
            );
        }
        self.trouble = Some(text);
        if matches!(error.fault, Fault::NoAnswer(_)) {
            Seen::TooSlow
        } else {
            Seen::NotYet
        }
    }

    /// One line when the reason to wait changes, and every 30 s.
    fn say(&mut self, at: Duration, waiting_for: String) {
        let due = self
            .said
            .is_none_or(|said| at >= said.saturating_add(REMIND));
        if due || waiting_for != self.waiting_for {
            tracing::info!(
                volume_snapshot = self.plan.made.name,
                elapsed = go_duration::short(at),
                waiting_for,
                "waiting for the snapshot"
            );
            self.said = Some(at);
        }
        self.waiting_for = waiting_for;
    }

    /// Errors that snapshotter or driver report: Info when they change, one Warn when they last.
    fn note_errors(&mut self, at: Duration, snapshot: Option<String>, content: Option<String>) {
        let error = content.as_ref().or(snapshot.as_ref()).cloned();
        self.snapshot_error = snapshot.or_else(|| self.snapshot_error.take());
        self.content_error = content.or_else(|| self.content_error.take());
        let Some(error) = error else {
            self.errored_since = None;
            return;
        };
        let since = *self.errored_since.get_or_insert(at);
        let volume_snapshot = &self.plan.made.name;
        let elapsed = go_duration::short(at);
        if !self.warned_of_error && at.saturating_sub(since) >= WARN_AFTER {
            self.warned_of_error = true;
            tracing::warn!(
                volume_snapshot,
                elapsed,
                error,
                "the snapshot keeps failing, waiting on"
            );
        } else if self.said_error.as_ref() != Some(&error) {
            tracing::info!(
                volume_snapshot,
                elapsed,
                error,
                "the snapshot reports an error, waiting on"
            );
        }
        self.said_error = Some(error);
    }

    fn note_untouched(&mut self, at: Duration, touched: bool) {
        if touched || self.warned_of_untouched || at < UNTOUCHED {
            return;
        }
        self.warned_of_untouched = true;
        tracing::warn!(
            volume_snapshot = self.plan.made.name,
            elapsed = go_duration::short(at),
            "nothing has touched the VolumeSnapshot: is a snapshot-controller running, and does it serve this driver?"
        );
    }

    fn missing_handle(&self, content: &str) -> String {
        format!(
            "driver {} to give VolumeSnapshotContent {content} a handle",
            self.plan.driver
        )
    }

    fn timed_out(&self) -> ActionError {
        let Made {
            namespace, name, ..
        } = self.plan.made;
        let mut known = vec![format!(
            "VolumeSnapshot {namespace}/{name}, class {}, driver {}, {} looks",
            self.plan.class, self.plan.driver, self.looks
        )];
        // The snapshot-controller copies the content's error to the VolumeSnapshot.
        let copied = self.snapshot_error == self.content_error;
        let snapshot_error = if copied { &None } else { &self.snapshot_error };
        for (what, error) in [
            ("VolumeSnapshotContent error", &self.content_error),
            ("VolumeSnapshot error", snapshot_error),
            ("last look", &self.trouble),
        ] {
            if let Some(error) = error {
                known.push(format!("{what}: {error}"));
            }
        }
        let waiting_for = if self.waiting_for.is_empty() {
            format!(
                "the API server to show VolumeSnapshot {}/{}",
                self.plan.made.namespace, self.plan.made.name
            )
        } else {
            self.waiting_for.clone()
        };
        ActionError::TimedOut {
            waiting_for,
            after: self.plan.timeout,
            last: known.join("; "),
        }
    }
}

enum Observed {
    Cut(Cut),
    Lost(Lost),
    NotYet(String),
}
