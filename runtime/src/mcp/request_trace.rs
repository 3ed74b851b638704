//! The server span of one request, by the semantic conventions for MCP.
//!
//! Its names come from the catalog and from the protocol. A name that a client made up is replaced by `_OTHER`, so a
//! client can neither write into the operator's traces nor create arbitrarily many names. A plugin chose the names of
//! its items, so the plugin's secrets are redacted in them. The session id is left out, because whoever reads the
//! traces could use the session with it. URIs that no plugin lists are left out, because they may contain arguments.
//!
//! A call that is suspended and resumed has one span. The trace contexts of its later messages become links of the
//! span.

use std::time::Instant;

use parking_lot::Mutex;

use super::error::RpcError;
use super::method::Method;
use super::request_id::RequestId;
use super::revision::Revision;
use crate::call_env::Caller;
use crate::observe::trace::{Span, SpanScope, TraceContext, Tracer};
use crate::plugin::Plugin;
use crate::token_bucket::CallerRates;

/// What decides about the trace of a request, besides the request itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceSource<'s> {
    pub(super) tracer: &'s Tracer,
    /// The number of traces that each caller is sure to get although other callers begin too many.
    pub(super) shares: &'s CallerRates<Caller>,
    /// Whether clients must authenticate. Then a caller without a principal is unknown.
    pub(super) has_auth: bool,
    pub(super) caller: &'s Caller,
    /// The trace context in the transport's headers.
    pub(super) transport: Option<&'s TraceContext>,
}

/// The span of a recorded request. It ends with the response, or when this is dropped.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    scope: SpanScope,
    span: Mutex<Option<Span>>,
}

/// The trace contexts of a request: the one that becomes the parent, and those that become links.
#[derive(Debug, PartialEq, Eq)]
struct Origin<'c> {
    parent: Option<&'c TraceContext>,
    links: [Option<&'c TraceContext>; 2],
}

impl<'c> Origin<'c> {
    /// The context in `_meta` takes precedence over the transport's, which may be that of a proxy. An unknown caller
    /// influences neither whether its request is recorded nor in which trace.
    fn new(meta: Option<&'c TraceContext>, transport: Option<&'c TraceContext>, is_known: bool) -> Self {
        match (meta, transport) {
            (meta, transport) if !is_known => Self { parent: None, links: [meta, transport] },
            (Some(meta), transport) => Self { parent: Some(meta), links: [transport, None] },
            (None, transport) => Self { parent: transport, links: [None, None] },
        }
    }
}

impl<'s> TraceSource<'s> {
    /// Begins the span of a request with this context in its `_meta`. Returns `None` if the request is not recorded.
    /// An `initialize` has no revision yet.
    pub(super) fn begin(
        self,
        (method, id): (&Method, &RequestId),
        revision: Option<Revision>,
        meta: Option<&'s TraceContext>,
    ) -> Option<RequestTrace> {
        let is_known = !self.has_auth || matches!(self.caller, Caller::Stdio | Caller::Principal(_));
        let Origin { parent, links } = Origin::new(meta, self.transport, is_known);
        let method_name = method_name(method);
        let has_share = || self.shares.admit(self.caller, Instant::now());
        let mut span = self.tracer.begin(method_name, parent, has_share)?;
        links.into_iter().flatten().for_each(|context| span.scope().link(context));
        span.set("mcp.method.name", method_name.to_owned());
        if let Some(revision) = revision {
            span.set("mcp.protocol.version", revision.as_str());
        }
        span.set("jsonrpc.request.id", id.to_string());
        span.set("network.transport", if *self.caller == Caller::Stdio { "pipe" } else { "tcp" });
        match method {
            Method::CallTool => {
                span.set("gen_ai.operation.name", "execute_tool");
                span.set("gen_ai.tool.name", OTHER);
            }
            Method::GetPrompt => span.set("gen_ai.prompt.name", OTHER),
            _ => {}
        }
        Some(RequestTrace { scope: span.scope().clone(), span: Mutex::new(Some(span)) })
    }
}

/// Replaces a name that the server does not know.
const OTHER: &str = "_OTHER";

fn method_name(method: &Method) -> &str {
    match method {
        Method::Unknown(_) => OTHER,
        known => known.as_str(),
    }
}

impl RequestTrace {
    /// The scope of the span, in which child spans begin.
    pub(crate) fn scope(&self) -> &SpanScope {
        &self.scope
    }

    /// Records the revision that an `initialize` has negotiated.
    pub(super) fn negotiated(&self, revision: Revision) {
        self.with(|span| span.set("mcp.protocol.version", revision.as_str()));
    }

    /// Records that the request calls this published tool.
    pub(super) fn calls_tool(&self, plugin: &Plugin, name: &str) {
        self.name("tools/call", "gen_ai.tool.name", &plugin.redactor().text(name));
    }

    /// Records that the request gets this published prompt.
    pub(super) fn gets_prompt(&self, plugin: &Plugin, name: &str) {
        self.name("prompts/get", "gen_ai.prompt.name", &plugin.redactor().text(name));
    }

    /// Records that the request reads this resource, which a plugin lists.
    pub(super) fn reads_listed(&self, plugin: &Plugin, uri: &str) {
        let uri = plugin.redactor().text(uri).into_owned();
        self.with(|span| span.set("mcp.resource.uri", uri));
    }

    /// Records that the tool's result has `isError`.
    pub(super) fn tool_failed(&self) {
        self.with(|span| span.fail("tool_error"));
    }

    /// Ends the span; `outcome` is `None` if the client has cancelled the request.
    pub(super) fn end<T>(&self, outcome: Option<&Result<T, RpcError>>) {
        let Some(mut span) = self.span.lock().take() else { return };
        match outcome {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                span.fail(error.code.to_string());
                span.set("rpc.response.status_code", error.code.to_string());
            }
            None => span.fail("cancelled"),
        }
    }

    fn name(&self, method: &'static str, attribute: &'static str, name: &str) {
        self.with(|span| {
            span.rename(format!("{method} {name}"));
            span.set(attribute, name.to_owned());
        });
    }

    fn with(&self, change: impl FnOnce(&mut Span)) {
        if let Some(span) = &mut *self.span.lock() {
            change(span);
        }
    }
}

impl Drop for RequestTrace {
    fn drop(&mut self) {
        // The request was dropped before its end, for example with its connection.
        self.end::<()>(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_unknown_decides_neither_the_trace_nor_whether_it_is_recorded() {
        let context =
            |id: &str| TraceContext::parse(&format!("00-{}-{id}-01", "a".repeat(32)), None).unwrap();
        let (meta, transport) = (context("00000000000000aa"), context("00000000000000bb"));
        let (meta, transport) = (Some(&meta), Some(&transport));
        let origin = |parent, links| Origin { parent, links };
        assert_eq!(Origin::new(meta, transport, true), origin(meta, [transport, None]));
        assert_eq!(Origin::new(meta, None, true), origin(meta, [None, None]));
        assert_eq!(Origin::new(None, transport, true), origin(transport, [None, None]));
        assert_eq!(Origin::new(meta, transport, false), origin(None, [meta, transport]));
        assert_eq!(Origin::new(None, None, false), origin(None, [None, None]));
    }
}
