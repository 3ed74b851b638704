//! The client requests for which one stateless call waits, with the responses so far.
//!
//! `mrtr::request_input` makes a [`PendingInput`] and waits for its `resume`. The `PendingInput` passes through the
//! notification queue to the response stream, ends that stream, and then belongs to the suspended call; or it passes to
//! the driver of a task. So it is plain data and knows neither the call nor the request.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::super::error::RpcError;
use super::input_request::InputRequest;
use super::request_digest::RequestDigest;
use crate::json::RawObject;

/// The client requests for which a guest waits.
#[derive(Debug)]
pub(in crate::mcp) struct PendingInput {
    pub(in crate::mcp) plugin: Arc<str>,
    /// The plugin's limit on suspended calls.
    pub(in crate::mcp) max_suspended: usize,
    /// The digest of the request that the call serves.
    pub(in crate::mcp) request_digest: RequestDigest,
    /// Requests without a response, by their index among the guest's requests.
    pub(in crate::mcp) open: Vec<(usize, InputRequest)>,
    /// The responses so far, by the same index.
    pub(in crate::mcp) responses: Vec<(usize, String)>,
    /// Receives all responses when the call is resumed.
    pub(in crate::mcp) resume: oneshot::Sender<Vec<(usize, String)>>,
}

impl PendingInput {
    /// Reads and checks the responses to open requests; `None` for each that has none. Other keys are ignored.
    ///
    /// # Errors
    /// When a response is invalid.
    pub(in crate::mcp) fn read(&self, responses: &RawObject) -> Result<Vec<Option<String>>, RpcError> {
        self.open.iter().map(|(_, input_request)| read_response(input_request, responses)).collect()
    }

    /// Stores what [`Self::read`] returned. A request without a response stays open.
    pub(in crate::mcp) fn keep(&mut self, read: Vec<Option<String>>) {
        for ((at, input_request), response) in std::mem::take(&mut self.open).into_iter().zip(read) {
            match response {
                Some(response) => self.responses.push((at, response)),
                None => self.open.push((at, input_request)),
            }
        }
    }
}

/// Returns the checked response to one client request; `None` if the request brings none.
///
/// # Errors
/// When the response is invalid.
pub(in crate::mcp) fn read_response(
    input_request: &InputRequest,
    responses: &RawObject,
) -> Result<Option<String>, RpcError> {
    let key = &input_request.key;
    let Some(response) = responses.get(key) else { return Ok(None) };
    input_request.read(response).map(Some).map_err(|why| {
        RpcError::invalid_params(&format!("`inputResponses`: the response to `{key}` does not fit: {why}"))
    })
}
