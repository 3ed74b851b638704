//! Multi round-trip requests (2026-07-28): a call that needs input is answered with `input_required`, and the same request
//! with `inputResponses` resumes it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::error::RpcError;
use super::super::jsonrpc::Request;
use super::super::param_errors;
use super::super::request_context::{RequestContext, RequestLeg};
use super::super::response_stream::CallTask;
use super::super::result_writer::{EncodedResult, SERVER_INFO};
use super::super::server::Server;
use super::client_capabilities::ClientCapabilities;
use super::input_request::InputRequest;
use super::request_digest;
use super::suspended_calls::{PendingInput, SuspendedCall};
use crate::json::RawObject;

/// Answers that one request may bring: as many as a call may ever ask.
const MAX_RESPONSES: usize = 1_000;

/// What a request brings back from an earlier round.
#[derive(Debug, Default)]
pub(in crate::mcp) struct MrtrParams {
    /// `requestState`, if the client was given one.
    pub(in crate::mcp) request_state: Option<String>,
    /// `inputResponses`. Without a state they answer the questions of a fresh call as they come.
    pub(in crate::mcp) responses: RawObject,
}

impl MrtrParams {
    /// Reads what a request brings back; for most that is nothing.
    ///
    /// # Errors
    /// When either has the wrong form.
    pub(in crate::mcp) fn read(request: &Request) -> Result<Self, RpcError> {
        if !request.method.may_require_input() {
            return Ok(Self::default());
        }
        let invalid = |why: &str| RpcError::invalid_params(&format!("`params.inputResponses`{why}"));
        let request_state = request.params.request_state()?.map(Cow::into_owned);
        let responses = request.params.input_responses().map(RawObject::parse).transpose();
        let responses = responses.map_err(|error| invalid(&format!(": {}", param_errors::reason(&error))))?;
        let responses = responses.unwrap_or_default();
        if responses.iter().nth(MAX_RESPONSES).is_some() {
            return Err(invalid(&format!(" has more than {MAX_RESPONSES} answers")));
        }
        Ok(Self { request_state, responses })
    }
}

#[derive(Serialize)]
struct InputRequestJson<'a> {
    method: &'static str,
    params: &'a RawValue,
}

/// The result that asks. Written in one go: questions may be large.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequiredResult<'a> {
    result_type: &'static str,
    input_requests: BTreeMap<&'a str, InputRequestJson<'a>>,
    request_state: &'a str,
    #[serde(rename = "_meta")]
    meta: BTreeMap<&'static str, &'a RawValue>,
}

/// Keeps a call that asks, and words its questions as the result.
pub(in crate::mcp) fn suspend(
    server: &Server,
    task: CallTask,
    context: Arc<RequestContext>,
    pending_input: PendingInput,
) -> Result<EncodedResult, RpcError> {
    let suspended_calls = Arc::clone(&context.suspended_calls);
    let input_requests = pending_input.open.iter().map(|(_, input_request)| input_request);
    let worded: Vec<_> = input_requests
        .map(|input_request| (input_request.key.clone(), input_request.method, input_request.params.clone()))
        .collect();
    let state = suspended_calls.suspend(SuspendedCall { task, context, pending_input });
    let state = state.ok_or_else(|| RpcError::internal("the server is about to end; call again later"))?;
    let worded =
        worded.iter().map(|(key, method, params)| (key.as_str(), InputRequestJson { method, params }));
    let result = InputRequiredResult {
        result_type: "input_required",
        input_requests: worded.collect(),
        request_state: &state,
        meta: BTreeMap::from([(SERVER_INFO, &*server.info)]),
    };
    let written = serde_json::to_vec(&result).map(EncodedResult::from_json);
    written.map_err(|error| RpcError::internal(&error.to_string()))
}

/// A guest that has all its answers and does not know yet.
pub(in crate::mcp) struct ReadyCall {
    pub(in crate::mcp) context: Arc<RequestContext>,
    pending_input: PendingInput,
}

impl ReadyCall {
    /// Begins the next round and only then hands the answers over: the guest may speak at once, and must be heard.
    pub(in crate::mcp) fn resume(self, leg: RequestLeg) -> Arc<RequestContext> {
        self.context.next_leg(leg);
        // A guest that gave up meanwhile does not wait any more; its call ends by itself.
        let _ = self.pending_input.resume.send(self.pending_input.answered);
        self.context
    }
}

/// How a retry goes on.
pub(in crate::mcp) enum Resumed {
    /// The guest has its answers: drive its call on.
    Call(ReadyCall, CallTask),
    /// Some are still missing: the new questions.
    InputRequired(Arc<RequestContext>, EncodedResult),
}

/// Takes up the call that `state` stands for, with these answers.
///
/// # Errors
/// When there is no such call for this request, or an answer does not fit its question; the call is kept then.
pub(in crate::mcp) fn resume(
    server: &Server,
    request: &Request,
    state: &str,
    responses: &RawObject,
    capabilities: ClientCapabilities,
) -> Result<Resumed, RpcError> {
    let bound = request_digest::compute(None, &request.method, request.params.raw());
    let taken = server
        .suspended_calls
        .resume(state, bound)
        .map_err(|lost| RpcError::invalid_params(&lost.to_string()))?;
    // Its plugin may have been retired meanwhile: no answer helps any more, and the client hears why.
    if taken.call.task.is_finished() {
        let SuspendedCall { task, context, pending_input, .. } = taken.call;
        return Ok(Resumed::Call(ReadyCall { context, pending_input }, task));
    }
    if let Some(unfit) =
        taken.call.pending_input.open.iter().find_map(|(_, input_request)| unfit(input_request, responses))
    {
        server.suspended_calls.put_back(taken);
        return Err(unfit);
    }
    // Every request stands on its own: what this one does not declare is not asked of it.
    let lacking = |(_, input_request): &&(usize, InputRequest)| {
        responses.get(&input_request.key).is_none() && !capabilities.has(input_request.capability())
    };
    if let Some((_, input_request)) = taken.call.pending_input.open.iter().find(lacking) {
        let lacking = RpcError::missing_capability(input_request.capability());
        server.suspended_calls.put_back(taken);
        return Err(lacking);
    }
    let SuspendedCall { task, context, mut pending_input, .. } = taken.call;
    let mut left = Vec::new();
    for (at, input_request) in std::mem::take(&mut pending_input.open) {
        match responses.get(&input_request.key).map(|answer| input_request.read(answer)) {
            Some(Ok(answer)) => pending_input.answered.push((at, answer)),
            _ => left.push((at, input_request)),
        }
    }
    pending_input.open = left;
    if !pending_input.open.is_empty() {
        let again = Arc::clone(&context);
        return suspend(server, task, context, pending_input)
            .map(|reply| Resumed::InputRequired(again, reply));
    }
    Ok(Resumed::Call(ReadyCall { context, pending_input }, task))
}

/// Why the answer to a question cannot be used, if there is one.
fn unfit(input_request: &InputRequest, responses: &RawObject) -> Option<RpcError> {
    let why = input_request.read(responses.get(&input_request.key)?).err()?;
    let key = &input_request.key;
    Some(RpcError::invalid_params(&format!("`inputResponses`: the answer to `{key}` does not fit: {why}")))
}
