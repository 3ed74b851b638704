//! The parts of an [`InstanceCtx`](super::InstanceCtx) that host functions of every capability use, and their errors.
//!
//! Nothing here knows a capability. The table in the module above generates the code that goes through all of them.

pub(super) mod current_call;
pub(super) mod denial_log;
pub(super) mod handle_memory;
pub(super) mod host_error;
pub(super) mod wasi_ctx;
