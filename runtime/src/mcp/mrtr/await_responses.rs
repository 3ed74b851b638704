//! Sends the client requests of a stateless call, and waits until the call is resumed with the responses.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::mcp::client_requests::input_request::InputRequest;
use crate::mcp::client_requests::pending_input::PendingInput;
use crate::mcp::client_requests::{IndexedResult, request_digest};
use crate::mcp::notification_queue::OutgoingMessage;
use crate::mcp::request_context::RequestContext;
use crate::sandbox::LargeWork;

/// Uses the responses that came with the request. For the other client requests, ends the response stream with
/// `input_required` and waits. At most `max_suspended` calls of the plugin may be suspended.
pub(in crate::mcp) async fn request_input(
    context: &RequestContext,
    (plugin, offload): (&Arc<str>, &LargeWork),
    max_suspended: usize,
    requests: Vec<(usize, InputRequest)>,
) -> Vec<IndexedResult> {
    let leg = context.leg();
    let (mut responses, mut open) = (Vec::new(), Vec::new());
    for (at, input_request) in requests {
        let response = match leg.take_response(&input_request.key) {
            Some(response) => {
                offload.in_place(response.get().len(), || input_request.read(&response)).await.ok()
            }
            None => None,
        };
        match response {
            Some(response) => responses.push((at, response)),
            None => open.push((at, input_request)),
        }
    }
    if !open.is_empty() {
        let (resume, resumed) = oneshot::channel();
        let params = &context.request.params;
        let digest = || request_digest::compute(&context.request.method, params.raw());
        let request_digest = offload.in_place(params.len(), digest).await;
        let plugin = Arc::clone(plugin);
        let pending_input = PendingInput { plugin, max_suspended, request_digest, open, responses, resume };
        // An error means that the response stream was dropped, which will also drop this future.
        let delivered = leg.queue.deliver(OutgoingMessage::InputRequired(pending_input)).await;
        drop(leg);
        responses = if delivered.is_ok() { resumed.await.unwrap_or_default() } else { Vec::new() };
    }
    responses.into_iter().map(|(at, response)| (at, Ok(response))).collect()
}
