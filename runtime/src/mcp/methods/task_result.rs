//! The tool that waits for the result of a bridged call, or cancels the call.
//!
//! Clients give up on a call after a minute, so it waits for half of one. What the guest asks meanwhile is asked of
//! this call: of a stateless one by `input_required`, of one in a session on its response stream.

use std::pin::pin;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::error::RpcError;
use super::super::notification_queue::OutgoingMessage;
use super::super::request_context::RequestContext;
use super::super::result_writer::EncodedResult;
use super::super::server::Server;
use super::super::tasks::{FoundTask, LiveTask, TaskStatus, TaskView, still_runs};
use super::super::wire::ResultView;
use super::{item_access, run_guest_call};
use crate::call_env::Client;
use crate::catalog::PublishedTool;
use crate::config::fixed_limits::TASK_RESULT_S;
use crate::json::RawObject;
use crate::plugin::{AdmittedCall, CallError};

type Answer = Result<EncodedResult, RpcError>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    task_id: String,
    #[serde(default)]
    cancel: bool,
}

/// Answers a call of `tool` with valid arguments. `None` when the client cancelled the request.
///
/// # Errors
/// When the tool or its caller calls too often.
pub(super) async fn answer(
    server: &Server,
    context: &RequestContext,
    tool: &PublishedTool,
    (args, admitted): (&str, Option<AdmittedCall>),
    client: &dyn Client,
) -> Result<Option<Answer>, CallError> {
    let mut record = tool.plugin.begin_served_call(&tool.own_name, args, admitted, client).await?;
    let answer = match serde_json::from_str(args) {
        Ok(arguments) => wait(server, context, tool, arguments).await,
        Err(error) => Some(Err(RpcError::invalid_params(&format!("`params.arguments`: {error}")))),
    };
    if let Some(answer) = &answer {
        record.served(answer.as_ref().map_or(0, |result| result.as_json().len()));
    }
    Ok(answer)
}

async fn wait(
    server: &Server,
    context: &RequestContext,
    tool: &PublishedTool,
    Arguments { task_id, cancel }: Arguments,
) -> Option<Answer> {
    let (mut changes, leg) = (server.call_tasks.changes(), context.leg());
    let mut responses = std::mem::take(&mut *leg.responses.lock());
    let mut deadline = pin!(tokio::time::sleep(Duration::from_secs(TASK_RESULT_S)));
    let asker = (context.revision, &context.caller);
    loop {
        let live = match server.call_tasks.find_bridged(&task_id, asker, tool.plugin.name()).await {
            Ok(FoundTask::Live(live)) => live,
            Ok(FoundTask::Ended(view)) => return Some(ended(server, context, &view, cancel).await),
            Err(error) => return Some(text(server, context, ResultView::error(error.message))),
        };
        if cancel {
            live.context.cancel.cancel();
        }
        if let Err(error) = accept(server, context, &live, std::mem::take(&mut responses)).await {
            return Some(Err(error));
        }
        if let Some(asked) = live.view().input_required(&server.info) {
            return Some(asked);
        }
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => return None,
            message = live.next_message(), if leg.can_send_requests => {
                leg.queue.deliver(OutgoingMessage::Message(message)).await.ok()?;
            }
            () = live.changed(&mut changes) => {}
            () = &mut deadline => return Some(still_runs(&live, &server.info)),
        }
    }
}

/// Gives the responses that came with the request to the guest.
///
/// # Errors
/// When a response does not fit, or the caller may not make the call any more.
async fn accept(
    server: &Server,
    context: &RequestContext,
    live: &LiveTask,
    responses: RawObject,
) -> Result<(), RpcError> {
    if responses.is_empty() {
        return Ok(());
    }
    let view = server.catalog_view(&context.caller);
    item_access::check_request(&view, &context.caller, live.context.revision, &live.context.request)?;
    let accept = || live.accept(&responses);
    if server.reading().in_place(context.request.params.work(), accept).await? {
        // The guest may use the responses until it ends.
        live.context.keep_reservation(context.request.reservation.clone());
        server.call_tasks.changed(live);
    }
    Ok(())
}

/// What the call would have been answered.
async fn ended(server: &Server, context: &RequestContext, view: &TaskView, was_asked: bool) -> Answer {
    let outcome = view.outcome().and_then(|outcome| std::str::from_utf8(outcome).ok()).unwrap_or("{}");
    match view.status() {
        TaskStatus::Completed => {
            let _reservation = run_guest_call::reserve_result(server, context, outcome.len())?;
            let unreadable = |error: serde_json::Error| RpcError::internal(&error.to_string());
            let write = || {
                let result: &RawValue = serde_json::from_str(outcome).map_err(unreadable)?;
                EncodedResult::of(&result)
            };
            server.reading().in_place(outcome.len(), write).await
        }
        TaskStatus::Failed => Err(RpcError::stored(outcome)),
        _ => {
            let cancelled = "the call was cancelled".to_owned();
            let view = if was_asked { ResultView::text(cancelled) } else { ResultView::error(cancelled) };
            text(server, context, view)
        }
    }
}

fn text(server: &Server, context: &RequestContext, view: ResultView<'_>) -> Answer {
    EncodedResult::new(&view, context.revision, &server.info)
}
