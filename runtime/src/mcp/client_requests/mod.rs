//! Client requests: what a guest asks its client (sampling, elicitation, roots), and the responses, as data.
//!
//! `input_request` words a request for the client's revision and checks the response, with `sampling_params`,
//! `sampling_content`, `elicitation_form` and `legacy_form` for its parts; `client_capabilities` is what the client
//! supports. A session has its `pending_requests`, a stateless call its `pending_input`, which a `request_digest` binds
//! to its request. Nothing is sent from here, and nothing waits: `request_client` and `mrtr` do that, which know the
//! request.

pub(super) mod client_capabilities;
mod elicitation_form;
pub(super) mod input_request;
mod legacy_form;
pub(super) mod pending_input;
pub(super) mod pending_requests;
pub(super) mod request_digest;
mod sampling_content;
mod sampling_params;

use crate::host::ClientRequestError;

/// The response to a client request, by the place of the request among those that the guest sends together.
pub(super) type IndexedResult = (usize, Result<String, ClientRequestError>);
