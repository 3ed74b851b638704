//! `wasi:http`: requests that a guest sends.
//!
//! The interface itself is wasmtime's; what is done with a request is decided here. Every component links, granted or
//! not, and a request that is not granted fails with the standard's `HTTP-request-denied`. What the budget of the call
//! and the grants allow goes on as an [`OutgoingRequest`].

mod body;
mod budget;
mod counted_io;
mod error_codes;
mod fields;
mod linker;
mod send_request;

use std::sync::Arc;

use http::{Request, Response, Uri};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use super::InstanceCtx;
use super::denial_log::DenialLog;
use super::plugin_ctx::PluginCtx;
use crate::config::fixed_limits::HTTP_HEADER_KIB;
use crate::config::{Host, HttpGrant, Scheme, kib};
use crate::sandbox::{HostFuel, Target};
use budget::HttpBudget;
use send_request::{ConnectionTask, OutgoingRequest};

pub(super) use linker::add_to_linker;

/// Bytes that a guest may write to a body at once; two such pieces wait for each request that it begins.
const CHUNK: usize = 8 << 10;

/// What a body keeps of what its guest wrote, bytes.
pub(super) const BODY: usize = 2 * CHUNK;

/// What one call has of HTTP.
pub(super) struct HttpCtx {
    context: WasiHttpCtx,
    hooks: Hooks,
}

struct Hooks {
    budget: Arc<HttpBudget>,
}

impl HttpCtx {
    pub(super) fn new(plugin: &Arc<PluginCtx>, meter: &HostFuel, denials: &DenialLog) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(kib(HTTP_HEADER_KIB));
        let budget = HttpBudget::new(Arc::clone(plugin), meter.clone(), denials.clone());
        Self { context, hooks: Hooks { budget: Arc::new(budget) } }
    }

    /// Whether no request is under way and no answer is being read: each of them has the account.
    pub(super) fn is_quiet(&self) -> bool {
        Arc::strong_count(&self.hooks.budget) == 1
    }
}

impl WasiHttpView for InstanceCtx {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.meter.charge_call();
        WasiHttpCtxView { hooks: &mut self.http.hooks, table: &mut self.table, ctx: &mut self.http.context }
    }
}

type SendResult = Result<(Response<WasiBody>, ConnectionTask), Error>;

impl WasiHttpHooks for Hooks {
    /// It is made of what was checked, when the request is sent.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = SendResult> + Send> {
        match self.check(request, options) {
            Ok(exchange) => Box::new(exchange.run()),
            Err(error) => Box::new(std::future::ready(Err(error))),
        }
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }
}

impl Hooks {
    /// Looks at all that can be judged without a network.
    fn check(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<OutgoingRequest, Error> {
        let target = target(request.method().as_str(), request.uri())?;
        let budget = Arc::clone(&self.budget);
        if !target.is_granted(&budget.plugin.config.grants.http) {
            budget.deny(&target);
            return Err(Error::HttpRequestDenied);
        }
        let permit = budget.start_request()?;
        Ok(OutgoingRequest { target, request, options: options.unwrap_or_default(), budget, permit })
    }
}

/// Where a request goes, read so that nobody after us could read it differently.
fn target(method: &str, uri: &Uri) -> Result<Target, Error> {
    if !HttpGrant::is_method(method) {
        return Err(Error::HttpRequestMethodInvalid);
    }
    let scheme = match uri.scheme_str() {
        Some("https") => Scheme::Https,
        Some("http") => Scheme::Http,
        _ => return Err(Error::HttpProtocolError),
    };
    let authority = uri.authority().ok_or(Error::HttpRequestUriInvalid)?;
    let host = Host::parse(authority.host()).map_err(|_| Error::HttpRequestUriInvalid)?;
    // A user before the host, or anything but a plain number after it, is refused.
    let rest = authority.as_str().strip_prefix(authority.host()).ok_or(Error::HttpRequestUriInvalid)?;
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => scheme.port(),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0') => {
            digits.parse().map_err(|_| Error::HttpRequestUriInvalid)?
        }
        _ => return Err(Error::HttpRequestUriInvalid),
    };
    Ok(Target { method: method.to_owned(), scheme, host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_where_its_uri_says_and_nowhere_else() {
        let read = |uri: &str| target("GET", &uri.parse().unwrap()).map(|target| target.pattern());
        for (uri, pattern) in [
            ("https://Example.COM/x?y", "GET https://example.com"),
            ("https://example.com.:443/", "GET https://example.com"),
            ("http://example.com:8080", "GET http://example.com:8080"),
            ("http://127.0.0.1/", "GET http://127.0.0.1"),
            ("http://[::1]:9000/", "GET http://[::1]:9000"),
        ] {
            assert_eq!(read(uri).unwrap(), pattern, "{uri}");
        }
        for uri in [
            "https://user@example.com/",
            "https://example.com@evil.test/",
            "https://user:pass@example.com/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://[::ffff:127.0.0.1]/",
            "http://example.com:/",
            "http://example.com:080/",
            "http://example.com:0/",
            "http://example.com:65536/",
            "http://exa_mple..com/",
            "/only/a/path",
            "*",
            "ftp://example.com/",
        ] {
            let Ok(uri) = uri.parse::<Uri>() else { continue };
            assert!(target("GET", &uri).is_err(), "{uri}");
        }
        for method in ["CONNECT", "TRACE", "PROPFIND", "get"] {
            assert!(target(method, &"http://example.com/".parse().unwrap()).is_err(), "{method}");
        }
    }
}
