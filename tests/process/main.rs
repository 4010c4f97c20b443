//! The real binary as a child process of a plugin host (A 10).

#![cfg(feature = "demo")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

#[path = "../support/mod.rs"]
mod support;

mod by_hand;
mod calls;
mod end;
mod services;
mod start;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use support::{BINARY, PATIENCE, ended, id, is_pending_for, kill, launch, log_record, within};
use tonic::Code;
use velero_plugin_csi_fastpoll::commands::launch::{GRACE, Launch, Plugin, dial, socket_path};
use velero_plugin_csi_fastpoll::model::names::ACTION;
use velero_plugin_csi_fastpoll::proto::generated::Empty;
use velero_plugin_csi_fastpoll::proto::generated::plugin_lister_client::PluginListerClient;
use velero_plugin_csi_fastpoll::proto::plugin::ConnInfo;
use velero_plugin_csi_fastpoll::proto::v2::{
    BackupItemActionAppliesToRequest, BackupItemActionCancelRequest,
    BackupItemActionProgressRequest, ExecuteRequest,
};

const MIB: usize = 1024 * 1024;

/// R-3: in this phase an item is echoed and no API is asked.
const FINALIZING: &[u8] = br#"{"metadata":{"name":"b","namespace":"velero","uid":"u"},"spec":{},"status":{"phase":"Finalizing"}}"#;

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn entries(directory: &Path) -> usize {
    directory.read_dir().unwrap().count()
}

async fn commands(plugin: &Plugin) -> Vec<(String, String, String)> {
    let answer = plugin
        .lister()
        .list_plugins(Empty {})
        .await
        .unwrap()
        .into_inner();
    answer
        .plugins
        .into_iter()
        .map(|p| (p.command, p.kind, p.name))
        .collect()
}

fn item_of(size: usize) -> Vec<u8> {
    let head =
        br#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{"big":""#;
    let tail = br#""},"name":"data","namespace":"db"}}"#;
    let mut item = head.to_vec();
    item.resize(size - tail.len(), b'x');
    item.extend_from_slice(tail);
    item
}

fn execute(item: Vec<u8>) -> ExecuteRequest {
    ExecuteRequest {
        plugin: ACTION.into(),
        item: item.into(),
        backup: FINALIZING.into(),
    }
}
