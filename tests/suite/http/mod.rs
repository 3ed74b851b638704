//! What comes in over HTTP, before it is a message of the protocol: which hosts and origins may send it, in which form, what
//! becomes of a connection whose request is rejected, the older HTTP+SSE transport, and a reverse proxy in between.
//!
//! Messages and their streams are in `mcp`, and clients that take memory or connections on purpose in `hostile`. Requests
//! that plugins send to others are in `grants`.

mod legacy_sse;
mod origin_check;
mod rejected_requests;
mod reverse_proxy;
