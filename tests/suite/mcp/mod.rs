//! MCP itself, independent of the transport: methods, revisions, sessions and their streams, JSON-RPC errors,
//! cancellation, client requests (`session_client_requests` with sessions, `mrtr` without), cursors and request states,
//! and the official conformance suite.
//!
//! Connections, headers of browsers and proxies are in `http`, clients that others wrote are in `clients`, and hostile
//! clients are in `hostile`.

mod apps;
mod apps_in_browser;
mod batches;
mod cancellation;
pub(crate) mod conformance;
mod forged_tokens;
mod jsonrpc_errors;
mod lifecycle;
mod lists;
mod malformed_requests;
pub(crate) mod mrtr;
mod resources_prompts_completion;
pub(crate) mod session_client_requests;
mod session_streams;
mod session_tasks;
mod skills;
mod stdio;
mod stdio_streams;
pub(crate) mod task_bridge;
pub(crate) mod tasks;
mod tools;
