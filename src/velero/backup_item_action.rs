//! BackupItemAction v2: AppliesTo, Execute, Progress and Cancel of one action.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::item_action::ItemAction;
use super::lister::KIND;
use super::{convert, status};
use crate::goplugin::calls::Calls;
use crate::model::names::{ACTION, RESOURCE_PVCS};
use crate::proto::generated::ResourceSelector;
use crate::proto::v2::backup_item_action_server::BackupItemAction;
use crate::proto::v2::{
    BackupItemActionAppliesToRequest, BackupItemActionAppliesToResponse,
    BackupItemActionCancelRequest, BackupItemActionProgressRequest,
    BackupItemActionProgressResponse, ExecuteRequest, ExecuteResponse,
};

/// Serves one action; calls may come in parallel (P-27).
#[derive(Debug)]
pub struct Service<A> {
    action: Arc<A>,
    calls: Calls,
}

impl<A: ItemAction> Service<A> {
    /// A service whose requests run as tasks of `calls`.
    #[must_use]
    pub fn new(action: Arc<A>, calls: Calls) -> Self {
        Self { action, calls }
    }
}

fn expect_our_name(plugin: &str) -> Result<(), Status> {
    if plugin == ACTION {
        Ok(())
    } else {
        Err(status::unknown_plugin(KIND, plugin))
    }
}

#[tonic::async_trait]
impl<A: ItemAction> BackupItemAction for Service<A> {
    /// Static, since an error here fails the whole backup (A 6.2). What it starts is detached.
    async fn applies_to(
        &self,
        request: Request<BackupItemActionAppliesToRequest>,
    ) -> Result<Response<BackupItemActionAppliesToResponse>, Status> {
        expect_our_name(&request.get_ref().plugin)?;
        let action = Arc::clone(&self.action);
        tokio::spawn(async move { action.warm_up() });
        Ok(Response::new(BackupItemActionAppliesToResponse {
            resource_selector: Some(ResourceSelector {
                included_resources: vec![RESOURCE_PVCS.to_owned()],
                ..ResourceSelector::default()
            }),
        }))
    }

    async fn execute(
        &self,
        request: Request<ExecuteRequest>,
    ) -> Result<Response<ExecuteResponse>, Status> {
        let ExecuteRequest {
            plugin,
            item,
            backup,
        } = request.into_inner();
        expect_our_name(&plugin)?;
        let action = Arc::clone(&self.action);
        let unread = Arc::clone(&self.action);
        let result = self
            .calls
            .run_or(
                move |interrupt| async move { action.execute(item, backup, &interrupt).await },
                move |result, interrupt| async move {
                    if let Ok(answer) = result {
                        unread.take_back(answer, &interrupt).await;
                    }
                },
            )
            .await
            .map_err(|lost| status::of_lost(&lost))?;
        result
            .map(|answer| Response::new(convert::execute_response(answer)))
            .map_err(|error| status::of_action(&error))
    }

    async fn progress(
        &self,
        request: Request<BackupItemActionProgressRequest>,
    ) -> Result<Response<BackupItemActionProgressResponse>, Status> {
        let BackupItemActionProgressRequest {
            plugin,
            operation_id,
            backup,
        } = request.into_inner();
        expect_our_name(&plugin)?;
        let action = Arc::clone(&self.action);
        let result = self
            .calls
            .run(|_| async move { action.progress(&operation_id, &backup).await })
            .await
            .map_err(|lost| status::of_lost(&lost))?;
        let progress = result.map_err(|error| status::of_action(&error))?;
        Ok(Response::new(BackupItemActionProgressResponse {
            progress: Some(convert::operation_progress(progress)),
        }))
    }

    async fn cancel(
        &self,
        request: Request<BackupItemActionCancelRequest>,
    ) -> Result<Response<()>, Status> {
        let BackupItemActionCancelRequest {
            plugin,
            operation_id,
            backup,
        } = request.into_inner();
        expect_our_name(&plugin)?;
        let action = Arc::clone(&self.action);
        let result = self
            .calls
            .run(|_| async move { action.cancel(&operation_id, &backup).await })
            .await
            .map_err(|lost| status::of_lost(&lost))?;
        result
            .map(Response::new)
            .map_err(|error| status::of_action(&error))
    }
}
