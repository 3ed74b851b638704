//! What the server keeps for one client of a revision with sessions, from `initialize` until the session ends.
//!
//! The transport decides who owns a session: a duplex connection owns its one session, and Streamable HTTP keeps
//! sessions by id. Nothing here knows an id, a header, a connection or the server.

pub(super) mod client_roots;
pub(super) mod in_flight;
pub(super) mod server_notifications;
pub(super) mod session;
pub(super) mod subscriptions;
