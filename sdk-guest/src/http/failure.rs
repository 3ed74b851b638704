//! Why there is no response, in messages that a tool may show to a model.
//!
//! The type is written by hand, as [`Error`] is. Its variants are those of the WIT variant; the bindings match on them.

use std::fmt;

use crate::Error;
pub use crate::bindings::http::http_client::Denial;

/// Why there is no response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server's operator did not grant this request. It has the line of the configuration that would.
    Denied(Denial),
    /// The request leads to an address that is not public, and that address was not granted.
    PrivateAddress,
    /// The request is invalid.
    Invalid(String),
    /// The name is not known.
    UnknownHost,
    /// The host cannot be reached.
    Unreachable,
    /// The host did not prove who it is, or speaks no TLS.
    Tls,
    /// The host took longer than [`timeout`](super::Request::timeout).
    TimedOut,
    /// A limit of the operator; its name in the configuration.
    OverLimit(String),
    /// The server could not send it, for a reason of its own.
    Unsent(String),
    /// The response broke off, or is not HTTP.
    Broken(String),
}

impl Failure {
    /// The failure of a request that is not granted, such as `GET https://example.com`; for tests.
    pub fn denied(request: impl Into<String>) -> Self {
        let request = request.into();
        let grant = format!("http = [\"{request}\"]");
        Self::Denied(Denial { request, grant })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => {
                write!(f, "this server does not grant the request {} to the plugin", denial.request)
            }
            Self::PrivateAddress => f.write_str(
                "the name leads to an address that is not public, and this server does not grant that",
            ),
            Self::Invalid(why) => write!(f, "the request cannot be sent: {why}"),
            Self::UnknownHost => f.write_str("there is no host of this name"),
            Self::Unreachable => f.write_str("the host cannot be reached"),
            Self::Tls => f.write_str("the host did not prove who it is, or does not speak TLS"),
            Self::TimedOut => f.write_str("the host took too long to answer"),
            Self::OverLimit(name) => {
                write!(f, "the request is beyond what this server allows (limit `{name}`)")
            }
            Self::Unsent(why) => write!(f, "the request could not be sent: {why}"),
            Self::Broken(why) => write!(f, "the answer is broken: {why}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Denied(_) | Failure::PrivateAddress => Self::Denied(failure.to_string()),
            Failure::OverLimit(_) => Self::OverBudget(failure.to_string()),
            _ => Self::Internal(failure.to_string()),
        }
    }
}
