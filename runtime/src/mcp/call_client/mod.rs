//! The client of one request, as the layer `call_env` sees it.
//!
//! `client` turns what a guest sends into notifications and client requests. For a session, `session_request` sends the
//! requests and waits for the responses; for a stateless call, `mrtr` does. `client_requests` adapts requests to the
//! client's revision and checks responses. This module owns the number of client requests of one call; it must not know
//! how the call's result is sent.

mod client;
mod session_request;

pub(super) use client::{AllowedCall, RequestClient, send_progress};
pub(super) use session_request::ResponseCheck;
