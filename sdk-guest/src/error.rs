//! The one error of the WIT package, with words of its own.
//!
//! It is written out here and not generated, since the generated one would print as Rust code, and tools put errors
//! before models and people. Its shape is that of the WIT variant; the bindings take it apart by its cases.

use std::fmt;

use crate::bindings::types::RpcError;

/// Why the host failed, and what a tool, a resource or a prompt may fail with.
///
/// A function may hand on what it received: the client then gets what MCP has for it.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// There is nothing of this name or URI.
    NotFound(String),
    /// The arguments do not fit.
    InvalidParams(String),
    /// Something went wrong that the caller cannot mend.
    Internal(String),
    /// The client cannot be asked this: it offers no `sampling`, `elicitation` or `roots`.
    MissingCapability(String),
    /// The server's operator has not granted it to the plugin.
    Denied(String),
    /// The operator's budget for it is spent.
    OverBudget(String),
    /// Nobody answered in time.
    TimedOut,
    /// The client no longer waits.
    Cancelled,
    /// A person, or whoever watches over the model, said no.
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
