//! What a guest asks a stateless client, until its call is resumed with the responses.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::mcp::client_requests::input_request::InputRequest;
use crate::mcp::client_requests::pending_input::PendingInput;
use crate::mcp::client_requests::{IndexedResult, request_digest};
use crate::mcp::notification_queue::OutgoingMessage;
use crate::mcp::request_context::RequestContext;
use crate::sandbox::LargeWork;

/// Takes the responses that came with the request, and has the request answered with what is still open. At most
/// `max_suspended` calls of the plugin may wait.
pub(in crate::mcp) async fn request_input(
    context: &RequestContext,
    (plugin, offload): (&Arc<str>, &LargeWork),
    max_suspended: usize,
    requests: Vec<(usize, InputRequest)>,
) -> Vec<IndexedResult> {
    let leg = context.leg();
    let (mut answered, mut open) = (Vec::new(), Vec::new());
    for (at, input_request) in requests {
        let response = match leg.take_response(&input_request.key) {
            Some(response) => {
                offload.in_place(response.get().len(), || input_request.read(&response)).await.ok()
            }
            None => None,
        };
        match response {
            Some(response) => answered.push((at, response)),
            None => open.push((at, input_request)),
        }
    }
    if !open.is_empty() {
        let (resume, responses) = oneshot::channel();
        let params = &context.request.params;
        let digest = || request_digest::compute(None, &context.request.method, params.raw());
        let request_digest = offload.in_place(params.len(), digest).await;
        let (plugin, most) = (Arc::clone(plugin), max_suspended);
        let pending_input = PendingInput { plugin, most, request_digest, open, answered, resume };
        // Nobody reads: the request is gone, and this future with it in a moment.
        let asked = leg.queue.deliver(OutgoingMessage::InputRequired(pending_input)).await;
        drop(leg);
        answered = if asked.is_ok() { responses.await.unwrap_or_default() } else { Vec::new() };
    }
    answered.into_iter().map(|(at, response)| (at, Ok(response))).collect()
}
