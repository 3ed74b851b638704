//! Requests that a guest sends, and the interface `wasi:http` for them.
//!
//! wasmtime implements the interface itself; `policy` and this module decide about each request. Every component that
//! imports `wasi:http` links, whether it has grants or not: a request that is not granted fails with the standard's
//! `HTTP-request-denied`. A request that the grants and the budget of the call allow becomes an [`OutgoingRequest`].
//! Requests of the interface `http-client` enter at [`InstanceCtx::check_request`].

mod body;
mod budget;
mod counted_io;
mod error_codes;
mod fields;
mod linker;
mod request_span;
mod send_request;

use std::sync::Arc;

use http::{HeaderName, Request, Response};
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use super::policy::{TargetError, target};
use crate::capability::host_support::denial_log::DenialLog;
use crate::capability::{InstanceCtx, PluginCtx};
use crate::config::fixed_limits::HTTP_HEADER_KIB;
use crate::config::kib;
use crate::observe::trace::SpanScope;
use crate::sandbox::HostFuel;
use budget::{HttpBudget, RequestPermit};
use request_span::RequestSpan;
use send_request::ConnectionTask;

#[cfg(test)]
pub(in crate::capability) use fields::fields_size;
pub(super) use fields::handle_size;
pub(super) use linker::link;
pub(super) use send_request::OutgoingRequest;

/// How many bytes a guest may write to a body at once. For each request, up to two such chunks wait to be sent.
const CHUNK: usize = 8 << 10;

/// How much of a guest's body the host buffers, in bytes.
const BODY_SIZE: usize = 2 * CHUNK;

/// The HTTP state of one call.
pub(in crate::capability) struct HttpCtx {
    context: WasiHttpCtx,
    hooks: Hooks,
}

struct Hooks {
    budget: Arc<HttpBudget>,
    /// The span of the call; `None` if the call is not recorded.
    trace: Option<SpanScope>,
}

impl HttpCtx {
    fn new(
        plugin: &Arc<PluginCtx>,
        host_fuel: &HostFuel,
        denials: &DenialLog,
        trace: Option<SpanScope>,
    ) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(kib(HTTP_HEADER_KIB));
        let budget = HttpBudget::new(Arc::clone(plugin), host_fuel.clone(), denials.clone());
        Self { context, hooks: Hooks { budget: Arc::new(budget), trace } }
    }

    /// Sets the span of the call, under which later requests are recorded.
    pub(in crate::capability) fn set_trace(&mut self, trace: Option<SpanScope>) {
        self.hooks.trace = trace;
    }

    /// Whether no request is being sent and no response is being read. Each request and response holds a clone of the
    /// budget.
    pub(super) fn is_quiet(&self) -> bool {
        Arc::strong_count(&self.hooks.budget) == 1
    }
}

impl InstanceCtx {
    /// The HTTP state of the call, which the first use creates, and the instance's resource table.
    fn http_state(&mut self) -> (&mut HttpCtx, &mut ResourceTable) {
        let Self { plugin, host_fuel, denials, trace, capabilities, table, .. } = self;
        let begin = || {
            let denials = denials.get_or_init(|| DenialLog::new(trace.clone()));
            HttpCtx::new(plugin, host_fuel, denials, trace.clone())
        };
        (capabilities.http.get_or_insert_with(begin), table)
    }

    /// Whether a guest may set this header field.
    pub(super) fn may_set_header(&mut self, name: &HeaderName) -> bool {
        !self.http_state().0.hooks.is_forbidden_header(name)
    }

    /// Checks a request as far as no network is needed. The request acquires its permit when it is sent.
    pub(super) fn check_request(
        &mut self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<OutgoingRequest, Error> {
        let hooks = &self.http_state().0.hooks;
        hooks.check(request, Some(options), |budget| budget.count_request().map(|()| None))
    }
}

impl WasiHttpView for InstanceCtx {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.host_fuel.charge_call();
        let (HttpCtx { context, hooks }, table) = self.http_state();
        WasiHttpCtxView { hooks, table, ctx: context }
    }
}

type SendResult = Result<(Response<WasiBody>, ConnectionTask), Error>;

impl WasiHttpHooks for Hooks {
    /// Returns `false`: `send_request` sets the header `Host` from the checked target.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = SendResult> + Send> {
        match self.check(request, options, |budget| budget.start_request().map(Some)) {
            Ok(outgoing) => Box::new(outgoing.run()),
            Err(error) => Box::new(std::future::ready(Err(error))),
        }
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }
}

impl Hooks {
    /// Checks a request as far as no network is needed. `start` counts the request against the budget.
    fn check(
        &self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
        start: impl FnOnce(&HttpBudget) -> Result<Option<RequestPermit>, Error>,
    ) -> Result<OutgoingRequest, Error> {
        let target = target(request.method().as_str(), request.uri()).map_err(|error| match error {
            TargetError::Method => Error::HttpRequestMethodInvalid,
            TargetError::Scheme => Error::HttpProtocolError,
            TargetError::Uri => Error::HttpRequestUriInvalid,
        })?;
        let budget = Arc::clone(&self.budget);
        if !target.is_granted(&budget.plugin.config.grants.http) {
            budget.deny(&target);
            return Err(Error::HttpRequestDenied);
        }
        let permit = start(&budget)?;
        let grants = &budget.plugin.config.grants.http;
        let span = RequestSpan::begin(self.trace.as_ref(), &target, grants);
        if target.is_traced(grants) {
            request_span::set_headers(request.headers_mut(), span.as_ref());
        }
        Ok(OutgoingRequest { target, request, options: options.unwrap_or_default(), budget, permit, span })
    }
}
