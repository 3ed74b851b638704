//! Client requests: what a guest asks its client (sampling, elicitation, roots), and the responses.
//!
//! `client` is the client as the host layer sees it. `input_request` words a request for the client's revision and
//! checks the response, with `sampling_params`, `sampling_content`, `elicitation_form` and `legacy_form` for its parts;
//! `client_capabilities` is what the client supports. In a session, `session_request` sends it and `pending_requests`
//! waits. Stateless, `mrtr` suspends the call until another request resumes it.

pub(super) mod client;
pub(super) mod client_capabilities;
pub(super) mod elicitation_form;
pub(super) mod input_request;
pub(super) mod legacy_form;
pub(super) mod mrtr;
pub(super) mod pending_requests;
pub(super) mod sampling_content;
pub(super) mod sampling_params;
pub(super) mod session_request;

use crate::host::ClientRequestError;

/// The response to a client request, by the place of the request among those that the guest sends together.
type IndexedResult = (usize, Result<String, ClientRequestError>);
