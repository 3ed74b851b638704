//! The client requests that one stateless call waits for, with the responses so far.
//!
//! The guest's side of the call makes it and waits on `resume`. It goes the way of the request's own messages to the
//! response stream, which ends with it, and then stays with the suspended call. So it is plain data and knows neither
//! the call nor the request.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::input_request::InputRequest;
use super::request_digest::RequestDigest;

/// What a guest waits for.
#[derive(Debug)]
pub(in crate::mcp) struct PendingInput {
    pub(in crate::mcp) plugin: Arc<str>,
    /// How many calls of that plugin may be suspended.
    pub(in crate::mcp) most: usize,
    /// Of which request the call is a part.
    pub(in crate::mcp) request_digest: RequestDigest,
    /// Without a response so far, by their place among the guest's requests.
    pub(in crate::mcp) open: Vec<(usize, InputRequest)>,
    /// Responses that came already.
    pub(in crate::mcp) answered: Vec<(usize, String)>,
    /// Where all responses go in the end.
    pub(in crate::mcp) resume: oneshot::Sender<Vec<(usize, String)>>,
}
