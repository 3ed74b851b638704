//! What is stored of a task: one line of JSON, and after it the result or the error as the bytes that are sent.
//!
//! The line alone is read when the server learns which records there are; a result may be large.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// What a record takes besides its result, in bytes.
const HEAD_BYTES: usize = 512;

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
    /// For operators who look into the database.
    pub(super) plugin: String,
    pub(super) tool: String,
}

/// A record of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskRecord {
    pub(super) head: RecordHead,
    /// The result of a completed task, or the error of a failed one.
    pub(super) outcome: Option<Bytes>,
}

impl RecordHead {
    /// When the record may be deleted, in milliseconds since 1970.
    pub(super) fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl_ms)
    }

    /// Reads the line before the result; `None` if these bytes are no record.
    pub(super) fn read(record: &[u8]) -> Option<Self> {
        let line = record.split(|byte| *byte == b'\n').next()?;
        serde_json::from_slice(line).ok()
    }
}

impl TaskRecord {
    /// Reads a record; `None` if these bytes are none.
    pub(super) fn read(record: Vec<u8>) -> Option<Self> {
        let head = RecordHead::read(&record)?;
        let outcome = record.iter().position(|byte| *byte == b'\n').map(|end| {
            let mut outcome = Bytes::from(record);
            outcome.split_off(end + 1)
        });
        Some(Self { head, outcome })
    }

    /// About how many bytes are stored.
    pub(super) fn size(&self) -> usize {
        HEAD_BYTES + self.outcome.as_ref().map_or(0, Bytes::len)
    }

    /// The bytes to store.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut record = serde_json::to_vec(&self.head).unwrap_or_default();
        if let Some(outcome) = &self.outcome {
            record.push(b'\n');
            record.extend_from_slice(outcome);
        }
        record
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
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let head = RecordHead {
            status: TaskStatus::Completed,
            message: Some("line\nbreak".to_owned()),
            created: 7,
            updated: 8,
            ttl_ms: u64::MAX,
            caller: "stdio".to_owned(),
            plugin: "p".to_owned(),
            tool: "t".to_owned(),
        };
        for outcome in [None, Some(Bytes::from_static(b"")), Some(Bytes::from_static(b"{\"a\":\"\n\"}"))] {
            let record = TaskRecord { head: head.clone(), outcome };
            assert_eq!(TaskRecord::read(record.write()).as_ref(), Some(&record));
            assert_eq!(RecordHead::read(&record.write()), Some(head.clone()));
        }
        assert_eq!(head.expires(), u64::MAX);
        assert_eq!(TaskRecord::read(b"{}".to_vec()), None);
        assert_eq!(millis(time(1_234)), 1_234);
    }
}
