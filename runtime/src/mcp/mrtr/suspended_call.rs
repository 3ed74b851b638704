//! A stateless call that waits for responses, which another request will bring.
//!
//! [`SuspendedCall`] owns the guest's task, whose future waits for `PendingInput::resume`. Dropping the call aborts the
//! task and drops the instance.

use std::sync::Arc;

use crate::json::RawObject;
use crate::mcp::call_task::CallTask;
use crate::mcp::client_requests::client_capabilities::ClientCapabilities;
use crate::mcp::client_requests::pending_input::PendingInput;
use crate::mcp::error::RpcError;
use crate::mcp::request_context::{RequestContext, RequestLeg};

/// A suspended stateless call.
pub(in crate::mcp) struct SuspendedCall {
    pub(in crate::mcp) task: CallTask,
    pub(in crate::mcp) context: Arc<RequestContext>,
    pub(in crate::mcp) pending_input: PendingInput,
}

impl SuspendedCall {
    /// Whether all responses have come, or the guest's task has ended.
    pub(super) fn is_ready(&self) -> bool {
        self.pending_input.open.is_empty() || self.task.is_finished()
    }

    /// Checks and stores the responses of a request. A client request without a response stays open.
    ///
    /// # Errors
    /// When a response is invalid, or the client lacks a capability that an open client request needs. The call is then
    /// unchanged.
    pub(super) fn accept(
        &mut self,
        responses: &RawObject,
        capabilities: ClientCapabilities,
    ) -> Result<(), RpcError> {
        let read = self.pending_input.read(responses)?;
        let open = self.pending_input.open.iter();
        // Each stateless request declares its own capabilities, so this request must have those that open client
        // requests need.
        let lacking = open.zip(&read).find(|((_, input_request), response)| {
            response.is_none() && !capabilities.has(input_request.capability())
        });
        if let Some(((_, input_request), _)) = lacking {
            return Err(RpcError::missing_capability(input_request.capability()));
        }
        self.pending_input.keep(read);
        Ok(())
    }

    /// Gives the responses to the guest. The next leg begins before that, because the guest may send a message at once,
    /// which must reach the client of the new leg.
    pub(super) fn resume(self, leg: Arc<RequestLeg>) -> (Arc<RequestContext>, CallTask) {
        let Self { task, context, pending_input } = self;
        context.next_leg(leg);
        // If the receiver is gone, the guest no longer waits, and the call ends by itself.
        let _ = pending_input.resume.send(pending_input.responses);
        (context, task)
    }
}
