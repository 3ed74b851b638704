//! Multi round-trip requests (2026-07-28): a call that needs input is answered with `input_required`, and the same
//! request with `inputResponses` resumes it.
//!
//! In order: [`request_input`] collects the client requests of a guest in a `PendingInput` and waits. The response
//! stream passes the call to [`suspend`], which stores it in [`SuspendedCalls`] and writes the result. For the request
//! with the `requestState`, [`resume`] takes the call out, reads the responses and lets the guest continue. A
//! `request_state` is the token of one [`SuspendedCall`]. A call of a session waits in its own request
//! (`session_request`), and [`SuspendedCalls`] only counts it. This module knows neither the response stream nor the
//! server, which own parts of it.

mod await_responses;
mod params;
pub(in crate::mcp) mod request_state;
mod resume;
mod suspend;
mod suspended_call;
mod suspended_call_table;

pub(in crate::mcp) use await_responses::request_input;
pub(in crate::mcp) use params::MrtrParams;
pub(in crate::mcp) use resume::resume;
pub(in crate::mcp) use suspend::suspend;
pub(in crate::mcp) use suspended_call::SuspendedCall;
pub(in crate::mcp) use suspended_call_table::{CallOwner, SuspendedCalls};
