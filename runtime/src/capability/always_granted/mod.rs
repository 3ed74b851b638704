//! Host functions that every plugin has, whatever it is granted: the call, its log and progress, tasks, announced
//! changes, clocks, random bytes and the rest of WASI 0.2.
//!
//! Nothing here leads out of the sandbox. Host functions that do belong to a capability, in a folder of its own.

mod changes;
mod poll;
mod random;
mod request;
mod tasks;
mod types;

pub use changes::{PendingChanges, PluginChanges};
use wasmtime::component::{HasSelf, Linker};

use super::InstanceCtx;
use crate::bindings::plugport::plugin as wit;
use crate::bindings::tasks::plugport::plugin as tasks_wit;

/// Links all of them. The library's come first, and the charged or bounded ones here replace some of these.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    random::link(linker)?;
    poll::link(linker)?;
    wit::types::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    wit::request::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    tasks_wit::tasks::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    wit::changes::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
}
