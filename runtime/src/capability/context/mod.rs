//! What host functions of every capability share: `PluginCtx`, which lives as long as a loaded plugin, and `InstanceCtx`, which
//! lives as long as a wasmtime `Store`.
//!
//! Each owns what capabilities keep for it (`PerPlugin`, `PerInstance` of `lifetimes`) without knowing any of them by name.

pub(super) mod current_call;
pub(super) mod denial_log;
pub(super) mod error;
pub(super) mod handle_memory;
pub(super) mod instance_ctx;
pub(super) mod plugin_ctx;
mod wasi_ctx;
