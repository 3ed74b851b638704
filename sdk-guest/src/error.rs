//! The error type of the WIT package, with readable messages.
//!
//! The type is written by hand, since a generated one would print as Rust code, and models and people read errors. Its
//! variants are those of the WIT variant; the bindings match on them.

use std::fmt;

use crate::bindings::types::RpcError;

/// Why the host failed, and what a tool, a resource or a prompt may fail with.
///
/// A function may return an error that it received: the client then gets the matching MCP error.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// No item has this name or URI.
    NotFound(String),
    /// The arguments do not fit.
    InvalidParams(String),
    /// Something went wrong that the caller cannot mend.
    Internal(String),
    /// The client lacks the capability `sampling`, `elicitation` or `roots`.
    MissingCapability(String),
    /// The server's operator has not granted this to the plugin.
    Denied(String),
    /// The plugin has used up the operator's budget.
    OverBudget(String),
    /// The client did not respond in time.
    TimedOut,
    /// The client cancelled the request.
    Cancelled,
    /// The person, or the client itself, rejected the request.
    Rejected(String),
    /// A JSON-RPC error, sent as it is.
    Rpc(RpcError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(text) | Self::InvalidParams(text) | Self::Internal(text) => f.write_str(text),
            Self::MissingCapability(name) => write!(f, "the client lacks the capability `{name}`"),
            Self::Denied(text) => write!(f, "not allowed: {text}"),
            Self::OverBudget(text) => write!(f, "over budget: {text}"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Rejected(text) => write!(f, "rejected: {text}"),
            Self::Rpc(error) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for Error {}
