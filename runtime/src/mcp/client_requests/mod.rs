//! Client requests: what a guest asks its client (sampling, elicitation, roots), and the responses.
//!
//! `client` is the client as the host layer sees it. `input_request` words a request for the client's revision and checks
//! the response, with `sampling_params`, `sampling_content`, `elicitation_form` and `legacy_form` for its parts;
//! `client_capabilities` is what the client supports. In a session, `session_request` sends it and `pending_requests` waits.
//! Stateless, `mrtr` answers `input_required`, `suspended_calls` keeps the call; `request_state` and `request_digest` guard it.

pub(super) mod client;
pub(super) mod client_capabilities;
pub(super) mod elicitation_form;
pub(super) mod input_request;
pub(super) mod legacy_form;
pub(super) mod mrtr;
pub(super) mod pending_requests;
pub(super) mod request_digest;
pub(super) mod request_state;
pub(super) mod sampling_content;
pub(super) mod sampling_params;
pub(super) mod session_request;
pub(super) mod suspended_calls;
