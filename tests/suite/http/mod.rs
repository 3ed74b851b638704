//! HTTP requests before they are MCP messages: which hosts and origins may send them, in which form, what happens to
//! a connection whose request is rejected, the older HTTP+SSE transport, and a reverse proxy.
//!
//! Messages and their streams are in `mcp`, clients that take memory or connections on purpose are in `hostile`, and
//! requests that plugins send are in `grants`.

mod legacy_sse;
mod origin_check;
mod rejected_requests;
mod reverse_proxy;
