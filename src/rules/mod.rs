//! What we decide: pure functions over what was read.
//!
//! May use: model. No async, no client, no clock, no environment, no log.

pub mod cadence;
pub mod content_marks;
pub mod eligibility;
pub mod fs_backup;
pub mod labels;
pub mod outcome;
pub mod readiness;
pub mod snapshot_class;
pub mod volume_policy;
