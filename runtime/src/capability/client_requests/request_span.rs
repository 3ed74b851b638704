//! The spans of client requests: as long as the call was suspended for them.

use crate::call_env::{ClientRequest, ClientRequestError};
use crate::observe::trace::{Span, SpanKind, SpanScope};

/// Begins a span for each request, if the call is recorded. They end with [`end`], or when the call is dropped.
pub(super) fn begin(call: Option<&SpanScope>, requests: &[ClientRequest]) -> Vec<Span> {
    let Some(call) = call else { return Vec::new() };
    let begin = |request: &ClientRequest| {
        let method = request.body.method();
        let mut span = call.begin(method, SpanKind::Client)?;
        span.set("mcp.method.name", method);
        // Until there is a response: the call may be dropped while it waits.
        span.fail("cancelled");
        Some(span)
    };
    requests.iter().filter_map(begin).collect()
}

/// Ends the spans with what came back.
pub(super) fn end(spans: Vec<Span>, responses: &[Result<String, ClientRequestError>]) {
    for (mut span, response) in spans.into_iter().zip(responses) {
        match response {
            Ok(_) => span.succeed(),
            Err(ClientRequestError::Failed { code, .. }) => {
                span.fail(code.to_string());
                span.set("rpc.response.status_code", code.to_string());
            }
            Err(error) => span.fail(error_type(error)),
        }
    }
}

fn error_type(error: &ClientRequestError) -> &'static str {
    match error {
        ClientRequestError::Missing(_) => "missing_capability",
        ClientRequestError::Invalid(_) => "invalid",
        ClientRequestError::Rejected(_) => "rejected",
        ClientRequestError::TimedOut => "timeout",
        ClientRequestError::Cancelled => "cancelled",
        ClientRequestError::OverBudget(_) => "over_budget",
        ClientRequestError::OverQuota(_) => "over_quota",
        ClientRequestError::Failed { .. } => "failed",
    }
}
