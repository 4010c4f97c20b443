//! Velero's own services: bytes on the wire to and from the model, nothing else.
//!
//! May use: goplugin, proto, action, model, wait, error.

pub mod backup_item_action;
mod convert;
pub mod item_action;
pub mod lister;
pub mod status;

use std::sync::Arc;

use tonic::service::RoutesBuilder;

use crate::goplugin::calls::Calls;
use crate::goplugin::cookie::Cookie;
use crate::goplugin::server::MESSAGE_LIMIT;
use crate::proto::generated::plugin_lister_server::PluginListerServer;
use crate::proto::v2::backup_item_action_server::BackupItemActionServer;

/// Velero's cookie (pkg/plugin/framework/handshake.go).
pub const COOKIE: Cookie = Cookie {
    key: "VELERO_PLUGIN",
    value: "hello",
};

/// The application protocol of Velero's plugin framework, the only one it knows (A 1.2).
pub const APP_PROTOCOL: u32 = 2;

/// Velero's services around one action. `command` is `argv[0]`, verbatim.
#[must_use]
pub fn services<A: item_action::ItemAction>(
    command: &str,
    action: Arc<A>,
    calls: &Calls,
) -> RoutesBuilder {
    let service = backup_item_action::Service::new(action, calls.clone());
    let mut routes = RoutesBuilder::default();
    routes
        .add_service(PluginListerServer::new(lister::Lister::new(
            command.to_owned(),
        )))
        .add_service(BackupItemActionServer::new(service).max_decoding_message_size(MESSAGE_LIMIT));
    routes
}
