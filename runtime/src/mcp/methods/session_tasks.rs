//! `tasks/get`, `tasks/result` and `tasks/cancel` of the experimental tasks of 2025-11-25, which has sessions.
//!
//! The client asks for a task with `params.task` of its call. Client requests of the task reach it on the stream of
//! `tasks/result`, which waits for the result, or on the stream for server notifications.

use serde::ser::SerializeMap;
use serde_json::{Value, json};

use super::super::error::RpcError;
use super::super::notification_queue::OutgoingMessage;
use super::super::params::Params;
use super::super::promotion::RELATED_TASK;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EncodedResult, ResultFields, write_extra};
use super::super::revision::Revision;
use super::super::server::Server;
use super::super::tasks::{FoundTask, TaskGeneration, TaskStatus, TaskView};
use crate::json::RawObject;

pub(in super::super) async fn get(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let view = find(server, context, params).await?.view();
    EncodedResult::new(&view, context.revision, &server.info)
}

/// Cancels a task, and waits until it has ended.
pub(in super::super) async fn cancel(
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
        if let FoundTask::Ended(view) = find(server, context, params).await? {
            return EncodedResult::new(&*view, context.revision, &server.info);
        }
        // Whichever task has changed, and also if some changes were missed.
        let _ = changes.recv().await;
    }
}

/// Waits for the result of a task, and passes on its client requests meanwhile. `None` when the client cancelled the
/// request.
pub(in super::super) async fn result(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    let mut changes = server.call_tasks.changes();
    let leg = context.leg();
    loop {
        let live = match find(server, context, params).await {
            Ok(FoundTask::Live(live)) => live,
            Ok(FoundTask::Ended(view)) => return Some(ended(server, context, &view)),
            Err(error) => return Some(Err(error)),
        };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => return None,
            message = live.next_request(context.session.as_ref()) => {
                leg.queue.deliver(OutgoingMessage::Message(message)).await.ok()?;
            }
            // Whichever task has changed, and also if some changes were missed.
            _ = changes.recv() => {}
        }
    }
}

async fn find(server: &Server, context: &RequestContext, params: &Params) -> Result<FoundTask, RpcError> {
    let id = params.task_id()?;
    server.call_tasks.find(&id, TaskGeneration::Experimental, &context.caller).await
}

/// What the call would have been answered without a task.
fn ended(server: &Server, context: &RequestContext, view: &TaskView) -> Result<EncodedResult, RpcError> {
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
