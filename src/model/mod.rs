//! The nouns: plain data and its text forms. No async, no clock, no environment, no log.

pub mod go_duration;
pub mod knobs;
pub mod names;
pub mod object_ref;
pub mod operation_progress;
pub mod settings;
