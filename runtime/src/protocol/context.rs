//! What a handler knows of the request it serves, whichever era it came in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

use super::era::Carried;
use super::error::RpcError;
use super::outbox::Outbox;
use super::revision::Revision;
use super::session::Session;
use crate::host::{ClientInfo, LogLevel};

/// One request under way.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) revision: Revision,
    pub(crate) client: ClientInfo,
    pub(crate) threshold: Threshold,
    pub(crate) carried: Carried,
    pub(crate) outbox: Outbox,
    pub(crate) cancel: CancellationToken,
    /// The session it belongs to, in the eras that have them.
    pub(crate) session: Option<Arc<Session>>,
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

impl RequestContext {
    pub(crate) fn new(
        revision: Revision,
        client: ClientInfo,
        threshold: Threshold,
        carried: Carried,
        outbox: Outbox,
        cancel: CancellationToken,
    ) -> Self {
        let session = match &threshold {
            Threshold::Session(session) => Some(Arc::clone(session)),
            Threshold::Request(_) => None,
        };
        Self { revision, client, threshold, carried, outbox, cancel, session }
    }
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
