//! The client of one request, as the host layer sees it.
//!
//! `client` turns what a guest sends into notifications and client requests. `session_request` sends those of a session
//! and waits for the responses; for a stateless call `mrtr` does. Requests are worded and responses checked by
//! `client_requests`. Owns what one call has asked so far; must not know how its result is sent.

mod client;
mod session_request;

pub(super) use client::{RequestClient, tell_progress};
