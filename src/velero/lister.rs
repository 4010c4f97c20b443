//! PluginLister: what this binary offers to Velero.
//!
//! One wrong entry keeps the Velero server from starting (A 4.3), so there is exactly one: no
//! ItemBlockAction, which 1.14 does not know, and no second kind under the same name.

use tonic::{Request, Response, Status};

use crate::model::names::ACTION;
use crate::proto::generated::plugin_lister_server::PluginLister;
use crate::proto::generated::{Empty, ListPluginsResponse, PluginIdentifier};

/// The kind under which the action is registered.
pub const KIND: &str = "BackupItemActionV2";

/// Answers ListPlugins.
#[derive(Clone, Debug)]
pub struct Lister {
    command: String,
}

impl Lister {
    /// `command` is `argv[0]` as Velero gave it: Velero later executes exactly this string.
    #[must_use]
    pub fn new(command: String) -> Self {
        Self { command }
    }
}

#[tonic::async_trait]
impl PluginLister for Lister {
    async fn list_plugins(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<ListPluginsResponse>, Status> {
        Ok(Response::new(ListPluginsResponse {
            plugins: vec![PluginIdentifier {
                command: self.command.clone(),
                kind: KIND.to_owned(),
                name: ACTION.to_owned(),
            }],
        }))
    }
}
