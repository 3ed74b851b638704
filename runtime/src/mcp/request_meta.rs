//! The `_meta` of a request: whether the request is stateless or belongs to a session, and what it says about its
//! client.
//!
//! A request with the protocol version in its `_meta` is stateless; `initialize` and all other requests belong to a
//! session (2026-07-28, basic/versioning). The server serves both kinds at the same time.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::client_requests::client_capabilities::ClientCapabilities;
use super::error::{RpcError, cut};
use super::jsonrpc::Request;
use super::log_level::parse_level;
use super::method::Method;
use super::param_errors;
use super::request_id::RequestId;
use super::revision::Revision;
use crate::call_env::{ClientInfo, LogLevel};
use crate::catalog::PublishedTool;
use crate::json::CowStr;
use crate::observe::trace::TraceContext;

/// Prefix of the keys of `_meta` that MCP reserves.
const RESERVED: &str = "io.modelcontextprotocol/";

/// How many bytes of a client's name and version are stored; a session keeps them until it ends.
const NAME_BYTES: usize = 256;

/// Maximum length of a `traceparent` or `tracestate` that is parsed, in bytes of JSON.
const TRACE_BYTES: usize = 1_024;

/// How a request is served.
#[derive(Debug)]
pub(crate) enum RequestKind {
    /// Without a session.
    Stateless(StatelessMeta),
    /// By beginning a session.
    Initialize,
    /// In a session.
    Session,
}

/// What a stateless request says about its client.
#[derive(Debug)]
pub(crate) struct StatelessMeta {
    pub(crate) revision: Revision,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) log_level: Option<LogLevel>,
}

/// What any request carries in `_meta`.
#[derive(Debug, Default)]
pub(crate) struct RequestMeta {
    /// The JSON text, for requests whose message is not kept.
    pub(crate) raw: Option<Box<str>>,
    pub(crate) progress_token: Option<RequestId>,
    /// The client's span in which it sent the request (SEP-414).
    pub(crate) trace: Option<TraceContext>,
    /// A check that the transport could not do yet, because the tool was not published.
    pub(crate) deferred_check: Option<Box<dyn ArgumentsCheck>>,
}

/// Compares the arguments of a call with the transport's headers.
pub(crate) trait ArgumentsCheck: std::fmt::Debug + Send + Sync {
    /// # Errors
    /// When the two differ.
    fn check(&self, tool: &PublishedTool, request: &Request) -> Result<(), RpcError>;
}

#[derive(Deserialize, Default)]
struct RawMeta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<Implementation<'a>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow)]
    tracestate: Option<&'a RawValue>,
}

/// Name and version of a client.
#[derive(Deserialize, Default)]
pub(crate) struct Implementation<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    version: Cow<'a, str>,
}

impl Implementation<'_> {
    /// The client with these capabilities and extensions.
    pub(crate) fn into_client(
        self,
        revision: Revision,
        capabilities: ClientCapabilities,
        extensions: Vec<String>,
    ) -> ClientInfo {
        let cut = |text: &str| cut(text, NAME_BYTES).to_owned();
        ClientInfo {
            name: cut(&self.name),
            version: cut(&self.version),
            protocol: revision.as_str().to_owned(),
            sampling: capabilities.sampling,
            elicitation: capabilities.elicitation_form || capabilities.elicitation_url,
            roots: capabilities.roots,
            extensions,
            is_local: false,
        }
    }
}

/// Whether MCP reserves this key of `_meta`. Reserved keys are not passed to a guest.
pub(crate) fn is_reserved(key: &str) -> bool {
    key.starts_with(RESERVED) || key == "progressToken"
}

impl RequestKind {
    /// Determines how a request is served, and parses its `_meta`. The trace context is parsed only if traces are
    /// recorded.
    ///
    /// # Errors
    /// When `_meta` is malformed, or lacks a required key of a stateless request.
    pub(crate) fn parse(
        request: &Request,
        are_traces_recorded: bool,
    ) -> Result<(Self, RequestMeta), RpcError> {
        let without_version =
            if request.method == Method::Initialize { Self::Initialize } else { Self::Session };
        let Some(raw) = request.params.meta() else { return Ok((without_version, RequestMeta::default())) };
        if !raw.starts_with('{') {
            return Err(RpcError::invalid_meta("`params._meta` must be an object"));
        }
        let meta: RawMeta<'_> = serde_json::from_str(raw).map_err(|error| {
            RpcError::invalid_meta(&param_errors::describe::<RawMeta<'_>>("params._meta", raw, &error))
        })?;
        let progress_token = meta.progress_token.map(token).transpose()?.flatten();
        let trace = meta.traceparent.filter(|_| are_traces_recorded);
        let trace = trace.and_then(|parent| read_trace(parent, meta.tracestate));
        let kind = match meta.version {
            None => without_version,
            Some(version) => Self::Stateless(StatelessMeta::read(version, meta)?),
        };
        Ok((kind, RequestMeta { raw: None, progress_token, trace, deferred_check: None }))
    }
}

/// Reads a progress token. A value that is neither a string nor an integer counts as no token.
fn token(raw: &RawValue) -> Result<Option<RequestId>, RpcError> {
    match RequestId::read(raw) {
        Ok(token) => Ok(Some(token)),
        Err(_) if raw.get().starts_with('"') => {
            Err(RpcError::invalid_meta(&format!("`params._meta.progressToken` {}", RequestId::FORM)))
        }
        Err(_) => Ok(None),
    }
}

/// Parses the trace context. An invalid one counts as absent, because no request fails because of its trace.
fn read_trace(traceparent: &RawValue, tracestate: Option<&RawValue>) -> Option<TraceContext> {
    let text = |raw: &RawValue| -> Option<String> {
        let raw = raw.get();
        if raw.len() <= TRACE_BYTES { serde_json::from_str(raw).ok() } else { None }
    };
    TraceContext::parse(&text(traceparent)?, tracestate.and_then(text).as_deref())
}

impl StatelessMeta {
    fn read(version: &RawValue, meta: RawMeta<'_>) -> Result<Self, RpcError> {
        let CowStr(version) = serde_json::from_str(version.get())
            .map_err(|_| RpcError::invalid_meta("`params._meta` needs the protocol version as a string"))?;
        let revision = Revision::parse(&version).filter(|revision| revision.is_stateless());
        let revision = revision.ok_or_else(|| RpcError::unsupported_version(&version))?;
        if !meta.capabilities.is_some_and(|capabilities| capabilities.get().starts_with('{')) {
            let missing =
                format!("`params._meta` needs `{RESERVED}clientCapabilities`, an object that may be empty");
            return Err(RpcError::invalid_meta(&missing));
        }
        ClientCapabilities::check(meta.capabilities)?;
        let log_level = meta.log_level.as_deref().map(parse_level).transpose()?;
        let capabilities = ClientCapabilities::read(meta.capabilities, revision);
        Ok(Self { revision, capabilities, log_level })
    }

    /// Returns what a stateless request says about its client. It is parsed only when a guest asks for it, which is
    /// rare.
    pub(crate) fn client(request: &Request, revision: Revision) -> ClientInfo {
        let meta = request.params.meta().map(serde_json::from_str::<RawMeta<'_>>);
        // A request whose `_meta` cannot be parsed has been rejected before.
        let RawMeta { client, capabilities, .. } = meta.and_then(Result::ok).unwrap_or_default();
        let (capabilities, extensions) = ClientCapabilities::read_with_extensions(capabilities, revision);
        client.unwrap_or_default().into_client(revision, capabilities, extensions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::ResponseKind;

    fn request(method: &str, params: &str) -> Request {
        let (id, method) = (RequestId::Number(1), Method::parse(method));
        Request { id, method, params: params.into(), reservation: None }
    }

    fn read(method: &str, params: &str) -> Result<(RequestKind, RequestMeta), RpcError> {
        RequestKind::parse(&request(method, params), true)
    }

    fn kind(method: &str, params: &str) -> Result<RequestKind, RpcError> {
        read(method, params).map(|(kind, _)| kind)
    }

    #[test]
    fn a_request_that_names_its_revision_is_stateless() {
        let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"warning"}}"#;
        let Ok(RequestKind::Stateless(stateless_meta)) = kind("tools/list", meta) else { panic!() };
        assert_eq!(stateless_meta.log_level, Some(LogLevel::Warning));
        assert!(matches!(kind("tools/list", "{}"), Ok(RequestKind::Session)));
        assert!(matches!(kind("tools/list", r#"{"_meta":{"progressToken":1}}"#), Ok(RequestKind::Session)));
        assert!(matches!(kind("initialize", "{}"), Ok(RequestKind::Initialize)));
    }

    #[test]
    fn a_stateless_request_must_say_who_asks() {
        let version = |version: &str, rest: &str| {
            let params =
                format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":{version}{rest}}}}}"#);
            let error = kind("tools/list", &params).unwrap_err();
            (error.code, error.kind)
        };
        assert_eq!(version("\"2026-07-28\"", ""), (-32602, ResponseKind::Malformed));
        assert_eq!(version("5", ""), (-32602, ResponseKind::Malformed));
        assert_eq!(version("\"2031-01-01\"", ""), (-32022, ResponseKind::Malformed));
        assert_eq!(version("\"2025-11-25\"", ""), (-32022, ResponseKind::Malformed));
        let level =
            r#","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud""#;
        assert_eq!(version("\"2026-07-28\"", level).0, -32602);
    }

    #[test]
    fn a_trace_context_is_read_and_never_makes_a_request_fail() {
        let trace = |meta: &str| read("ping", &format!(r#"{{"_meta":{meta}}}"#)).unwrap().1.trace;
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = TraceContext::parse(parent, Some("a=1"));
        let meta = format!(r#"{{"traceparent":"{parent}","tracestate":"a=1"}}"#);
        assert_eq!(trace(&meta), context);
        let unread = RequestKind::parse(&request("ping", &format!(r#"{{"_meta":{meta}}}"#)), false);
        assert_eq!(unread.unwrap().1.trace, None, "nothing is recorded");
        for meta in [
            r#"{"traceparent":null}"#.to_owned(),
            r#"{"traceparent":{"a":1}}"#.to_owned(),
            r#"{"tracestate":"a=1"}"#.to_owned(),
            format!(r#"{{"traceparent":"{}"}}"#, "0".repeat(1 << 20)),
        ] {
            assert_eq!(trace(&meta), None);
        }
    }

    #[test]
    fn progress_tokens_are_strings_or_integers() {
        let token = |meta: &str| read("ping", &format!(r#"{{"_meta":{meta}}}"#)).unwrap().1.progress_token;
        assert_eq!(token(r#"{"progressToken":"p"}"#), Some(RequestId::Text("p".into())));
        assert_eq!(token(r#"{"progressToken":7}"#), Some(RequestId::Number(7)));
        assert!(token(r#"{"progressToken":null}"#).is_none());
        assert!(token(r#"{"progressToken":{}}"#).is_none());
        let long = format!(r#"{{"_meta":{{"progressToken":"{}"}}}}"#, "p".repeat(4 << 20));
        let error = read("ping", &long).unwrap_err();
        assert!(
            error.code == -32602
                && error.message.contains("`params._meta.progressToken` must be a string of at most")
        );
    }
}
