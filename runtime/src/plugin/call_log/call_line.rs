//! The line that the audit has for one call, or for several that were rejected for the same reason.
//!
//! `audit_record` and `rejected_calls` write the same line, so the line has a module of its own. The line of a call
//! that began is made on the audit's thread, so all that it says is in a [`FinishedCallEvent`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::audited_arguments::AuditedArguments;
use super::counters::CallEnd;
use super::forbidden_call::ForbiddenReason;
use crate::call_env::Caller;
use crate::observe::{Escaped, SerializeDisplay};
use crate::plugin::call_error::{CallError, only_rejects};
use crate::plugin::guest_call::CallUsage;

/// One call, or `count` calls that were rejected.
#[derive(Serialize)]
pub(super) struct CallLine<'a> {
    pub(super) event: &'static str,
    pub(super) plugin: &'a str,
    pub(super) digest: &'a str,
    pub(super) function: &'static str,
    pub(super) name: Option<SerializeDisplay<Escaped<'a>>>,
    pub(super) caller: Option<SerializeDisplay<&'a Caller>>,
    /// The OAuth client of an access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<&'a str>,
    /// Where an authenticated caller calls from. Without authentication `caller` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<IpAddr>,
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
    pub(super) arguments: Option<&'a AuditedArguments>,
}

/// A call that began and has ended.
#[derive(Debug)]
pub(super) struct FinishedCallEvent {
    pub(super) plugin: Arc<str>,
    pub(super) digest: Arc<str>,
    pub(super) function: &'static str,
    pub(super) name: Arc<str>,
    pub(super) caller: Caller,
    pub(super) roles: Option<Arc<str>>,
    pub(super) outcome: CallOutcome,
    pub(super) is_reused: bool,
    pub(super) usage: CallUsage,
    pub(super) bytes_in: usize,
    pub(super) bytes_out: usize,
    pub(super) arguments: Option<AuditedArguments>,
}

impl FinishedCallEvent {
    /// What it takes in memory beside its own size.
    pub(super) fn heap_bytes(&self) -> usize {
        let arguments = self.arguments.as_ref().map_or(0, AuditedArguments::bytes);
        self.name.len() + self.outcome.reason().len() + arguments
    }
}

impl Serialize for FinishedCallEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CallUsage { fuel, elapsed, cpu } = self.usage;
        let (client, address) = client_and_address(&self.caller);
        let line = CallLine {
            event: "call",
            plugin: &self.plugin,
            digest: &self.digest,
            function: self.function,
            name: Some(SerializeDisplay(Escaped(&self.name))),
            caller: Some(SerializeDisplay(&self.caller)),
            client,
            address,
            roles: self.roles.as_deref(),
            outcome: &self.outcome,
            instance: self.is_reused.then_some("reused"),
            count: None,
            fuel,
            elapsed_us: micros(elapsed),
            cpu_us: micros(cpu),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            arguments: self.arguments.as_ref(),
        };
        line.serialize(serializer)
    }
}

/// The OAuth client of a caller and its address, if it is authenticated and they are known.
pub(super) fn client_and_address(caller: &Caller) -> (Option<&str>, Option<IpAddr>) {
    let authenticated = caller.authenticated();
    let client = authenticated.and_then(|authenticated| authenticated.principal.client.as_deref());
    (client, authenticated.and_then(|authenticated| authenticated.address))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
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

    /// What it says beside its name; a guest's result may make it long.
    fn reason(&self) -> &str {
        match self {
            Self::Trapped { reason } | Self::InvalidResult { reason } => reason,
            _ => "",
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
