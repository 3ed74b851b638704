//! `tasks/get`, `tasks/result` and `tasks/cancel` of the experimental tasks of 2025-11-25, which has sessions.
//!
//! The client asks for a task with `params.task` of its call. The task is its principal's and outlives the session. Its
//! client requests reach the client in that session: on each stream of `tasks/result`, which waits for the result, or
//! once with server notifications.

use std::pin::pin;

use serde::ser::SerializeMap;
use serde_json::{Value, json};

use super::super::error::RpcError;
use super::super::notification_queue::OutgoingMessage;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EncodedResult, ResultFields, write_extra};
use super::super::revision::Revision;
use super::super::server::Server;
use super::super::task_promotion::{OpenRequests, RELATED_TASK};
use super::super::tasks::{FoundTask, TaskGeneration, TaskStatus, TaskView};
use super::{run_guest_call, task_access};
use crate::json::RawObject;

pub(in super::super) async fn get(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let view = find(server, context, params).await?.without_result();
    EncodedResult::new(&view, context.revision, &server.info)
}

/// Cancels a task, and waits until it has ended. `None` when the client cancelled the request.
pub(in super::super) async fn cancel(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    run_guest_call::until_cancelled(context, pin!(cancel_and_wait(server, context, params))).await
}

async fn cancel_and_wait(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let mut changes = server.call_tasks.changes();
    let FoundTask::Live(live) = find(server, context, params).await? else {
        return Err(RpcError::invalid_params("the task has ended already"));
    };
    live.context.cancel.cancel();
    loop {
        let found = find(server, context, params).await?;
        if let FoundTask::Ended(_) = found {
            return EncodedResult::new(&found.without_result(), context.revision, &server.info);
        }
        live.may_have_changed(&mut changes).await;
    }
}

/// Waits for the result of a task, and passes on its client requests meanwhile. `None` when the client cancelled the
/// request.
pub(in super::super) async fn result(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    run_guest_call::until_cancelled(context, pin!(wait_for_result(server, context, params))).await
}

async fn wait_for_result(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let mut changes = server.call_tasks.changes();
    let mut requests: Option<OpenRequests> = None;
    let leg = context.leg();
    loop {
        let live = match find(server, context, params).await? {
            FoundTask::Live(live) => live,
            ended @ FoundTask::Ended(_) => {
                // What the guest took back at its end.
                requests.iter_mut().flat_map(OpenRequests::due).for_each(|message| leg.queue.send(message));
                return result_of(server, context, ended).await;
            }
        };
        let requests = requests.get_or_insert_with(|| live.client_requests(context.session.as_ref()));
        tokio::select! {
            biased;
            message = requests.next() => {
                if leg.queue.deliver(OutgoingMessage::Message(message)).await.is_err() {
                    return Err(RpcError::overloaded("a client request of the task"));
                }
            }
            () = live.may_have_changed(&mut changes) => {}
        }
    }
}

async fn find(server: &Server, context: &RequestContext, params: &Params) -> Result<FoundTask, RpcError> {
    let id = params.task_id()?;
    Ok(task_access::find(server, context, &id, TaskGeneration::Experimental).await?)
}

/// What the call would have been answered without a task.
async fn result_of(
    server: &Server,
    context: &RequestContext,
    ended: FoundTask,
) -> Result<EncodedResult, RpcError> {
    let (view, _reservation) = task_access::read(server, context, ended).await?;
    server.reading().in_place(view.size(), || write(server, context, &view)).await
}

fn write(server: &Server, context: &RequestContext, view: &TaskView) -> Result<EncodedResult, RpcError> {
    let text = view.outcome().and_then(|outcome| std::str::from_utf8(outcome).ok()).unwrap_or("{}");
    match view.status() {
        TaskStatus::Completed => {
            let unreadable = |error: serde_json::Error| RpcError::internal(&error.to_string());
            let fields = RawObject::parse(text).map_err(unreadable)?;
            let meta = fields.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok());
            let mut meta: Value = meta.unwrap_or_else(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert(RELATED_TASK.to_owned(), json!({ "taskId": view.id() }));
            }
            let extra = RawObject::parse(&json!({ "_meta": meta }).to_string()).map_err(unreadable)?;
            EncodedResult::new(&TaskResult { fields, extra }, context.revision, &server.info)
        }
        TaskStatus::Failed => Err(RpcError::stored(text)),
        _ => Err(RpcError::internal("the task was cancelled")),
    }
}

/// A stored result with another `_meta`.
struct TaskResult {
    fields: RawObject,
    extra: RawObject,
}

impl ResultFields for TaskResult {
    fn write<M: SerializeMap>(&self, map: &mut M, _: Revision) -> Result<(), M::Error> {
        write_extra(map, &self.fields, &[])
    }

    fn extra(&self) -> Option<&RawObject> {
        Some(&self.extra)
    }
}
