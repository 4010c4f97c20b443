//! Execute against a cluster in memory, on the paused clock: exact instants, faults, end states.

mod answer;
mod bad_input;
mod bench;
mod cadence;
mod faults;
mod logs;
mod requests;
mod take_over;
mod undo;
