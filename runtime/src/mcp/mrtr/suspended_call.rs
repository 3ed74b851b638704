//! A call that waits for responses which only another request can bring.
//!
//! It owns the guest's task, whose future waits on `PendingInput::resume`. Dropping it ends the task, and the instance
//! with it.

use std::sync::Arc;

use crate::json::RawObject;
use crate::mcp::client_requests::client_capabilities::ClientCapabilities;
use crate::mcp::client_requests::input_request::InputRequest;
use crate::mcp::client_requests::pending_input::PendingInput;
use crate::mcp::error::RpcError;
use crate::mcp::request_context::{RequestContext, RequestLeg};
use crate::mcp::request_task::CallTask;

/// The call.
pub(in crate::mcp) struct SuspendedCall {
    pub(in crate::mcp) task: CallTask,
    pub(in crate::mcp) context: Arc<RequestContext>,
    pub(in crate::mcp) pending_input: PendingInput,
}

impl SuspendedCall {
    /// Whether the guest waits for nothing more, be it that all responses are there or that its task has ended.
    pub(super) fn is_ready(&self) -> bool {
        self.pending_input.open.is_empty() || self.task.is_finished()
    }

    /// Reads the responses that a request brings, each once. What is missing stays open.
    ///
    /// # Errors
    /// When a response does not fit its request, or the client of this message lacks what an open request needs. The
    /// call is as it was then.
    pub(super) fn accept(
        &mut self,
        responses: &RawObject,
        capabilities: ClientCapabilities,
    ) -> Result<(), RpcError> {
        let PendingInput { open, answered, .. } = &mut self.pending_input;
        let read = open.iter().map(|(_, input_request)| read(input_request, responses));
        let read: Vec<Option<String>> = read.collect::<Result<_, _>>()?;
        // Every request stands on its own: what this one does not declare is not asked of its client.
        let lacking = open.iter().zip(&read).find(|((_, input_request), response)| {
            response.is_none() && !capabilities.has(input_request.capability())
        });
        if let Some(((_, input_request), _)) = lacking {
            return Err(RpcError::missing_capability(input_request.capability()));
        }
        for ((at, input_request), response) in std::mem::take(open).into_iter().zip(read) {
            match response {
                Some(response) => answered.push((at, response)),
                None => open.push((at, input_request)),
            }
        }
        Ok(())
    }

    /// Lets the guest go on with what it has. The next leg begins before the responses are handed over: the guest may
    /// send something at once, and that must reach this client.
    pub(super) fn resume(self, leg: RequestLeg) -> (Arc<RequestContext>, CallTask) {
        let Self { task, context, pending_input } = self;
        context.next_leg(leg);
        // A guest that gave up meanwhile does not wait any more; its call ends by itself.
        let _ = pending_input.resume.send(pending_input.answered);
        (context, task)
    }
}

/// The response to one request of the guest, checked; `None` when there is none.
fn read(input_request: &InputRequest, responses: &RawObject) -> Result<Option<String>, RpcError> {
    let key = &input_request.key;
    let Some(response) = responses.get(key) else { return Ok(None) };
    input_request.read(response).map(Some).map_err(|why| {
        RpcError::invalid_params(&format!("`inputResponses`: the answer to `{key}` does not fit: {why}"))
    })
}
