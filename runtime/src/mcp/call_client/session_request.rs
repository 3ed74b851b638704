//! Client requests in a session: sent on the response stream of the request that the guest serves, or, for a task, on
//! each stream that waits for its result, or once with server notifications.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::client_requests::IndexedResult;
use super::super::client_requests::input_request::InputRequest;
use super::super::client_requests::pending_requests::{PendingReply, ReceivedResponse};
use super::super::error::RpcError;
use super::super::jsonrpc::{ClientError, ClientResult, notification, request};
use super::super::mrtr::{CallOwner, SuspendedCalls};
use super::super::notification_queue::OutgoingMessage;
use super::super::request_context::{RequestContext, RequestLeg};
use super::super::sessions::session::Session;
use super::super::task_promotion::{OpenRequest, Promotion, RELATED_TASK, cancelled_params};
use crate::call_env::{Caller, ClientRequestError};
use crate::catalog::Catalog;
use crate::sandbox::LargeWork;

/// The error code with which clients say that their user rejected the request.
const USER_REJECTED: i64 = -1;

/// Decides whether a call may go on for the caller that sent a response. The roles may have changed while the call was
/// suspended, and the response may come with another token than the request.
pub(crate) struct ResponseCheck {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) check: fn(&Catalog, &Caller, &RequestContext) -> Result<(), RpcError>,
}

/// Sends all requests at once and waits for all responses, but no longer than a call may be suspended.
pub(in crate::mcp) async fn in_session(
    context: &RequestContext,
    session: &Arc<Session>,
    suspended_calls: &Arc<SuspendedCalls>,
    (plugin, offload): (&Arc<str>, &LargeWork),
    max_suspended: usize,
    check: &ResponseCheck,
    open: Vec<(usize, InputRequest)>,
) -> Vec<IndexedResult> {
    let leg = context.leg();
    let fail_all = |open: &[(usize, InputRequest)], error: &ClientRequestError| {
        open.iter().map(|(at, _)| (*at, Err(error.clone()))).collect::<Vec<_>>()
    };
    if !leg.can_send_requests {
        return open
            .iter()
            .map(|(at, input_request)| (*at, Err(ClientRequestError::Missing(input_request.capability()))))
            .collect();
    }
    let owner = CallOwner { plugin: Arc::clone(plugin), caller: context.caller.clone() };
    let Some(guard) = suspended_calls.suspend_session_call(owner, max_suspended) else {
        return fail_all(&open, &ClientRequestError::Cancelled);
    };
    let target = (session, &*leg, offload, check);
    let responses = open.iter().map(|(at, input_request)| send(context, target, (*at, input_request)));
    let responses = join_all(responses);
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => fail_all(&open, &ClientRequestError::Cancelled),
        results = responses => results,
        () = guard.evicted.cancelled() => {
            let why = "too many calls are suspended (limits `suspended_calls`); try again later";
            let evicted = ClientRequestError::OverBudget(why.to_owned());
            fail_all(&open, if suspended_calls.is_closed() { &ClientRequestError::Cancelled } else { &evicted })
        }
        // A task outlives its session, whose client alone could respond.
        () = session.ended.cancelled() => fail_all(&open, &ClientRequestError::Cancelled),
        () = tokio::time::sleep(suspended_calls.max_wait()) => fail_all(&open, &ClientRequestError::TimedOut),
    }
}

/// Sends one request and waits for the response.
async fn send(
    context: &RequestContext,
    (session, leg, offload, check): (&Arc<Session>, &RequestLeg, &LargeWork, &ResponseCheck),
    (at, input_request): (usize, &InputRequest),
) -> IndexedResult {
    let mut sent = CancelOnDrop { leg, reply: session.pending_requests.register(), responded: false };
    let message = match context.promotion.as_ref().and_then(Promotion::task_id) {
        Some(task) => {
            request(sent.reply.id, input_request.method, &with_related_task(&input_request.params, task))
        }
        None => request(sent.reply.id, input_request.method, &input_request.params),
    };
    // A task asks it on each stream that waits for its result, as long as it is open, or with server notifications.
    let open = match &context.promotion {
        Some(promotion) => match session.share.reserve(message.len()) {
            Some(reservation) => {
                let message = reservation.hold(message.clone());
                Some(promotion.open_request(&session.task_requests, sent.reply.id, message))
            }
            None => return (at, Err(ClientRequestError::Cancelled)),
        },
        None => None,
    };
    let is_of_task = open.as_ref().is_some_and(OpenRequest::is_of_task);
    if !is_of_task && leg.queue.deliver(OutgoingMessage::Message(message)).await.is_err() {
        return (at, Err(ClientRequestError::Cancelled));
    }
    let response = (&mut sent.reply.response).await;
    let Ok(ReceivedResponse { caller, result, reservation }) = response else {
        return (at, Err(ClientRequestError::Cancelled));
    };
    if let Some(open) = open {
        open.responded();
    }
    sent.responded = true;
    context.keep_reservation(reservation);
    if let Err(error) = (check.check)(&check.catalog, &caller, context) {
        context.forbid(caller, error);
        return (at, Err(ClientRequestError::Cancelled));
    }
    let bytes = result.as_ref().map_or(0, |result| result.get().len());
    (at, offload.in_place(bytes, || read(input_request, result)).await)
}

/// The parameters of a client request of a task, which name the task.
fn with_related_task(params: &RawValue, task: &str) -> Value {
    let mut params: Value = serde_json::from_str(params.get()).unwrap_or_default();
    let meta = params.as_object_mut().map(|params| params.entry("_meta").or_insert_with(|| json!({})));
    if let Some(meta) = meta.and_then(Value::as_object_mut) {
        meta.insert(RELATED_TASK.to_owned(), json!({ "taskId": task }));
    }
    params
}

fn read(input_request: &InputRequest, response: ClientResult) -> Result<String, ClientRequestError> {
    match response {
        Ok(result) => input_request.read(&result).map_err(|why| ClientRequestError::Failed {
            code: -32603,
            message: format!("the client's response cannot be used: {why}"),
        }),
        Err(ClientError { code: USER_REJECTED, message }) => Err(ClientRequestError::Rejected(message)),
        Err(ClientError { code, message }) => {
            Err(ClientRequestError::Failed { code: i32::try_from(code).unwrap_or(-32603), message })
        }
    }
}

/// Sends `notifications/cancelled` on the call's stream if it is dropped before the client has responded. Nobody reads
/// that stream once the call is a task; then the streams that passed on the request send it.
struct CancelOnDrop<'r> {
    leg: &'r RequestLeg,
    reply: PendingReply,
    responded: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.responded {
            self.leg.queue.send(notification("notifications/cancelled", &cancelled_params(self.reply.id)));
        }
    }
}
