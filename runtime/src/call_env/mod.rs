//! The client and the log of one call, as host functions see them.
//!
//! Client requests and notifications go up through [`Client`], which the layer `mcp` implements, so that no layer below
//! it knows a revision, a session or a stream. No host function is here: those are in `capability`, in a folder for
//! each capability.

mod client;
mod grant_hint;
mod guest_log;
mod guest_output;
mod task_switch;

pub use client::{
    Caller, Client, ClientInfo, ClientRequest, ClientRequestBody, ClientRequestError, ClientResponses,
    LogLevel, NoClient,
};
pub(crate) use grant_hint::{GrantHint, HintAudience};
pub(crate) use guest_log::{GuestLog, LogSource};
pub(crate) use guest_output::GuestOutput;
pub use task_switch::TaskSwitch;
