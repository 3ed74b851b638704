//! What a request brings for a suspended call, or for what its guest is yet to ask.

use std::borrow::Cow;

use crate::json::RawObject;
use crate::mcp::error::RpcError;
use crate::mcp::jsonrpc::Request;
use crate::mcp::param_errors;

/// Answers that one request may bring: as many as a call may ever ask.
const MAX_RESPONSES: usize = 1_000;

/// `requestState` and `inputResponses` of one request.
#[derive(Debug, Default)]
pub(in crate::mcp) struct MrtrParams {
    /// `requestState`, if the client was given one.
    pub(in crate::mcp) request_state: Option<String>,
    /// `inputResponses`. Without a state they answer what a fresh call asks, as it asks.
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
