//! The line that the audit has for one call, or for several that were rejected for the same reason.
//!
//! `audit_record` and `rejected_calls` write the same line, so the line has a module of its own.

use serde::Serialize;

use super::counters::CallEnd;
use super::forbidden_call::ForbiddenReason;
use crate::observe::Escaped;
use crate::plugin::call_error::{CallError, only_rejects};

/// One call, or `count` calls that were rejected.
#[derive(Serialize)]
pub(super) struct CallLine<'a> {
    pub(super) event: &'static str,
    pub(super) plugin: &'a str,
    pub(super) digest: String,
    pub(super) function: &'static str,
    pub(super) name: Option<String>,
    pub(super) caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) roles: Option<&'a str>,
    #[serde(flatten)]
    pub(super) outcome: &'a CallOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<u64>,
    pub(super) fuel: u64,
    pub(super) elapsed_us: u64,
    pub(super) cpu_us: u64,
    pub(super) bytes_in: usize,
    pub(super) bytes_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'a str>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum CallOutcome {
    Ok,
    /// The plugin said that it failed.
    Error,
    Limit {
        limit: &'static str,
        value: u64,
    },
    Trapped {
        reason: String,
    },
    Exited {
        code: i32,
    },
    InvalidResult {
        reason: String,
    },
    Busy,
    Quarantined,
    Cancelled,
    Replaced,
    /// The caller may not make this call.
    Forbidden(ForbiddenReason),
    Host,
}

impl CallOutcome {
    pub(super) fn of(failure: &CallError) -> Self {
        match failure {
            CallError::Guest(_) => Self::Error,
            CallError::Limit(limit) => Self::Limit { limit: limit.name, value: limit.value },
            CallError::Trapped(how) => Self::Trapped { reason: (*how).to_owned() },
            CallError::Exited(code) => Self::Exited { code: *code },
            CallError::InvalidResult(fault) => Self::InvalidResult { reason: Escaped(fault).to_string() },
            CallError::Busy { .. } | CallError::Full => Self::Busy,
            CallError::Quarantined { .. } => Self::Quarantined,
            CallError::Replaced => Self::Replaced,
            CallError::Host(_) => Self::Host,
        }
    }

    /// Its name, as the audit writes it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Limit { .. } => "limit",
            Self::Trapped { .. } => "trapped",
            Self::Exited { .. } => "exited",
            Self::InvalidResult { .. } => "invalid_result",
            Self::Busy => "busy",
            Self::Quarantined => "quarantined",
            Self::Forbidden(_) => "forbidden",
            Self::Cancelled => "cancelled",
            Self::Replaced => "replaced",
            Self::Host => "host",
        }
    }

    /// Why a call that did not begin was rejected, as a name for its count.
    pub(super) fn rejection(&self) -> &'static str {
        match self {
            Self::Limit { limit, .. } => limit,
            Self::Busy => "concurrent_calls",
            rejected => rejected.name(),
        }
    }

    /// The counter for a call that began and ended like this.
    pub(super) fn end(&self) -> CallEnd {
        match self {
            Self::Ok => CallEnd::Ok,
            Self::Cancelled | Self::Replaced => CallEnd::Cancelled,
            Self::Trapped { .. } | Self::Exited { .. } | Self::InvalidResult { .. } => CallEnd::Terminated,
            Self::Limit { limit, .. } if !only_rejects(limit) => CallEnd::Terminated,
            Self::Error
            | Self::Limit { .. }
            | Self::Busy
            | Self::Quarantined
            | Self::Forbidden(_)
            | Self::Host => CallEnd::Failed,
        }
    }
}
