//! Why there is no response, in messages that a tool may show to a model.

use std::fmt;

use crate::Error;

/// Why there is no response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server's operator did not grant this request; the URL, or the denied part of it.
    Denied(String),
    /// The request leads to an address that is not public, and that address was not granted.
    Private,
    /// The request is invalid.
    Invalid(String),
    /// The name is not known.
    Name,
    /// The host cannot be reached.
    Unreachable,
    /// The host did not prove who it is, or speaks no TLS.
    Tls,
    /// The host took too long.
    TimedOut,
    /// A limit of the operator; its name in the configuration.
    Limit(&'static str),
    /// The server could not send it, for a reason of its own.
    Unsent(String),
    /// The response broke off, or is not HTTP.
    Broken(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(what) => write!(f, "this server does not grant requests to {what} to the plugin"),
            Self::Private => f.write_str(
                "the name leads to an address that is not public, and this server does not grant that",
            ),
            Self::Invalid(why) => write!(f, "the request cannot be sent: {why}"),
            Self::Name => f.write_str("there is no host of this name"),
            Self::Unreachable => f.write_str("the host cannot be reached"),
            Self::Tls => f.write_str("the host did not prove who it is, or does not speak TLS"),
            Self::TimedOut => f.write_str("the host took too long to answer"),
            Self::Limit(name) => write!(f, "the request is beyond what this server allows (limit `{name}`)"),
            Self::Unsent(why) => write!(f, "the request could not be sent: {why}"),
            Self::Broken(why) => write!(f, "the answer is broken: {why}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Denied(_) | Failure::Private => Self::Denied(failure.to_string()),
            Failure::Limit(_) => Self::OverBudget(failure.to_string()),
            _ => Self::Internal(failure.to_string()),
        }
    }
}
