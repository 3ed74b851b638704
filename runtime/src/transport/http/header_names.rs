//! The headers of Streamable HTTP: their names, and reading a header that must not occur twice.
//!
//! Other files use these constants. The rules for the values are in `header_validation` and `streamable_http`.

use std::fmt::Display;

use axum::http::header::AsHeaderName;
use axum::http::{HeaderMap, HeaderName};

use crate::mcp::RpcError;

/// The id of a session; the response to `initialize` introduces it.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The revision of the message in the body.
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Repeats the method in the body (2026-07-28).
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// Repeats the name or the URI in the body (2026-07-28).
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The last event that a client received on the stream that it resumes.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Returns the value of a header that must not occur twice.
///
/// # Errors
/// -32020 when the header occurs twice, or has invalid characters.
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

/// Returns the value of a header that must be present.
///
/// # Errors
/// As for [`single`], and when the header is missing.
pub(super) fn required<N: AsHeaderName + Display + Copy>(
    headers: &HeaderMap,
    name: N,
) -> Result<&str, RpcError> {
    single(headers, name)?.ok_or_else(|| RpcError::header_mismatch(&format!("`{name}` is missing")))
}
