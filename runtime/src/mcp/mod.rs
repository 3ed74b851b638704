//! MCP: JSON-RPC, revisions, sessions, methods and errors.
//!
//! Session and stateless requests share every handler in `methods`. A session keeps what its client said at `initialize`; a
//! stateless request (2026-07-28) says it again in `_meta`. Both become one `request_context::RequestContext`, so a handler
//! sees only what the revision can express. Knows no sockets, no wasmtime and no files.
//!
//! `streamable_http::StreamableHttp` applies the rules of Streamable HTTP, `duplex_session::DuplexSession` those of stdio.
//! Both turn a message into a `response_stream::ResponseStream`, which a transport drives. `client_requests` carries what a
//! guest asks its client, and the responses; `sessions` is what the server keeps for clients of older revisions.

mod buffer_budget;
mod client_locality;
mod client_requests;
mod dispatch;
mod duplex_session;
mod error;
mod eviction;
#[doc(hidden)]
pub mod fuzzing;
mod header_validation;
mod initial_load;
mod jsonrpc;
mod jsonrpc_batch;
mod method;
mod methods;
mod notification_queue;
mod oversized_message;
mod param_errors;
mod request_context;
mod request_meta;
mod response_stream;
mod result_writer;
mod revision;
mod server;
mod sessions;
mod streamable_http;
mod tokens;
mod wire;

pub use crate::host::Caller;
pub use buffer_budget::{BufferBudget, BufferReservation, BufferShare, FREE};
pub(crate) use duplex_session::buffer_cost;
pub use duplex_session::{DuplexReply, DuplexSession};
pub(crate) use eviction::{EvictionCandidate, choose_evicted};
pub(crate) use oversized_message::{IdScanner, OversizedMessage};
pub use request_context::Channel;
pub use response_stream::{ResponsePart, ResponseStream};
pub use revision::Revision;
pub use server::Server;
pub use sessions::{Event, EventStream, NextEvent, RETRY};
pub use streamable_http::{HttpReply, HttpStream, Resumability, StreamableHttp};
pub use tokens::token;
pub use wire::{tool_error_json, tool_result_json};
