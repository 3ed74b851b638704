//! The headers of Streamable HTTP: their names, and reading a header that may be there at most once.
//!
//! No other file spells one of these names. The rules for their values are in `header_validation` and
//! `streamable_http`.

use std::fmt::Display;

use axum::http::header::AsHeaderName;
use axum::http::{HeaderMap, HeaderName};

use crate::mcp::RpcError;

/// The id of a session, from the response to `initialize` on.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The revision of MCP that the body is written in.
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Repeats the method of the body (2026-07-28).
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// Repeats the name or the URI of the body (2026-07-28).
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The last event that a client saw of a stream which it resumes.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The only value of a header, as text.
///
/// # Errors
/// -32020 when the header is given twice, or has characters that a header cannot have.
pub(super) fn single<N: AsHeaderName + Display + Copy>(
    headers: &HeaderMap,
    name: N,
) -> Result<Option<&str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(RpcError::header_mismatch(&format!("`{name}` is given twice")));
    }
    match value.to_str() {
        Ok(text) => Ok(Some(text.trim())),
        Err(_) => {
            Err(RpcError::header_mismatch(&format!("`{name}` has characters that a header cannot have")))
        }
    }
}

/// The value of a header that must be there.
///
/// # Errors
/// As [`single`], and when there is none.
pub(super) fn required<N: AsHeaderName + Display + Copy>(
    headers: &HeaderMap,
    name: N,
) -> Result<&str, RpcError> {
    single(headers, name)?.ok_or_else(|| RpcError::header_mismatch(&format!("`{name}` is missing")))
}
