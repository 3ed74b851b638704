//! `requestState` and `inputResponses` of a request: responses for a suspended call, or for client requests that will
//! follow.

use std::borrow::Cow;

use crate::json::RawObject;
use crate::mcp::error::RpcError;
use crate::mcp::jsonrpc::Request;
use crate::mcp::param_errors;

/// Maximum number of responses in one request: a call cannot send more client requests.
const MAX_RESPONSES: usize = 1_000;

/// `requestState` and `inputResponses` of one request.
#[derive(Debug, Default)]
pub(in crate::mcp) struct MrtrParams {
    /// `requestState`, which the client got with `input_required`.
    pub(in crate::mcp) request_state: Option<String>,
    /// `inputResponses`. Without a `requestState`, a new call uses them for its client requests when it sends these.
    pub(in crate::mcp) responses: RawObject,
}

impl MrtrParams {
    /// Reads both fields. For methods whose result cannot be `input_required`, both are empty.
    ///
    /// # Errors
    /// When a field is malformed.
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
            return Err(invalid(&format!(" has more than {MAX_RESPONSES} responses")));
        }
        Ok(Self { request_state, responses })
    }
}
