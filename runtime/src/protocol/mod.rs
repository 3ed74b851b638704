//! MCP: revisions, sessions, requests in flight and errors.
//!
//! Two eras share every handler. A revision with sessions keeps what the client said in a `sessions::session::Session`; the
//! stateless revision says it again with each request. Both end in one `context::RequestContext`, so a handler never
//! asks which era it serves, except through what the revision can express. Knows no sockets, no wasmtime and no files.
//!
//! `endpoint::Endpoint` applies the rules of Streamable HTTP, `connection::Connection` those of stdio; both turn a
//! message into an `exchange::Exchange`, which a transport drives. `asking` is how a guest's question reaches the client
//! and how the answer comes back; `sessions` is what a client with a session keeps open here.

mod asking;
mod batch;
mod buffers;
mod connection;
mod context;
mod crowd;
mod dispatch;
mod endpoint;
mod era;
mod error;
mod exchange;
mod field;
#[doc(hidden)]
pub mod fuzzing;
mod handlers;
mod message;
mod method;
mod mirror;
mod near;
mod outbox;
mod random;
mod reply;
mod revision;
mod server;
mod sessions;
mod skim;
mod starting;
mod wire;

pub use crate::host::Caller;
pub use buffers::{Buffers, FREE, Held, Share};
pub(crate) use connection::weight;
pub use connection::{Connection, Received};
pub use context::Via;
pub(crate) use crowd::{Holder, make_way};
pub use endpoint::{Answer, Endpoint, Rest, Resumption};
pub use exchange::{Exchange, Frame};
pub use random::token;
pub use revision::Revision;
pub use server::Server;
pub use sessions::{Event, Events, Next, RETRY};
pub(crate) use skim::{Skim, Skimmed};
pub use wire::{tool_error_json, tool_result_json};
