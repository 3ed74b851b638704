//! Log levels and their names in messages.
//!
//! A stateless request states its level in `_meta`, and a session has a level that `logging/setLevel` changes. Both
//! filter the log messages of plugins for the client; the server's own log is separate.

use std::sync::atomic::{AtomicU8, Ordering};

use super::error::RpcError;
use crate::call_env::LogLevel;

/// A log level that several requests read and that one may set.
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

/// Returns the level with this name.
///
/// # Errors
/// -32602 when there is no such level.
pub(crate) fn parse_level(name: &str) -> Result<LogLevel, RpcError> {
    let level = LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level);
    let names = LEVELS.map(|(name, _)| name).join(", ");
    level.ok_or_else(|| RpcError::invalid_params(&format!("unknown log level; one of {names}")))
}

/// The name of a level in messages.
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
}
