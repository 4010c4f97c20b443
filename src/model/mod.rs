//! The nouns: plain data and its text forms. No async, no clock, no environment, no log.

pub mod backup;
pub mod decode;
pub mod go_duration;
pub mod item;
pub mod knobs;
pub mod names;
pub mod object_meta;
pub mod object_ref;
pub mod one_line;
pub mod operation_progress;
pub mod pod;
pub mod quantity;
pub mod settings;
pub mod snapshot;
pub mod valid_label;
