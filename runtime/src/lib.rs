//! Plugport: an MCP server whose tools come from sandboxed WebAssembly components.
//!
//! A call walks down once, and its answer is the return value:
//!
//! ```text
//! transport -> protocol -> catalog -> plugin -> host -> sandbox -> config
//! ```
//!
//! Each layer may use only what is to its right. [`reload`] sits beside: it builds the next catalog and is never on the
//! path of a call. [`observe`] and [`json`] are leaves that any layer may use. `runtime/tests/layers.rs` reads the `use`
//! lines and fails on a breach.

mod bindings;
pub mod catalog;
pub mod cli;
pub mod commands;
pub mod config;
pub mod host;
pub mod json;
pub mod observe;
pub mod plugin;
pub mod protocol;
pub mod reload;
pub mod sandbox;
pub mod transport;
