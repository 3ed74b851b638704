//! HTTP: Streamable HTTP at one endpoint (`POST` for messages, `GET` for server notifications, `DELETE` to end a
//! session), and HTTP+SSE for clients of the first revision.
//!
//! Everything about HTTP is in this folder: headers, status codes, session ids, resumable streams. The layer `mcp` gets
//! parsed messages and returns response streams. A request passes `router` (checks for every request, routes),
//! `streamable_http` (which message belongs to which session) and the layer `mcp`; `response` writes the response.

mod authentication;
mod challenge;
mod client_locality;
mod connection_limit;
mod content_types;
mod cors;
mod credential_expiry;
mod credentials_header;
mod event_store;
mod forwarded_for;
mod header_names;
mod header_read_timer;
mod header_validation;
mod legacy_sse;
mod listener;
mod make_service;
mod origin_check;
mod request_body;
mod resource_metadata;
mod response;
mod response_body;
mod resumable_stream;
mod router;
mod session_registry;
mod session_streams;
mod sse;
mod streamable_http;
mod target_uri;
mod tls;
mod trace_headers;

pub use listener::{Listener, serve};
pub use make_service::{ConnectionInfo, MakeService};
pub(super) use origin_check::OriginCheck;
pub use router::{ConnectionService, PATH, ServerRoutes, router};
pub use tls::{TlsAcceptor, TlsError};
