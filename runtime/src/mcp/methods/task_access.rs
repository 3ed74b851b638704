//! Finds the tasks of a caller, who must still be allowed to call their tools, and reads their results within the
//! caller's share of the buffers.
//!
//! Every method of tasks looks them up here, in both generations.

use super::super::buffer_budget::BufferReservation;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use super::item_access::{self, AccessError};
use super::run_guest_call::reserve_result;
use crate::mcp::tasks::{FoundTask, TaskError, TaskGeneration, TaskView};

/// A task with its result, and the memory for the result until it is written.
pub(super) type ReadTask = (TaskView, Option<BufferReservation>);

/// Finds the task with this id of the caller. One whose tool the caller may not call any more does not exist.
pub(super) async fn find(
    server: &Server,
    context: &RequestContext,
    id: &str,
    generation: TaskGeneration,
) -> Result<FoundTask, TaskError> {
    let found = server.call_tasks.find(id, generation, &context.caller).await?;
    // The policy may have changed since the call, and the request may come with another token.
    let view = server.catalog_view(&context.caller);
    match item_access::check_called(&view, &context.caller, found.called()) {
        Ok(()) => Ok(found),
        Err(AccessError::Scopes(error)) => Err(TaskError::Rejected(error)),
        // A role may ask for hints of the tool, which may not be published yet.
        Err(_) if !view.is_complete => Err(TaskError::Unreadable),
        Err(AccessError::Hidden | AccessError::Arguments(_)) => Err(TaskError::Unknown),
    }
}

/// The task now, with its result.
pub(super) async fn read(
    server: &Server,
    context: &RequestContext,
    found: FoundTask,
) -> Result<ReadTask, TaskError> {
    let reserve = |bytes| reserve_result(server, context, bytes).map_err(TaskError::Rejected);
    match found {
        FoundTask::Live(live) => {
            let view = live.view();
            let reservation = reserve(view.size())?;
            Ok((view, reservation))
        }
        FoundTask::Ended(ended) => {
            let reservation = reserve(ended.size())?;
            Ok((server.call_tasks.read(*ended).await?, reservation))
        }
    }
}
