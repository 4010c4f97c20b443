//! Execute against a cluster in memory, on the paused clock: exact instants, faults, end states.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unchecked_time_subtraction,
    clippy::duration_suboptimal_units,
    clippy::disallowed_methods,
    clippy::float_cmp,
    clippy::match_same_arms,
    clippy::too_many_lines,
    reason = "a test ends at the first thing that is not as expected"
)]

mod answer;
mod bad_input;
mod bench;
mod cadence;
mod faults;
mod logs;
mod requests;
mod take_over;
mod undo;
