//! Estimates the maximum memory that guests and clients can make a server use, from its configuration.
//!
//! A sum of parts: each is a number from the configuration times the size of one unit. The sizes are upper bounds from
//! the code and from measurements, with their reasons below. Not in the sum: loaded plugins and their code, which
//! depend on the folder; and data that is copied out of a guest before it is counted, which depends on how many guests
//! do that at once.

use serde_json::{Map, Value, json};

use crate::catalog::MAX_PAGE_BYTES;
use crate::config::ServerConfig;
use crate::sandbox::{KEPT_HEAP, guest_memory, machine_memory};

/// One connection: a buffer of 32 KiB in each direction, a body and a response of
/// [`UNCOUNTED_BYTES`](crate::mcp::UNCOUNTED_BYTES), and the task that serves it; and as much again in the kernel for
/// unread bytes of both sides.
const CONNECTION: u64 = 384 << 10;

/// One session: its state, its empty streams and its client's name.
const SESSION: u64 = 4 << 10;

/// One call, running, suspended or a task, without its guest's memory: the store and its state, the request and the
/// audit record. What a task keeps beyond that counts as buffers.
const CALL: u64 = 16 << 10;

/// The program, its runtime and its logs, which take 23 MiB when idle, the 16 MiB that the database of plugins and
/// tasks may cache, and what the allocator keeps.
const PROGRAM: u64 = (48 << 20) + KEPT_HEAP;

/// The upper bound and its parts, bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemoryEstimate {
    parts: [(&'static str, u64); 7],
    /// The memory that this process may use.
    available: u64,
}

impl MemoryEstimate {
    /// The estimate for a server with these settings on this machine.
    pub(super) fn of(settings: &ServerConfig) -> Self {
        Self::with(settings, guest_memory(settings) as u64, machine_memory())
    }

    fn with(settings: &ServerConfig, guests: u64, available: u64) -> Self {
        let calls =
            settings.concurrent_calls + settings.suspended_calls + settings.tasks + settings.idle_instances;
        let parts = [
            ("guests", guests),
            ("buffers", settings.client_buffers_bytes as u64),
            ("connections", settings.max_connections as u64 * CONNECTION),
            ("sessions", settings.max_sessions as u64 * SESSION),
            ("calls", calls as u64 * CALL),
            ("lists", MAX_PAGE_BYTES as u64),
            ("program", PROGRAM),
        ];
        Self { parts, available }
    }

    fn sum(&self) -> u64 {
        self.parts.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// One line for people.
    pub(super) fn in_words(&self) -> String {
        let parts: Vec<String> =
            self.parts.iter().map(|(name, bytes)| format!("{name} {}", whole_mib(*bytes))).collect();
        let (sum, available) = (whole_mib(self.sum()), self.available >> 20);
        format!(
            "guests and clients can make the server hold at most {sum} MiB ({}) of {available} MiB",
            parts.join(", ")
        )
    }

    /// A warning with a hint, if the sum is more than this process may use.
    pub(super) fn warning(&self) -> Option<String> {
        (self.sum() > self.available).then(|| {
            "that is more than this process may use, and the system may kill it; \
             lower `guest_memory_mib`, `client_buffers_mib`, `max_connections` or `max_sessions` under [server]"
                .to_owned()
        })
    }

    /// For programs.
    pub(super) fn as_json(&self) -> Value {
        let parts: Map<String, Value> =
            self.parts.iter().map(|(name, bytes)| ((*name).to_owned(), json!(bytes))).collect();
        json!({ "bytes": self.sum(), "parts": parts, "available": self.available })
    }
}

fn whole_mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_default_settings_fits_into_a_gibibyte() {
        let estimate = |settings: &ServerConfig| MemoryEstimate::with(settings, 512 << 20, 1 << 30);
        let usual = estimate(&ServerConfig::default());
        assert_eq!(usual.warning(), None, "{}", usual.in_words());
        assert!(usual.sum() > 1000 << 20 && usual.as_json()["bytes"] == usual.sum());
        let crowded = estimate(&ServerConfig { max_connections: 10_000, ..ServerConfig::default() });
        assert!(crowded.warning().unwrap().contains("`max_connections`"), "{}", crowded.in_words());
    }
}
