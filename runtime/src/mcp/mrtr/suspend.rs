//! Suspends a call, and writes the result `input_required`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{SuspendedCall, SuspendedCalls};
use crate::mcp::error::RpcError;
use crate::mcp::result_writer::{EncodedResult, SERVER_INFO};

#[derive(Serialize)]
struct InputRequestJson<'a> {
    method: &'static str,
    params: &'a RawValue,
}

/// The result. It is written in one pass from the text of the requests, which may be large.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequiredResult<'a> {
    result_type: &'static str,
    input_requests: BTreeMap<&'a str, InputRequestJson<'a>>,
    request_state: &'a str,
    #[serde(rename = "_meta")]
    meta: BTreeMap<&'static str, &'a RawValue>,
}

/// Suspends a call, and writes the result with its open client requests. `server` is the server's name for `_meta`.
///
/// # Errors
/// When the server is stopping.
pub(in crate::mcp) fn suspend(
    suspended_calls: &SuspendedCalls,
    server: &RawValue,
    call: SuspendedCall,
) -> Result<EncodedResult, RpcError> {
    let input_requests = call.pending_input.open.iter().map(|(_, input_request)| input_request);
    // Copied before the call is stored, because from then on another thread may resume it.
    let copied: Vec<_> = input_requests
        .map(|input_request| (input_request.key.clone(), input_request.method, input_request.params.clone()))
        .collect();
    let state = suspended_calls.suspend(call);
    let state = state.ok_or_else(|| RpcError::internal("the server is about to end; call again later"))?;
    let input_requests =
        copied.iter().map(|(key, method, params)| (key.as_str(), InputRequestJson { method, params }));
    let result = InputRequiredResult {
        result_type: "input_required",
        input_requests: input_requests.collect(),
        request_state: &state,
        meta: BTreeMap::from([(SERVER_INFO, server)]),
    };
    EncodedResult::of(&result)
}
