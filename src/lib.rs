//! Velero BackupItemAction v2 plugin that takes CSI snapshots with the shortest possible freeze
//! window.
//!
//! The layers, and the only directions in which they use each other:
//! shell → wire → story → {rules, cluster} → model.

// Nouns.
pub mod error;
pub mod model;
// What is decided.
pub mod rules;
// The only clock.
pub mod wait;
