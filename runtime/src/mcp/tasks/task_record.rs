//! The head of a task's record, as JSON: all that is stored of a task but its result or its error.
//!
//! The result is stored as the bytes that are sent, apart from the head, because heads are read far more often.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::mcp::error::{RpcError, cut};

/// Maximum length of the status message of a failed task, in bytes. The error itself has all of it.
const MAX_MESSAGE: usize = 1_024;

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::mcp) enum TaskStatus {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    /// Whether the status is final.
    pub(in crate::mcp) fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A record without its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordHead {
    pub(super) status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    /// Milliseconds since 1970.
    pub(super) created: u64,
    /// Milliseconds since 1970.
    pub(super) updated: u64,
    pub(super) ttl_ms: u64,
    /// For whom the record counts.
    pub(super) caller: String,
    pub(super) plugin: String,
    /// The plugin's own name of the tool.
    pub(super) tool: String,
    /// The name of the tool that the client called.
    pub(super) name: String,
    /// The length of the result of a completed task, or of the error of a failed one.
    pub(super) bytes: usize,
}

impl RecordHead {
    /// When the record may be deleted, in milliseconds since 1970.
    pub(super) fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl_ms)
    }

    /// Makes it the head of a task that failed, and returns the error as it is stored.
    pub(super) fn fail(&mut self, error: &RpcError) -> Vec<u8> {
        let outcome = serde_json::to_vec(error).unwrap_or_default();
        self.status = TaskStatus::Failed;
        self.message = Some(cut(&error.message, MAX_MESSAGE).to_owned());
        self.bytes = outcome.len();
        outcome
    }

    /// Reads a head; `None` if these bytes are none.
    pub(super) fn read(head: &[u8]) -> Option<Self> {
        serde_json::from_slice(head).ok()
    }

    /// The bytes to store.
    pub(super) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time of these milliseconds since 1970, which a record has. A time that no clock has is the beginning of 1970.
pub(super) fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn head(status: TaskStatus) -> RecordHead {
        RecordHead {
            status,
            message: None,
            created: 1_000,
            updated: 2_500,
            ttl_ms: 60_000,
            caller: "stdio".to_owned(),
            plugin: "p".to_owned(),
            tool: "t".to_owned(),
            name: "p-t".to_owned(),
            bytes: 0,
        }
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let message = Some("line\nbreak".to_owned());
        let head = RecordHead { message, ttl_ms: u64::MAX, bytes: 5, ..head(TaskStatus::Completed) };
        assert_eq!(RecordHead::read(&head.write()).as_ref(), Some(&head));
        assert_eq!(head.expires(), u64::MAX);
        assert_eq!(RecordHead::read(b"{}"), None);
        assert_eq!(millis(time(1_234)), 1_234);
    }

    #[test]
    fn the_head_of_a_task_that_failed_stays_small() {
        let mut head = head(TaskStatus::Working);
        let outcome = head.fail(&RpcError::of_guest(-32603, "x".repeat(10_000), None));
        assert!(head.status == TaskStatus::Failed && head.write().len() < 2_048);
        assert!(outcome.len() > 10_000 && head.bytes == outcome.len());
    }
}
