//! What tools say about tasks; and `tasks/get`, `tasks/update` and `tasks/cancel` of the extension (2026-07-28).

use std::sync::Arc;

use super::super::catalog_view::CatalogView;
use super::super::client_requests::client_capabilities::TASKS;
use super::super::error::RpcError;
use super::super::param_errors::reason;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EmptyResult, EncodedResult};
use super::super::server::Server;
use super::super::task_promotion::TaskTerms;
use super::super::tasks::{FoundTask, TaskGeneration};
use super::{item_access, task_access};
use crate::catalog::{PublishedTool, TaskSupport};
use crate::json::RawObject;

pub(in super::super) async fn get(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let found = find(server, context, params).await?;
    let (view, _reservation) = task_access::read(server, context, found).await?;
    let write = || EncodedResult::new(&view, context.revision, &server.info);
    server.reading().in_place(view.size(), write).await
}

pub(in super::super) async fn update(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let found = find(server, context, params).await?;
    let missing = || RpcError::invalid_params("`params`: missing field `inputResponses`");
    let responses = RawObject::parse(params.input_responses().ok_or_else(missing)?)
        .map_err(|error| RpcError::invalid_params(&format!("`params.inputResponses`: {}", reason(&error))))?;
    if let FoundTask::Live(live) = found {
        // The policy may have changed since the call.
        item_access::check_request(view, &context.caller, live.context.revision, &live.context.request)?;
        let accept = || live.accept(&responses, context.request.reservation.clone());
        if server.reading().in_place(params.work(), accept).await? {
            server.call_tasks.changed(&live);
        }
    }
    acknowledge(server, context)
}

pub(in super::super) async fn cancel(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    if let FoundTask::Live(live) = find(server, context, params).await? {
        live.context.cancel.cancel();
    }
    acknowledge(server, context)
}

/// Notes what the called tool says about tasks.
///
/// `result_tool` is the tool that waits for the results of its plugin's bridged calls, if its caller sees one.
///
/// # Errors
/// When the tool only runs as a task, and the client cannot have one.
pub(super) fn note_tool(
    context: &RequestContext,
    tool: &PublishedTool,
    result_tool: Option<Arc<str>>,
) -> Result<(), RpcError> {
    let Some(promotion) = &context.promotion else { return without_task(context, tool) };
    let is_bridged = promotion.is_bridged();
    let result_tool = result_tool.filter(|_| is_bridged && tool.can_be_bridged());
    let has_no_bridge = is_bridged && result_tool.is_none();
    if has_no_bridge {
        without_task(context, tool)?;
    }
    let is_forbidden = has_no_bridge || tool.task_support == TaskSupport::Forbidden;
    if is_forbidden && !is_bridged && context.revision.has_core_tasks() {
        return Err(RpcError::method_not_found(
            "tools/call with `params.task` for this tool",
            context.revision,
        ));
    }
    let limits = &tool.plugin.config().limits;
    promotion.set_terms(TaskTerms {
        plugin: Arc::clone(tool.plugin.shared_name()),
        tool: Arc::clone(&tool.own_name),
        max_tasks: usize::try_from(limits.tasks).unwrap_or(usize::MAX),
        grace: limits.task_grace(),
        is_forbidden,
        result_tool,
    });
    Ok(())
}

/// For a call that becomes no task.
fn without_task(context: &RequestContext, tool: &PublishedTool) -> Result<(), RpcError> {
    match tool.task_support {
        TaskSupport::Required if context.revision.is_stateless() => Err(RpcError::missing_extension(TASKS)),
        // The answer that 2025-11-25 has for a call without `params.task`. Older clients cannot know better.
        TaskSupport::Required if context.revision.has_core_tasks() => {
            Err(RpcError::method_not_found("tools/call without `params.task`", context.revision))
        }
        _ => Ok(()),
    }
}

/// Makes the call of a tool a task at once, if the client asked for one, or if the tool only runs as one and its guest
/// does not choose the moment.
///
/// # Errors
/// When there is no room for a task.
pub(super) async fn begin(context: &RequestContext, tool: &PublishedTool) -> Result<(), RpcError> {
    let is_required = tool.task_support == TaskSupport::Required && !tool.plugin.detaches();
    let Some(promotion) = context.promotion.as_ref().filter(|promotion| promotion.is_possible()) else {
        return Ok(());
    };
    let is_asked_for = context.revision.has_core_tasks() && !promotion.is_bridged();
    if !(is_required || is_asked_for) || context.detach().await {
        return Ok(());
    }
    let why = "there is no room for another task (limits `tasks`, setting [server] `task_store_mib`); try again later";
    Err(RpcError::internal(why))
}

/// Rejects a client that has not declared the extension with this request.
pub(super) fn check_declared(context: &RequestContext) -> Result<(), RpcError> {
    if context.leg().capabilities.tasks { Ok(()) } else { Err(RpcError::missing_extension(TASKS)) }
}

async fn find(server: &Server, context: &RequestContext, params: &Params) -> Result<FoundTask, RpcError> {
    check_declared(context)?;
    let id = params.task_id()?;
    Ok(task_access::find(server, context, &id, TaskGeneration::Extension).await?)
}

fn acknowledge(server: &Server, context: &RequestContext) -> Result<EncodedResult, RpcError> {
    EncodedResult::new(&EmptyResult, context.revision, &server.info)
}
