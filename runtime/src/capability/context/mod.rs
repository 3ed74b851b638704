//! The parts of an [`InstanceCtx`](super::InstanceCtx) that host functions of every capability use, and the errors that
//! these end in.
//!
//! Nothing here knows a capability. What goes through all of them is made by the table, in the module above.

pub(super) mod current_call;
pub(super) mod denial_log;
pub(super) mod error;
pub(super) mod handle_memory;
pub(super) mod wasi_ctx;
