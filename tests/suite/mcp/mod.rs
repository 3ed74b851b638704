//! The protocol itself, whatever carries it: methods, revisions, sessions and their streams, JSON-RPC errors, cancellation,
//! what a guest asks its client (`session_client_requests` with sessions, `mrtr` without), cursors and request states, and
//! the official conformance suite.
//!
//! Connections, headers that browsers send and proxies are in `http`; how clients that others wrote get on is in `clients`;
//! clients that attack are in `hostile`.

mod batches;
mod cancellation;
pub(crate) mod conformance;
mod forged_tokens;
mod jsonrpc_errors;
mod lifecycle;
mod malformed_requests;
pub(crate) mod mrtr;
mod resources_prompts_completion;
pub(crate) mod session_client_requests;
mod session_streams;
mod stdio;
mod tools;
