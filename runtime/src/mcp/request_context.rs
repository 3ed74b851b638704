//! What a handler knows of the request it serves, be it stateless or of a session.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::buffer_budget::BufferReservation;
use super::client_requests::client_capabilities::ClientCapabilities;
use super::client_requests::mrtr::SuspendedCalls;
use super::client_requests::mrtr::request_digest::{self, RequestDigest};
use super::error::RpcError;
use super::jsonrpc::Request;
use super::notification_queue::NotificationQueue;
use super::request_meta::RequestMeta;
use super::revision::Revision;
use super::sessions::session::Session;
use crate::host::{Caller, ClientInfo, LogLevel};
use crate::json::RawObject;

/// One request under way. In the stateless revision a call may have several legs: the same work, each time for another
/// message from the client.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) revision: Revision,
    pub(crate) client: ClientInfo,
    pub(crate) caller: Caller,
    pub(crate) cancel: CancellationToken,
    /// The session it belongs to; none for a stateless request.
    pub(crate) session: Option<Arc<Session>>,
    /// The first message; those of later legs repeat it.
    pub(crate) request: Arc<Request>,
    pub(crate) suspended_calls: Arc<SuspendedCalls>,
    leg: Mutex<Arc<RequestLeg>>,
    /// For what later legs brought.
    reservations: Mutex<Vec<Arc<BufferReservation>>>,
}

/// What one message from the client brings besides its method and parameters.
#[derive(Debug)]
pub(crate) struct RequestLeg {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) threshold: LogThreshold,
    pub(crate) request_meta: RequestMeta,
    pub(crate) queue: NotificationQueue,
    /// `inputResponses` to requests that the guest is yet to make. Each answers one request.
    pub(crate) responses: Mutex<RawObject>,
    /// Whether client requests can be sent on the response stream.
    pub(crate) can_ask: bool,
}

/// From which level on the client wants log messages.
#[derive(Debug, Clone)]
pub(crate) enum LogThreshold {
    /// Stated with the request; none at all without.
    Request(Option<LogLevel>),
    /// Set for the session, and changeable while a call runs.
    Session(Arc<Session>),
}

impl LogThreshold {
    pub(crate) fn admits(&self, level: LogLevel) -> bool {
        match self {
            Self::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
            Self::Session(session) => level >= session.log_level.get(),
        }
    }
}

impl RequestLeg {
    /// The answer that the client gave in advance.
    pub(crate) fn take_response(&self, key: &str) -> Option<Box<RawValue>> {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner).take(key)
    }
}

impl RequestContext {
    pub(crate) fn new(
        who: Requester,
        request: Arc<Request>,
        suspended_calls: Arc<SuspendedCalls>,
        first: RequestLeg,
    ) -> Self {
        let Requester { revision, client, caller, session, cancel } = who;
        Self {
            revision,
            client,
            caller,
            cancel,
            session,
            request,
            suspended_calls,
            leg: Mutex::new(Arc::new(first)),
            reservations: Mutex::default(),
        }
    }

    /// The present leg.
    pub(crate) fn leg(&self) -> Arc<RequestLeg> {
        Arc::clone(&self.leg.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The client has come back with another message.
    pub(crate) fn next_leg(&self, leg: RequestLeg) {
        *self.leg.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(leg);
    }

    /// What is reserved for the message of a later leg stays so until the call is over: the guest may have the
    /// responses by then.
    pub(crate) fn keep_reservation(&self, reservation: Option<Arc<BufferReservation>>) {
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner).extend(reservation);
    }

    /// What binds a suspended call to its request and its caller.
    pub(crate) fn request_digest(&self) -> RequestDigest {
        request_digest::compute(None, &self.request.method, self.request.params.raw())
    }
}

/// The client of a request, and how the request is cancelled.
#[derive(Debug)]
pub(crate) struct Requester {
    pub(crate) revision: Revision,
    pub(crate) client: ClientInfo,
    pub(crate) caller: Caller,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) cancel: CancellationToken,
}

/// How a message came.
#[derive(Debug, Clone)]
pub struct Channel {
    /// From where.
    pub caller: Caller,
    /// Whether client requests can be sent on the response stream.
    pub can_ask: bool,
    /// Whether the client runs on this machine for certain, so that its folders are the server's too.
    pub is_local: bool,
}

/// A log level that several requests read and one may set.
#[derive(Debug)]
pub(crate) struct SharedLogLevel(AtomicU8);

impl SharedLogLevel {
    pub(crate) fn new(level: LogLevel) -> Self {
        Self(AtomicU8::new(level as u8))
    }

    pub(crate) fn get(&self) -> LogLevel {
        let stored = self.0.load(Ordering::Relaxed);
        LEVELS.iter().find(|(_, level)| *level as u8 == stored).map_or(LogLevel::Info, |(_, level)| *level)
    }

    pub(crate) fn set(&self, level: LogLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }
}

const LEVELS: [(&str, LogLevel); 8] = [
    ("debug", LogLevel::Debug),
    ("info", LogLevel::Info),
    ("notice", LogLevel::Notice),
    ("warning", LogLevel::Warning),
    ("error", LogLevel::Error),
    ("critical", LogLevel::Critical),
    ("alert", LogLevel::Alert),
    ("emergency", LogLevel::Emergency),
];

/// The level of this name.
///
/// # Errors
/// -32602 when there is none.
pub(crate) fn parse_level(name: &str) -> Result<LogLevel, RpcError> {
    let found = LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level);
    let names = LEVELS.map(|(name, _)| name).join(", ");
    found.ok_or_else(|| RpcError::invalid_params(&format!("unknown log level; one of {names}")))
}

/// The name of a level on the wire.
pub(crate) fn level_name(level: LogLevel) -> &'static str {
    LEVELS.iter().find(|(_, known)| *known == level).map_or("info", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_names_of_syslog() {
        for (name, level) in LEVELS {
            assert_eq!(parse_level(name), Ok(level));
            assert_eq!(level_name(level), name);
            let shared = SharedLogLevel::new(LogLevel::Debug);
            shared.set(level);
            assert_eq!(shared.get(), level);
        }
        assert_eq!(parse_level("loud").unwrap_err().code, -32602);
    }

    #[test]
    fn without_a_level_a_stateless_request_gets_no_log() {
        assert!(!LogThreshold::Request(None).admits(LogLevel::Emergency));
        assert!(LogThreshold::Request(Some(LogLevel::Info)).admits(LogLevel::Warning));
        assert!(!LogThreshold::Request(Some(LogLevel::Error)).admits(LogLevel::Warning));
    }
}
