//! The messages and stubs of the wire, generated from `proto/`. No behaviour of ours.

#![allow(missing_docs, clippy::pedantic, reason = "generated code")]

/// go-plugin's support services.
pub mod plugin {
    tonic::include_proto!("plugin");
}

/// What Velero's plugin services share, and the lister.
pub mod generated {
    tonic::include_proto!("generated");
}

/// Velero's BackupItemAction, version 2.
pub mod v2 {
    tonic::include_proto!("v2");
}
