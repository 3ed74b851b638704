//! MCP: JSON-RPC, revisions, sessions, methods and errors.
//!
//! Session and stateless requests share every handler in `methods`. A session keeps what its client sent with
//! `initialize`; a stateless request (2026-07-28) repeats that in `_meta`. Both become one
//! `request_context::RequestContext`, so a handler sees only what the revision can express. This layer knows no
//! sockets, no headers, no status codes, no wasmtime and no files.
//!
//! A transport passes a parsed message with a [`Channel`] (the caller, and what can be sent back), and drives the
//! [`ResponseStream`] that it gets. Streamable HTTP uses `dispatch` and `jsonrpc_batch`, since its messages name their
//! session; `duplex_session` is the one client of stdio or HTTP+SSE.
//!
//! No module uses another in a circle. From the bottom:
//! - `buffer_budget` and `eviction_policy` bound the memory of clients.
//! - `jsonrpc`, with `request_id`, `method`, `params`, `error`, `revision` and `response_line`, is messages;
//!   `result_writer` and `wire` are results.
//! - `client_requests` is client requests as data, and `sessions` is the state of clients of older revisions.
//! - `request_context` is one running request, with its `cancellation`, `request_meta`, `request_trace`,
//!   `notification_queue`, `task_promotion` and `call_task`; `mrtr` suspends it, `tasks` keeps it when its client waits
//!   no longer, and `call_client` is the client as its guest sees it.
//! - `operation_metrics` counts requests and sessions, and `audit_lookups` bounds what is looked up for the audit.
//! - `catalog_view` is what a request sees of the catalog, and `listener_view` what the listener of a stream sees;
//!   `request_sender` says who may resume the stream of a request. `server` is what all requests share.
//! - `methods`, `await_initial_load`, `hidden_item_audit`, `response_stream` and `dispatch` serve; `jsonrpc_batch` and
//!   `duplex_session` use them.

mod audit_lookups;
mod await_initial_load;
mod buffer_budget;
mod call_client;
mod call_task;
mod cancellation;
mod catalog_view;
mod client_requests;
pub(crate) mod dispatch;
mod duplex_session;
mod error;
mod eviction_policy;
mod extensions;
#[doc(hidden)]
pub mod fuzzing;
mod hidden_item_audit;
mod jsonrpc;
pub(crate) mod jsonrpc_batch;
mod listener_view;
mod log_level;
mod method;
mod methods;
mod mrtr;
mod notification_queue;
mod operation_metrics;
mod oversized_message;
mod param_errors;
mod params;
mod random_tokens;
mod request_context;
mod request_id;
mod request_meta;
mod request_sender;
mod request_trace;
mod response_line;
mod response_stream;
mod result_writer;
mod revision;
mod server;
mod sessions;
mod task_promotion;
mod tasks;
mod wire;

pub use crate::call_env::Caller;
pub use buffer_budget::{BufferBudget, BufferReservation, BufferShare, UNCOUNTED_BYTES};
pub(crate) use buffer_budget::{Evictable, buffer_cost};
pub(crate) use catalog_view::CatalogView;
pub(crate) use client_requests::client_capabilities::ClientCapabilities;
pub(crate) use client_requests::input_request::{InputRequest, prepare as prepare_input_request};
pub use duplex_session::{DuplexReply, DuplexSession};
pub use error::ResponseKind;
pub(crate) use error::RpcError;
pub(crate) use eviction_policy::{EvictionCandidate, choose_evicted};
pub(crate) use jsonrpc::{Message, Notification, Request, error_response, is_request, without_bom};
pub(crate) use listener_view::ListeningCaller;
pub(crate) use method::Method;
pub(crate) use oversized_message::{IdScanner, OversizedMessage};
#[cfg(test)]
pub(crate) use params::Params;
pub use random_tokens::token;
pub use request_context::Channel;
pub(crate) use request_id::RequestId;
pub(crate) use request_meta::{ArgumentsCheck, RequestKind, RequestMeta};
pub(crate) use request_sender::{RequestSender, ResumingCaller};
pub use response_line::ResponseLine;
pub use response_stream::{ResponsePart, ResponseStream};
pub use revision::Revision;
pub(crate) use server::SWEEP;
pub use server::Server;
pub(crate) use sessions::server_notifications::{ServerNotifications, is_seen_by};
pub(crate) use sessions::session::{AttachedConnection, Session};
pub use wire::{tool_error_json, tool_result_json};
