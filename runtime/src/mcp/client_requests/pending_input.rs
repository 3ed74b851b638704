//! The client requests for which one stateless call waits, with the responses so far.
//!
//! `mrtr::request_input` makes a [`PendingInput`] and waits for its `resume`. The `PendingInput` passes through the
//! notification queue to the response stream, ends that stream, and then belongs to the suspended call. So it is plain
//! data and knows neither the call nor the request.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::input_request::InputRequest;
use super::request_digest::RequestDigest;

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
