//! MCP: revisions, sessions, requests in flight and errors.
//!
//! Two eras share every handler. A revision with sessions keeps what the client said in a `session::Session`; the
//! stateless revision says it again with each request. Both end in one `context::RequestContext`, so a handler never
//! asks which era it serves, except through what the revision can express. Knows no sockets, no wasmtime and no files.
//!
//! `endpoint::Endpoint` applies the rules of Streamable HTTP, `connection::Connection` those of stdio; both turn a
//! message into an `exchange::Exchange`, which a transport drives.

mod abilities;
mod ask;
mod asked;
mod batch;
mod binding;
mod block;
mod connection;
mod context;
mod dispatch;
mod endpoint;
mod era;
mod error;
mod event_log;
mod exchange;
mod form;
mod handlers;
mod in_flight;
mod message;
mod method;
mod mirror;
mod outbox;
mod parked;
mod plain_form;
mod port;
mod presence;
mod question;
mod random;
mod reply;
mod revision;
mod rounds;
mod sampling;
mod seal;
mod server;
mod session;
mod sessions;
mod streams;
mod subscriptions;
mod wire;

pub use connection::{Connection, Received};
pub use endpoint::{Answer, Endpoint, Rest, Resumption};
pub use event_log::Event;
pub use exchange::{Exchange, Frame};
pub use random::token;
pub use revision::Revision;
pub use server::Server;
pub use streams::{Events, Next, RETRY};
pub use wire::{tool_error_json, tool_result_json};
