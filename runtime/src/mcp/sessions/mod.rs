//! The state that the server keeps for one client of a revision with sessions, from `initialize` until the session
//! ends.
//!
//! The transport decides who owns a session: a duplex connection owns its one session, and Streamable HTTP stores
//! sessions by id. This module knows no session ids, headers or connections, and not the server.

pub(super) mod client_roots;
pub(super) mod in_flight;
pub(super) mod server_notifications;
pub(super) mod session;
pub(super) mod subscriptions;
pub(super) mod task_requests;
