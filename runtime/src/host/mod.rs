//! The behaviour of each WIT import: one file per interface, named like it.
//!
//! Host functions are thin. They charge the guest, look at their own small state and pass on; what a client may be
//! asked or told goes up through [`ClientPort`], which the protocol layer implements. No policy is decided here.

mod allow;
mod asking;
mod bounded;
mod budget;
mod calls;
mod changes;
mod client_port;
mod config;
mod denials;
mod elicitation;
mod failure;
mod filesystem;
mod held;
mod http;
mod inputs;
mod keyvalue;
mod logs;
mod random;
mod request;
mod roots;
mod sampling;
mod shared;
mod state;
mod stdio;
mod types;
mod wasi;

pub(crate) use allow::Advice;
pub(crate) use calls::Answered;
pub use changes::{ChangeBoard, Pending};
pub use client_port::{
    Answers, AskError, Caller, ClientInfo, ClientPort, LogLevel, NoClient, Question, QuestionBody,
};
pub(crate) use failure::Beyond;
pub use failure::Failure;
pub(crate) use filesystem::Reach;
pub use keyvalue::{Bucket, Cas};
pub(crate) use logs::Logs;
pub use request::Call;
pub(crate) use shared::{Common, Shared};
pub(crate) use state::State;

use wasmtime::component::{HasSelf, Linker};

use crate::bindings::Plugin;
use crate::bindings::config::Config;
use crate::bindings::keyvalue::Keyvalue;

/// Links every import that a guest can have: ours and all of WASI 0.2, its file system with our bounds.
///
/// # Errors
/// Never for a fixed set of interfaces; wasmtime reports a name that is defined twice.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    random::link(linker)?;
    bounded::link(linker)?;
    Config::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    http::link(linker)?;
    filesystem::link(linker)?;
    Keyvalue::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    Plugin::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}

#[cfg(test)]
mod tests;
