//! Velero BackupItemAction v2 plugin that takes CSI snapshots with the shortest possible freeze
//! window.
//!
//! The layers, and the only directions in which they use each other:
//! shell → wire → story → {rules, cluster} → model.

// Shell: how Velero starts us.
pub mod cli;
pub mod config;
pub mod install;
pub mod logging;

// Wire: how it talks to us.
pub mod goplugin;
pub mod proto;
pub mod velero;

// Commands: what a person runs by hand.
pub mod commands;

// Story: what one request does.
pub mod action;

// Rules: what we decide. Cluster: what we ask Kubernetes.
pub mod cluster;
pub mod rules;

// Model: the nouns.
pub mod error;
pub mod model;

// The only clock.
pub mod wait;
