//! State of an asynchronous operation, as Velero asks for it with Progress.

use jiff::Timestamp;

/// What is known of one operation. The default is "nothing has started yet" (P-29).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The operation has ended, well or not. Velero ignores `error` while this is false.
    pub completed: bool,
    /// Why it failed; empty when it did not.
    pub error: String,
    /// Units done.
    pub done: i64,
    /// Units in all; 0 when unknown.
    pub total: i64,
    /// What is counted, for example `Bytes`.
    pub units: String,
    /// A word for a person, for example a phase.
    pub description: String,
    /// When it started; `None` keeps Velero's operation in phase New.
    pub started: Option<Timestamp>,
    /// When it last moved.
    pub updated: Option<Timestamp>,
}
