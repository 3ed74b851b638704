//! What the server keeps for one client of a revision with sessions, from `initialize` until the session ends.
//!
//! Who owns a session depends on the transport: a duplex connection owns its one session, and Streamable HTTP keeps
//! them by id. Nothing here knows an id, a header, a connection or the server.

pub(super) mod client_roots;
pub(super) mod in_flight;
pub(super) mod server_notifications;
pub(super) mod session;
pub(super) mod subscriptions;
