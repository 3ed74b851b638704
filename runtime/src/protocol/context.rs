//! What a handler knows of the request it serves, whichever era it came in.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::asking::abilities::Abilities;
use super::asking::binding::{self, Binding};
use super::asking::parked::Parked;
use super::buffers::Held;
use super::era::Carried;
use super::error::RpcError;
use super::message::Request;
use super::outbox::Outbox;
use super::revision::Revision;
use super::sessions::session::Session;
use crate::host::{Caller, ClientInfo, LogLevel};
use crate::json::RawObject;

/// One request under way. In the stateless revision a call may take several rounds: the same work, each time for
/// another message from the client.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) revision: Revision,
    pub(crate) client: ClientInfo,
    pub(crate) caller: Caller,
    pub(crate) cancel: CancellationToken,
    /// The session it belongs to, in the eras that have them.
    pub(crate) session: Option<Arc<Session>>,
    /// The first message; later rounds repeat it.
    pub(crate) request: Arc<Request>,
    pub(crate) parked: Arc<Parked>,
    round: Mutex<Arc<Round>>,
    /// For what later rounds brought.
    held: Mutex<Vec<Arc<Held>>>,
}

/// What one message from the client brings, beside what it asks for.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) abilities: Abilities,
    pub(crate) threshold: Threshold,
    pub(crate) carried: Carried,
    pub(crate) outbox: Outbox,
    /// `inputResponses` to questions that are yet to be asked. Each answers one question.
    pub(crate) answers: Mutex<RawObject>,
    /// Whether requests of ours can reach the client on the way back.
    pub(crate) can_ask: bool,
}

/// From which level on the client wants log messages.
#[derive(Debug, Clone)]
pub(crate) enum Threshold {
    /// Stated with the request; none at all without.
    Request(Option<LogLevel>),
    /// Set for the session, and changeable while a call runs.
    Session(Arc<Session>),
}

impl Threshold {
    pub(crate) fn admits(&self, level: LogLevel) -> bool {
        match self {
            Self::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
            Self::Session(session) => level >= session.log_level.get(),
        }
    }
}

impl Round {
    /// The answer that the client gave in advance.
    pub(crate) fn answer(&self, key: &str) -> Option<Box<RawValue>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).take(key)
    }
}

impl RequestContext {
    pub(crate) fn new(who: Who, request: Arc<Request>, parked: Arc<Parked>, first: Round) -> Self {
        let Who { revision, client, caller, session, cancel } = who;
        Self {
            revision,
            client,
            caller,
            cancel,
            session,
            request,
            parked,
            round: Mutex::new(Arc::new(first)),
            held: Mutex::default(),
        }
    }

    /// The present round.
    pub(crate) fn round(&self) -> Arc<Round> {
        Arc::clone(&self.round.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The client has come back with another message.
    pub(crate) fn next_round(&self, round: Round) {
        *self.round.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(round);
    }

    /// What is held for a message of a later round stays so until the call is over: the guest may have its answers by then.
    pub(crate) fn hold(&self, held: Option<Arc<Held>>) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).extend(held);
    }

    /// What binds a parked call to its request and its caller.
    pub(crate) fn binding(&self) -> Binding {
        binding::of(None, &self.request.method, self.request.params.as_deref())
    }
}

/// Who asks, and how it can be withdrawn.
#[derive(Debug)]
pub(crate) struct Who {
    pub(crate) revision: Revision,
    pub(crate) client: ClientInfo,
    pub(crate) caller: Caller,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) cancel: CancellationToken,
}

/// How a message came.
#[derive(Debug, Clone)]
pub struct Via {
    /// From where.
    pub caller: Caller,
    /// Whether requests of ours can reach the client on the way back.
    pub can_ask: bool,
}

/// A log level that several requests read and one may set.
#[derive(Debug)]
pub(crate) struct SharedLevel(AtomicU8);

impl SharedLevel {
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
            let shared = SharedLevel::new(LogLevel::Debug);
            shared.set(level);
            assert_eq!(shared.get(), level);
        }
        assert_eq!(parse_level("loud").unwrap_err().code, -32602);
    }

    #[test]
    fn without_a_level_a_stateless_request_gets_no_log() {
        assert!(!Threshold::Request(None).admits(LogLevel::Emergency));
        assert!(Threshold::Request(Some(LogLevel::Info)).admits(LogLevel::Warning));
        assert!(!Threshold::Request(Some(LogLevel::Error)).admits(LogLevel::Warning));
    }
}
