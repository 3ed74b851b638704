//! The JSON-RPC errors of MCP, and the [`ResponseKind`] of each, from which a transport derives a status code.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::revision::Revision;
use crate::access::QuotaError;

/// Maximum nesting in the name of a capability, which may come from a guest.
const CAPABILITY_DEPTH: usize = 3;

/// Maximum length of a message, in bytes: the longest error of a guest, and a sentence around it.
const MESSAGE_BYTES: usize = 20 << 10;

/// How many bytes of a name from the client an error repeats.
const NAME_BYTES: usize = 256;

/// How many bytes of a URI from the client an error repeats: the upper bound of the limit `uri_bytes`.
const URI_BYTES: usize = 4 << 10;

/// How a request was answered, for transports with status codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseKind {
    /// The method was called. The response has its result or its error.
    Served,
    /// The message, or what must accompany it, is malformed or contradictory.
    Malformed,
    /// The session or the method does not exist.
    NotFound,
    /// The buffer budget is used up.
    Overloaded,
    /// The caller's token lacks some of these scopes.
    InsufficientScope(Arc<[Box<str>]>),
    /// The caller has used up a quota.
    OverQuota {
        /// After how many seconds the request may be sent again.
        retry_after_s: u64,
    },
}

/// An error response. `data` is shown to clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<Value>>,
    #[serde(skip)]
    pub(crate) kind: ResponseKind,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(cut(&message, MESSAGE_BYTES).len());
        Self { code, message, data: None, kind: ResponseKind::Served }
    }

    pub(crate) fn with_kind(self, kind: ResponseKind) -> Self {
        Self { kind, ..self }
    }

    /// -32700: the bytes are not JSON.
    pub(crate) fn parse(detail: &str) -> Self {
        Self::new(-32700, format!("Parse error: {detail}")).with_kind(ResponseKind::Malformed)
    }

    /// -32600: the JSON is not a message.
    pub(crate) fn invalid_request(detail: &str) -> Self {
        Self::new(-32600, format!("Invalid Request: {detail}")).with_kind(ResponseKind::Malformed)
    }

    /// -32601. Only the stateless revision has a status code for this error.
    pub(crate) fn method_not_found(method: &str, revision: Revision) -> Self {
        let kind = if revision.is_stateless() { ResponseKind::NotFound } else { ResponseKind::Served };
        Self::new(-32601, format!("Method not found: {method}")).with_kind(kind)
    }

    /// -32602: the parameters do not fit the method.
    pub(crate) fn invalid_params(detail: &str) -> Self {
        Self::new(-32602, format!("Invalid params: {detail}"))
    }

    /// -32602: `params` or `_meta` is malformed, or `_meta` lacks a key that a stateless request must carry.
    pub(crate) fn invalid_meta(detail: &str) -> Self {
        Self::invalid_params(detail).with_kind(ResponseKind::Malformed)
    }

    /// -32602 for a tool that is not published.
    pub(crate) fn unknown_tool(name: &str) -> Self {
        Self::new(-32602, format!("Unknown tool: {}", cut(name, NAME_BYTES)))
    }

    /// -32603: the server failed.
    pub(crate) fn internal(detail: &str) -> Self {
        Self::new(-32603, format!("Internal error: {detail}"))
    }

    /// -32020: a header differs from the body or is missing.
    pub(crate) fn header_mismatch(detail: &str) -> Self {
        Self::new(-32020, format!("Header mismatch: {detail}")).with_kind(ResponseKind::Malformed)
    }

    /// -32010: the caller's token lacks some of the scopes that the operation needs. The error lists all needed scopes,
    /// because a client requests a new token with exactly the listed scopes.
    pub(crate) fn insufficient_scope(scopes: &[Box<str>]) -> Self {
        let data = json!({ "scopes": scopes });
        let error = Self::new(-32010, format!("Insufficient scope: this needs {}", scopes.join(", ")));
        Self { data: Some(Box::new(data)), ..error }.with_kind(ResponseKind::InsufficientScope(scopes.into()))
    }

    /// -32011: the caller has used up a quota.
    pub(crate) fn over_quota(over: &QuotaError) -> Self {
        let retry_after_s = over.retry_after_s();
        let data = json!({ "limit": over.limit_name(), "role": over.role(), "retryAfter": retry_after_s });
        let error = Self { data: Some(Box::new(data)), ..Self::new(-32011, over.to_string()) };
        error.with_kind(ResponseKind::OverQuota { retry_after_s })
    }

    /// -32602 for a URI that is not that of a skill.
    pub(crate) fn unknown_skill(uri: &str) -> Self {
        Self::new(-32602, format!("No skill is served at {}", cut(uri, NAME_BYTES)))
    }

    /// -32602 for a URI that is not that of a directory.
    pub(crate) fn unknown_directory(uri: &str) -> Self {
        Self::new(-32602, format!("{} is not a directory resource", cut(uri, NAME_BYTES)))
    }

    /// -32602 for a prompt that is not published.
    pub(crate) fn unknown_prompt(name: &str) -> Self {
        Self::new(-32602, format!("Unknown prompt: {}", cut(name, NAME_BYTES)))
    }

    /// A resource that is not published: -32002 in the revisions with that code, else -32602.
    pub(crate) fn resource_not_found(uri: &str, revision: Revision) -> Self {
        let code = if revision.is_stateless() { -32602 } else { -32002 };
        let data = json!({ "uri": cut(uri, URI_BYTES) });
        Self { data: Some(Box::new(data)), ..Self::new(code, "Resource not found") }
    }

    /// -32021: the client did not declare a capability that the request needs. A dot separates nested names, as in
    /// `sampling.tools`.
    pub(crate) fn missing_capability(name: &str) -> Self {
        let required = name.splitn(CAPABILITY_DEPTH, '.').collect::<Vec<_>>();
        let required = required.into_iter().rev().fold(json!({}), |inner, part| json!({ part: inner }));
        let data = json!({ "requiredCapabilities": required });
        let message = format!("Missing required client capability: {name}");
        Self { data: Some(Box::new(data)), ..Self::new(-32021, message).with_kind(ResponseKind::Malformed) }
    }

    /// -32021: the client did not declare an extension that the request needs.
    pub(crate) fn missing_extension(name: &str) -> Self {
        let data = json!({ "requiredCapabilities": { "extensions": { name: {} } } });
        let message = format!("Missing required client capability: extensions.{name}");
        Self { data: Some(Box::new(data)), ..Self::new(-32021, message).with_kind(ResponseKind::Malformed) }
    }

    /// -32022: a revision that this server does not support.
    pub(crate) fn unsupported_version(requested: &str) -> Self {
        let requested = cut(requested, NAME_BYTES);
        let supported = Revision::ALL.map(Revision::as_str);
        let data = json!({ "supported": supported, "requested": requested });
        let message = format!("Unsupported protocol version: {requested}");
        Self { data: Some(Box::new(data)), ..Self::new(-32022, message).with_kind(ResponseKind::Malformed) }
    }

    /// An error of a guest, sent unchanged.
    pub(crate) fn of_guest(code: i32, message: String, data: Option<Value>) -> Self {
        Self { data: data.map(Box::new), ..Self::new(i64::from(code), message) }
    }

    /// An error that was written before, as JSON.
    pub(crate) fn stored(text: &str) -> Self {
        let error: Value = serde_json::from_str(text).unwrap_or_default();
        let code = error.get("code").and_then(Value::as_i64).unwrap_or(-32603);
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
        Self { data: error.get("data").cloned().map(Box::new), ..Self::new(code, message) }
    }

    /// -32603: the buffer budget is used up.
    pub(crate) fn overloaded(what: &str) -> Self {
        let detail = format!(
            "no room for {what} (setting [server] `client_buffers_mib`); read the responses that wait, and try again"
        );
        Self::internal(&detail).with_kind(ResponseKind::Overloaded)
    }
}

/// Returns the beginning of a text, at most `max_bytes` long.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_repeats_little_of_what_it_is_about() {
        let long = "ü".repeat(1 << 20);
        for error in [
            RpcError::method_not_found(&long, Revision::V2025_11_25),
            RpcError::unknown_tool(&long),
            RpcError::unsupported_version(&long),
            RpcError::resource_not_found(&long, Revision::V2025_11_25),
            RpcError::header_mismatch(&long),
        ] {
            assert!(
                serde_json::to_string(&error).unwrap().len() < MESSAGE_BYTES + NAME_BYTES,
                "{}",
                error.code
            );
        }
    }

    #[test]
    fn required_capabilities_are_nested_objects() {
        let required =
            |name: &str| RpcError::missing_capability(name).data.unwrap()["requiredCapabilities"].clone();
        assert_eq!(required("sampling"), json!({ "sampling": {} }));
        assert_eq!(required("elicitation.url"), json!({ "elicitation": { "url": {} } }));
        assert_eq!(required("a.b.c.d"), json!({ "a": { "b": { "c.d": {} } } }));
    }

    #[test]
    fn a_resource_that_is_not_there_has_the_code_of_its_revision() {
        let error = |revision| RpcError::resource_not_found("n:a", revision);
        assert_eq!(error(Revision::V2025_11_25).code, -32002);
        assert_eq!(error(Revision::V2026_07_28).code, -32602);
        assert_eq!(error(Revision::V2026_07_28).data.unwrap()["uri"], "n:a");
    }
}
