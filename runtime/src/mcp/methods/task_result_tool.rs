//! The tool that waits for the result of a bridged call, or cancels the call.
//!
//! Clients give up on a call after a minute, so it waits for half of one, or until the client has answered. What the
//! guest asks meanwhile is asked of this call: of a stateless one by `input_required`, of one in a session on its
//! response stream.

use std::pin::pin;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::super::error::RpcError;
use super::super::notification_queue::OutgoingMessage;
use super::super::request_context::RequestContext;
use super::super::result_writer::EncodedResult;
use super::super::server::Server;
use super::super::task_promotion::OpenRequests;
use super::super::tasks::{FoundTask, LiveTask, TaskError, TaskGeneration, TaskStatus, TaskView, still_runs};
use super::super::wire::ResultView;
use super::{item_access, run_guest_call, task_access};
use crate::call_env::Client;
use crate::catalog::PublishedTool;
use crate::config::fixed_limits::TASK_RESULT_S;
use crate::json::RawObject;
use crate::plugin::{AdmittedCall, CallError};

/// How long to wait before looking again whether the client has responded.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long the guest may take to end after its client has responded.
const AFTER_RESPONSE: Duration = Duration::from_secs(1);

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
        record.served(answer.as_ref().map_or(0, |result| result.as_json().len()), answer.is_err());
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
    let mut requests: Option<OpenRequests> = None;
    loop {
        let live = match find(server, context, tool, &task_id).await {
            Ok(FoundTask::Live(live)) => live,
            Ok(ended) => {
                // What the guest took back at its end.
                requests.iter_mut().flat_map(OpenRequests::due).for_each(|message| leg.queue.send(message));
                return Some(result_of(server, context, ended, cancel).await);
            }
            Err(error) => return Some(no_task(server, context, error)),
        };
        if cancel {
            live.context.cancel.cancel();
        }
        if let Err(error) = accept(server, context, &live, std::mem::take(&mut responses)).await {
            return Some(Err(error));
        }
        // A call that is cancelled asks nothing any more, but may not have ended yet.
        if !cancel && let Some(asked) = asked(server, context, &live).transpose() {
            return Some(asked);
        }
        let requests = requests.get_or_insert_with(|| live.client_requests(context.session.as_ref()));
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => return None,
            message = requests.next(), if leg.can_send_requests && !cancel => {
                if leg.queue.deliver(OutgoingMessage::Message(message)).await.is_err() {
                    if leg.queue.is_closed() {
                        return None;
                    }
                    return Some(Err(RpcError::overloaded("a client request of the task")));
                }
            }
            () = live.may_have_changed(&mut changes) => {}
            () = &mut deadline => {
                // The next call would ask once more what the client is answering, and a response may be the last thing
                // that the guest needs.
                // A guest that asks again and again would keep this call for as long as it runs.
                requests.stop();
                let now = Instant::now();
                let wait_until = if requests.are_answered() {
                    requests.last_closed().map(|closed| closed + AFTER_RESPONSE)
                } else {
                    Some(now + LOOK_AGAIN)
                };
                if let Some(until) = wait_until.filter(|until| *until > now) {
                    deadline.as_mut().reset(until);
                    continue;
                }
                return Some(still_runs(&live, &tool.name, &server.info));
            }
        }
    }
}

/// Finds the task that a call of the tool's plugin became for a client of this revision.
async fn find(
    server: &Server,
    context: &RequestContext,
    tool: &PublishedTool,
    id: &str,
) -> Result<FoundTask, TaskError> {
    let found = task_access::find(server, context, id, TaskGeneration::Bridge(context.revision)).await?;
    if found.called().plugin == tool.plugin.name() { Ok(found) } else { Err(TaskError::Unknown) }
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
    let accept = || live.accept(&responses, context.request.reservation.clone());
    if server.reading().in_place(context.request.params.work(), accept).await? {
        server.call_tasks.changed(live);
    }
    Ok(())
}

/// What the guest asks of a stateless client; `None` if it waits for no response.
fn asked(
    server: &Server,
    context: &RequestContext,
    live: &LiveTask,
) -> Result<Option<EncodedResult>, RpcError> {
    let view = live.view();
    let _reservation = run_guest_call::reserve_result(server, context, view.size())?;
    view.input_required(&server.info).transpose()
}

/// What the call would have been answered. `was_asked`: this request would have cancelled it.
async fn result_of(server: &Server, context: &RequestContext, ended: FoundTask, was_asked: bool) -> Answer {
    let (view, _reservation) = match task_access::read(server, context, ended).await {
        Ok(read) => read,
        Err(error) => return no_task(server, context, error),
    };
    if view.status() == TaskStatus::Cancelled {
        let cancelled = "the call was cancelled".to_owned();
        let view = if was_asked { ResultView::text(cancelled) } else { ResultView::error(cancelled) };
        return text(server, context, &view);
    }
    server.reading().in_place(view.size(), || stored(&view)).await
}

fn stored(view: &TaskView) -> Answer {
    let outcome = view.outcome().and_then(|outcome| std::str::from_utf8(outcome).ok()).unwrap_or("{}");
    if view.status() == TaskStatus::Failed {
        return Err(RpcError::stored(outcome));
    }
    let result: &RawValue =
        serde_json::from_str(outcome).map_err(|error| RpcError::internal(&error.to_string()))?;
    EncodedResult::of(&result)
}

/// That there is no such task, or none that can be read now, is for the model. Missing scopes and missing memory are
/// errors of the protocol, as they are for any call.
fn no_task(server: &Server, context: &RequestContext, error: TaskError) -> Answer {
    match error {
        TaskError::Rejected(error) => Err(error),
        TaskError::Unknown | TaskError::Unreadable => {
            text(server, context, &ResultView::error(RpcError::from(error).message))
        }
    }
}

fn text(server: &Server, context: &RequestContext, view: &ResultView<'_>) -> Answer {
    EncodedResult::new(view, context.revision, &server.info)
}
