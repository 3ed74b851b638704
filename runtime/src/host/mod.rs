//! The behaviour of each WIT import: one file per interface, named like it.
//!
//! Host functions are thin. They charge the guest, look at their own small state and pass on; what a client may be
//! asked or told goes up through [`Client`], which the mcp layer implements. No policy is decided here.

mod changes;
mod charged_wasi;
mod client;
mod client_requests;
mod config;
mod current_call;
mod denial_log;
mod elicitation;
mod error;
mod filesystem;
mod grant_hint;
mod guest_log;
mod guest_output;
mod handle_memory;
mod http;
mod inputs;
mod instance_ctx;
mod keyvalue;
mod plugin_ctx;
mod random;
mod request;
mod roots;
mod sampling;
mod sampling_budget;
mod types;
mod wasi_ctx;

pub use changes::{PendingChanges, PluginChanges};
pub use client::{
    Caller, Client, ClientInfo, ClientRequest, ClientRequestBody, ClientRequestError, ClientResponses,
    LogLevel, NoClient,
};
pub(crate) use current_call::StaleCallHandle;
pub use error::HostCallError;
pub(crate) use error::LimitTrap;
pub(crate) use filesystem::GrantedDir;
pub(crate) use grant_hint::HintAudience;
pub(crate) use guest_log::GuestLog;
pub(crate) use instance_ctx::InstanceCtx;
pub use keyvalue::{Bucket, Cas};
pub(crate) use plugin_ctx::{PluginCtx, ServerCtx};
pub use request::Call;

use wasmtime::component::{HasSelf, Linker};

use crate::bindings::Plugin;
use crate::bindings::config::Config;
use crate::bindings::keyvalue::Keyvalue;

/// Links every import that a guest can have: ours and all of WASI 0.2, its file system with our bounds.
///
/// # Errors
/// Never for a fixed set of interfaces; wasmtime reports a name that is defined twice.
pub(crate) fn add_to_linker(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    random::add_to_linker(linker)?;
    charged_wasi::add_to_linker(linker)?;
    Config::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    http::add_to_linker(linker)?;
    filesystem::add_to_linker(linker)?;
    Keyvalue::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    Plugin::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
}

#[cfg(test)]
mod tests;
