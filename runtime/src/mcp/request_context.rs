//! What a handler knows of the request it serves, be it stateless or of a session.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::buffer_budget::BufferReservation;
use super::client_requests::client_capabilities::ClientCapabilities;
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
    pub(crate) fn new(who: Requester, request: Arc<Request>, first: RequestLeg) -> Self {
        let Requester { revision, client, caller, session, cancel } = who;
        Self {
            revision,
            client,
            caller,
            cancel,
            session,
            request,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_level_a_stateless_request_gets_no_log() {
        assert!(!LogThreshold::Request(None).admits(LogLevel::Emergency));
        assert!(LogThreshold::Request(Some(LogLevel::Info)).admits(LogLevel::Warning));
        assert!(!LogThreshold::Request(Some(LogLevel::Error)).admits(LogLevel::Warning));
    }
}
