//! Client requests in a session: sent on the response stream of the request that the guest serves.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;

use super::super::client_requests::IndexedResult;
use super::super::client_requests::input_request::InputRequest;
use super::super::client_requests::pending_requests::PendingReply;
use super::super::jsonrpc::{ClientError, ClientResult, notification, request};
use super::super::mrtr::{CallOwner, SuspendedCalls};
use super::super::notification_queue::OutgoingMessage;
use super::super::request_context::{RequestContext, RequestLeg};
use super::super::sessions::session::Session;
use crate::host::ClientRequestError;
use crate::sandbox::LargeWork;

/// Code with which clients say that the person or the model's owner said no.
const REJECTED: i64 = -1;

/// Sends all requests at once and waits for all responses, for as long as a call may be suspended.
pub(in crate::mcp) async fn in_session(
    context: &RequestContext,
    session: &Arc<Session>,
    suspended_calls: &Arc<SuspendedCalls>,
    (plugin, offload): (&Arc<str>, &LargeWork),
    max_suspended: usize,
    open: Vec<(usize, InputRequest)>,
) -> Vec<IndexedResult> {
    let leg = context.leg();
    let all = |open: &[(usize, InputRequest)], error: &ClientRequestError| {
        open.iter().map(|(at, _)| (*at, Err(error.clone()))).collect::<Vec<_>>()
    };
    if !leg.can_ask {
        return open
            .iter()
            .map(|(at, input_request)| (*at, Err(ClientRequestError::Missing(input_request.capability()))))
            .collect();
    }
    let owner = CallOwner { plugin: Arc::clone(plugin), caller: context.caller.clone() };
    let Some(guard) = suspended_calls.suspend_session_call(owner, max_suspended) else {
        return all(&open, &ClientRequestError::Cancelled);
    };
    let target = (session, &*leg, offload);
    let input_requests = open.iter().map(|(at, input_request)| ask(context, target, (*at, input_request)));
    let input_requests = join_all(input_requests);
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => all(&open, &ClientRequestError::Cancelled),
        answers = input_requests => answers,
        () = guard.evicted.cancelled() => {
            let why = "too many calls are suspended (limits `suspended_calls`); try again later";
            let evicted = ClientRequestError::OverBudget(why.to_owned());
            all(&open, if suspended_calls.is_closed() { &ClientRequestError::Cancelled } else { &evicted })
        }
        () = tokio::time::sleep(suspended_calls.max_wait()) => all(&open, &ClientRequestError::TimedOut),
    }
}

async fn ask(
    context: &RequestContext,
    (session, leg, offload): (&Arc<Session>, &RequestLeg, &LargeWork),
    (at, input_request): (usize, &InputRequest),
) -> IndexedResult {
    let mut pending = CancelOnDrop { leg, awaited: session.pending_requests.register(), settled: false };
    let message = request(pending.awaited.id, input_request.method, &input_request.params);
    if leg.queue.deliver(OutgoingMessage::Message(message)).await.is_err() {
        return (at, Err(ClientRequestError::Cancelled));
    }
    let answered = (&mut pending.awaited.answer).await;
    pending.settled = true;
    let Ok((answered, reservation)) = answered else { return (at, Err(ClientRequestError::Cancelled)) };
    context.keep_reservation(reservation);
    let bytes = answered.as_ref().map_or(0, |answer| answer.get().len());
    (at, offload.in_place(bytes, || read(input_request, answered)).await)
}

fn read(input_request: &InputRequest, answered: ClientResult) -> Result<String, ClientRequestError> {
    match answered {
        Ok(result) => input_request.read(&result).map_err(|why| ClientRequestError::Failed {
            code: -32603,
            message: format!("the client's answer cannot be used: {why}"),
        }),
        Err(ClientError { code: REJECTED, message }) => Err(ClientRequestError::Rejected(message)),
        Err(ClientError { code, message }) => {
            Err(ClientRequestError::Failed { code: i32::try_from(code).unwrap_or(-32603), message })
        }
    }
}

/// Tells the client when a request of this server is no longer wanted.
struct CancelOnDrop<'r> {
    leg: &'r RequestLeg,
    awaited: PendingReply,
    settled: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.settled {
            let params = json!({ "requestId": self.awaited.id, "reason": "the tool no longer waits for it" });
            self.leg.queue.send(notification("notifications/cancelled", &params));
        }
    }
}
