//! Client requests (sampling, elicitation, roots) and their responses, as data.
//!
//! `input_request` adapts a request to the client's revision and checks the response, with `sampling_params`,
//! `sampling_content`, `elicitation_form` and `legacy_revision_form` for parts of it; `client_capabilities` is what the
//! client supports. A session has `pending_requests`. A stateless call has a `pending_input`, which a `request_digest`
//! binds to the call's request. This module neither sends nor waits: `call_client` and `mrtr` do both.

pub(super) mod client_capabilities;
mod elicitation_form;
pub(super) mod input_request;
mod legacy_revision_form;
pub(super) mod pending_input;
pub(super) mod pending_requests;
pub(super) mod request_digest;
mod sampling_content;
mod sampling_params;

use crate::call_env::ClientRequestError;

/// The result of a client request, by the index of the request among those that the guest sends together.
pub(super) type IndexedResult = (usize, Result<String, ClientRequestError>);
