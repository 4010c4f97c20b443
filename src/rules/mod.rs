//! What is decided: pure functions from nouns to decisions. May use: model.

pub mod eligibility;
pub mod fs_backup;
pub mod labels;
pub mod outcome;
pub mod snapshot_class;
pub mod volume_policy;
