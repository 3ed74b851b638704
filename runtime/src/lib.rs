//! Plugport: an MCP server whose tools come from sandboxed WebAssembly components.
//!
//! `docs/architecture.md` has the layers and the words. `runtime/tests/layers` holds the modules to the layers.

pub mod access;
pub mod approval;
mod bindings;
pub mod call_env;
pub mod capability;
pub mod catalog;
pub mod cli;
pub mod commands;
pub mod config;
pub mod json;
pub mod mcp;
pub mod observe;
mod outgoing_connection;
pub mod plugin;
mod safe_open;
pub mod sandbox;
mod self_waking;
mod token_bucket;
mod toml_reader;
pub mod transport;
pub mod watch;
