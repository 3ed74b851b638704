//! The client requests that one stateless call waits for, with the responses so far.
//!
//! `mrtr::request_input` makes a [`PendingInput`] and waits on `resume`. The `PendingInput` goes through the
//! notification queue to the response stream, which it ends, and then stays with the suspended call. So it is plain
//! data and knows neither the call nor the request.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::input_request::InputRequest;
use super::request_digest::RequestDigest;

/// The requests for which a guest waits.
#[derive(Debug)]
pub(in crate::mcp) struct PendingInput {
    pub(in crate::mcp) plugin: Arc<str>,
    /// The limit on suspended calls of that plugin.
    pub(in crate::mcp) max_suspended: usize,
    /// The digest of the request that the call serves.
    pub(in crate::mcp) request_digest: RequestDigest,
    /// Requests without a response, by their index among the guest's requests.
    pub(in crate::mcp) open: Vec<(usize, InputRequest)>,
    /// Responses so far, by the same index.
    pub(in crate::mcp) responses: Vec<(usize, String)>,
    /// Takes all responses when the call is resumed.
    pub(in crate::mcp) resume: oneshot::Sender<Vec<(usize, String)>>,
}
