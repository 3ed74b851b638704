//! Multi round-trip requests (2026-07-28): a call that needs input is answered with `input_required`, and the same
//! request with `inputResponses` resumes it.
//!
//! All of it is here, in the order in which it happens. [`request_input`] gathers what a guest asks into a
//! `PendingInput` and waits; the response stream hands the call to [`suspend`], which keeps it in [`SuspendedCalls`]
//! and writes the result; [`resume`] takes it out again for the request with its `requestState`, reads the responses
//! and lets the guest go on. A `request_state` is the token of one [`SuspendedCall`]. A call of a session waits in its
//! own request (`session_request`); the registry only counts it. Knows neither the response stream nor the server,
//! which both hold what is here.

mod params;
mod request_input;
pub(in crate::mcp) mod request_state;
mod resume;
mod suspend;
mod suspended_call;
mod suspended_calls;

pub(in crate::mcp) use params::MrtrParams;
pub(in crate::mcp) use request_input::request_input;
pub(in crate::mcp) use resume::resume;
pub(in crate::mcp) use suspend::suspend;
pub(in crate::mcp) use suspended_call::SuspendedCall;
pub(in crate::mcp) use suspended_calls::{CallOwner, SuspendedCalls};
