//! Sends one request and receives its response, on a connection of its own.
//!
//! HTTP/1.1 and no connection pool: a connection that outlives its call could carry data from one call to another. The
//! request line has only the path, and `Host` has the checked authority, so a server cannot mistake the request for one
//! to another host. A redirect is a response like any other; a guest that follows it sends a new request, which is
//! checked like every request.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::body::{RequestBody, ResponseBody};
use super::budget::{HttpBudget, RequestPermit};
use super::counted_io::{CountedIo, HeadLimit};
use super::error_codes;
use super::request_span::RequestSpan;
use crate::capability::PluginCtx;
use crate::capability::http::egress::{ByteStream, EgressError};
use crate::capability::http::policy::Target;
use crate::config::fixed_limits::HTTP_HEADER_KIB;
use crate::config::kib;
use crate::sandbox::SharedPermit;

/// The smallest buffer that hyper accepts, in bytes.
const SMALLEST_BUFFER: usize = 8_192;

/// A connection may receive this many times the size of its buffer before the head of the response is complete: interim
/// responses, and the beginning of the body.
const MAX_HEAD_BUFFERS: usize = 4;

/// Runs the connection after the head of the response has come.
pub(in crate::capability::http) type ConnectionTask = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// The connection, which has to be polled for requests and responses to progress.
type HttpConnection = http1::Connection<TokioIo<CountedIo>, RequestBody>;

/// A request that was checked and counted.
pub(in crate::capability::http) struct OutgoingRequest {
    pub(super) target: Target,
    pub(super) request: Request<WasiBody>,
    pub(super) options: RequestOptions,
    pub(super) budget: Arc<HttpBudget>,
    /// `None` if the request still has to wait for its permit.
    pub(super) permit: Option<RequestPermit>,
    pub(super) span: Option<RequestSpan>,
}

impl OutgoingRequest {
    /// Sends the request and waits for the head of the response. The body comes while the returned task runs.
    pub(in crate::capability::http) async fn run(
        mut self,
    ) -> Result<(Response<WasiBody>, ConnectionTask), Error> {
        let span = self.span.take();
        let sent = self.run_in_time().await;
        if let Some(span) = span {
            span.end(sent.as_ref().map(|(response, _)| response.status().as_u16()));
        }
        sent
    }

    async fn run_in_time(mut self) -> Result<(Response<WasiBody>, ConnectionTask), Error> {
        let budget = Arc::clone(&self.budget);
        let time = budget.limits().http_time();
        // One time for both permits and for connecting.
        let connect_by = self.options.connect_timeout.map(|timeout| Instant::now() + timeout);
        let permit = match self.permit.take() {
            Some(permit) => permit,
            // Requests that are being sent end within `http_ms`. If a permit takes longer than that, all permits belong
            // to responses that the guest does not read.
            None => {
                let permit = budget.request_permit(time + time / 2);
                connected_by(connect_by, permit).await?
            }
        };
        let deadline = Instant::now() + time;
        // A request that waited longer would have too little time left. It fails as not sent instead of as too slow.
        let permit_timeout = time / 2;
        let http = &budget.plugin.capabilities.http;
        let connection_permit =
            async { http.connection_permit(permit_timeout).await.map_err(|none| budget.no_permit(none)) };
        let connection_permit = connected_by(connect_by, connection_permit).await?;
        let permits = (permit, connection_permit);
        let sending = self.run_with_permits(deadline, connect_by, permit_timeout, permits);
        let ended = timeout_at(deadline, sending).await;
        ended.unwrap_or_else(|_| Err(budget.limit_reached("http_ms", Error::HttpResponseTimeout)))
    }

    async fn run_with_permits(
        self,
        deadline: Instant,
        connect_by: Option<Instant>,
        permit_timeout: Duration,
        (permit, connection_permit): (RequestPermit, SharedPermit),
    ) -> Result<(Response<WasiBody>, ConnectionTask), Error> {
        let Self { target, request, options, budget, .. } = self;
        let too_long = Arc::new(AtomicBool::new(false));
        let outgoing =
            |body| RequestBody { body, budget: Arc::clone(&budget), too_long: Arc::clone(&too_long) };
        let request = origin_form(&target, request)?.map(outgoing);
        let connecting = connect(&target, &budget, permit_timeout);
        let wire = connected_by(connect_by, connecting).await?;
        let sending = with_timeout(
            options.first_byte_timeout,
            send(wire, request, kib(HTTP_HEADER_KIB)),
            Error::ConnectionReadTimeout,
        );
        let (response, connection) = sending.await.map_err(|error| match error {
            _ if too_long.load(Ordering::Relaxed) => {
                Error::HttpRequestBodySize(Some(kib(budget.limits().http_request_kib) as u64))
            }
            Error::HttpResponseHeaderSectionSize(_) => budget.header_too_long(error),
            error => error,
        })?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::HttpUpgradeFailed);
        }
        let to_body = |body| {
            ResponseBody::new(body, budget, permit, deadline, options.between_bytes_timeout).boxed_unsync()
        };
        let connection_task = async move {
            let _permit = connection_permit;
            if let Some(connection) = connection {
                // The error, if there is one, goes to the reader of the body.
                let _ = timeout_at(deadline, connection).await;
            }
            Ok(())
        };
        Ok((response.map(to_body), Box::new(connection_task)))
    }
}

/// The request in origin form: a path as its URI, and `Host` with the target's authority.
fn origin_form(target: &Target, request: Request<WasiBody>) -> Result<Request<WasiBody>, Error> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if !path.starts_with('/') {
        return Err(Error::HttpRequestUriInvalid);
    }
    let path = Uri::builder().path_and_query(path).build();
    parts.uri = path.map_err(|_| Error::HttpRequestUriInvalid)?;
    let host = HeaderValue::try_from(target.authority()).map_err(|_| Error::HttpRequestUriInvalid)?;
    parts.headers.insert(header::HOST, host);
    Ok(Request::from_parts(parts, body))
}

async fn connect(
    target: &Target,
    budget: &HttpBudget,
    permit_timeout: Duration,
) -> Result<Box<dyn ByteStream>, Error> {
    let PluginCtx { capabilities, config, .. } = &*budget.plugin;
    let connected = capabilities.http.connect(&config.grants.http, target, permit_timeout).await;
    connected.map_err(|error| {
        let code = error_codes::connect_error(&error);
        match &error {
            EgressError::NotGranted => budget.deny(target),
            EgressError::Prohibited { address, what } => budget.deny_address(target, *address, what),
            EgressError::Busy(none) => return budget.no_permit(*none),
            EgressError::Tls(cause) if matches!(code, Error::TlsCertificateError) => {
                budget.deny_untrusted_host(target, cause);
            }
            EgressError::NoAuthorities => {}
            EgressError::Name(cause) | EgressError::Connect(cause) | EgressError::Tls(cause) => {
                let (plugin, target) = (&*budget.plugin.name, target.pattern());
                tracing::debug!(target: "plugin", plugin, %cause, "{target}: {error}");
            }
        }
        code
    })
}

/// Sends the request and runs the connection until the head of the response has come. Returns the connection too,
/// unless it has ended already.
async fn send(
    wire: Box<dyn ByteStream>,
    request: Request<RequestBody>,
    head: usize,
) -> Result<(Response<Incoming>, Option<HttpConnection>), Error> {
    let mut builder = http1::Builder::new();
    let buffer = head.max(SMALLEST_BUFFER);
    builder.max_buf_size(buffer).max_header_size(head);
    let head_limit = HeadLimit::new(buffer.saturating_mul(MAX_HEAD_BUFFERS));
    let wire = CountedIo { wire, head_limit: head_limit.clone() };
    let handshake = builder.handshake(TokioIo::new(wire)).await;
    let (mut sender, mut connection) = handshake.map_err(|error| error_codes::request_error(&error))?;
    let mut sending = pin!(sender.send_request(request));
    let (response, connection) = tokio::select! {
        biased;
        response = &mut sending => (response, Some(connection)),
        ended = &mut connection => {
            ended.map_err(|error| error_codes::request_error(&error))?;
            (sending.await, None)
        }
    };
    head_limit.stop_counting();
    Ok((response.map_err(|error| error_codes::request_error(&error))?, connection))
}

/// Runs a step of connecting until this time.
async fn connected_by<T>(
    connect_by: Option<Instant>,
    step: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match connect_by {
        None => step.await,
        Some(connect_by) => timeout_at(connect_by, step).await.unwrap_or(Err(Error::ConnectionTimeout)),
    }
}

/// Applies the guest's time-out `max` to a step.
async fn with_timeout<T>(
    max: Option<Duration>,
    step: impl Future<Output = Result<T, Error>>,
    late_error: Error,
) -> Result<T, Error> {
    match max {
        None => step.await,
        Some(max) => timeout(max, step).await.unwrap_or(Err(late_error)),
    }
}
