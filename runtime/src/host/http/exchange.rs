//! One request and its answer, on a connection of their own.
//!
//! HTTP/1.1 and no pool: a connection that outlives its call would carry something from one call to another. The request
//! line has the path alone and `Host` what was checked, so no server can be made to take it for another host's. A
//! redirect is an answer like any other; whoever follows it begins anew, with all checks.

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

use super::account::{Account, Place};
use super::body::{Answer, Outgoing};
use super::errors;
use super::wire::{Allowance, Counted};
use crate::config::kib;
use crate::host::Shared;
use crate::sandbox::{EgressError, Taken, Target, Wire};

/// The smallest buffer that hyper works with, bytes.
const SMALLEST_BUFFER: usize = 8_192;

/// As many heads may come before the answer's own is there: interim answers, and what is read ahead of its body.
const HEADS: usize = 4;

/// What goes on after the answer's head is there.
pub(super) type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// A connection, as far as it is driven from outside.
type Connection = http1::Connection<TokioIo<Counted>, Outgoing>;

/// A request that was checked and has its place.
pub(super) struct Exchange {
    pub(super) target: Target,
    pub(super) request: Request<WasiBody>,
    pub(super) options: RequestOptions,
    pub(super) account: Arc<Account>,
    pub(super) place: Place,
}

impl Exchange {
    pub(super) async fn run(self) -> Result<(Response<WasiBody>, Rest), Error> {
        let account = Arc::clone(&self.account);
        let time = account.limits().http();
        let deadline = Instant::now() + time;
        // What waits for a place longer than this could do little with it, and is no slow request.
        let patience = time / 2;
        let connection = account.plugin.egress.place(patience).await.map_err(|none| account.busy(none))?;
        let ended = timeout_at(deadline, self.until(deadline, patience, connection)).await;
        ended.unwrap_or_else(|_| Err(account.breach("http_ms", Error::HttpResponseTimeout)))
    }

    async fn until(
        self,
        deadline: Instant,
        patience: Duration,
        place_of_connection: Taken,
    ) -> Result<(Response<WasiBody>, Rest), Error> {
        let Self { target, request, options, account, place } = self;
        let too_long = Arc::new(AtomicBool::new(false));
        let outgoing =
            |body| Outgoing { body, account: Arc::clone(&account), too_long: Arc::clone(&too_long) };
        let request = origin_form(&target, request)?.map(outgoing);
        let connecting = connect(&target, &account, patience);
        let wire = within(options.connect_timeout, connecting, Error::ConnectionTimeout).await?;
        let exchanged = within(
            options.first_byte_timeout,
            exchange(wire, request, kib(account.limits().http_header_kib)),
            Error::ConnectionReadTimeout,
        );
        let (response, connection) = exchanged.await.map_err(|error| match error {
            _ if too_long.load(Ordering::Relaxed) => {
                Error::HttpRequestBodySize(Some(kib(account.limits().http_request_kib) as u64))
            }
            Error::HttpResponseHeaderSectionSize(_) => account.breach("http_header_kib", error),
            error => error,
        })?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::HttpUpgradeFailed);
        }
        let answer =
            |body| Answer::new(body, account, place, deadline, options.between_bytes_timeout).boxed_unsync();
        let rest = async move {
            let _open = place_of_connection;
            if let Some(connection) = connection {
                // How it ends is seen by whoever reads the body.
                let _ = timeout_at(deadline, connection).await;
            }
            Ok(())
        };
        Ok((response.map(answer), Box::new(rest)))
    }
}

/// The request as it goes over the wire.
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

async fn connect(target: &Target, account: &Account, patience: Duration) -> Result<Box<dyn Wire>, Error> {
    let Shared { egress, config, .. } = &*account.plugin;
    let connected = egress.connect(&config.grants.http, target, patience).await;
    connected.map_err(|error| {
        let told = errors::of_connection(&error);
        match &error {
            EgressError::NotGranted => account.deny(target),
            EgressError::Prohibited { address, what } => account.deny_address(target, *address, what),
            EgressError::Busy(none) => return account.busy(*none),
            EgressError::Tls(cause) if matches!(told, Error::TlsCertificateError) => {
                account.distrust(target, cause);
            }
            EgressError::NoAuthorities => {}
            EgressError::Name(cause) | EgressError::Connect(cause) | EgressError::Tls(cause) => {
                let (plugin, target) = (&*account.plugin.name, target.pattern());
                tracing::debug!(target: "plugin", plugin, %cause, "{target}: {error}");
            }
        }
        told
    })
}

/// Sends the request and drives the connection until the answer's head is there; the rest of the connection comes back.
async fn exchange(
    wire: Box<dyn Wire>,
    request: Request<Outgoing>,
    head: usize,
) -> Result<(Response<Incoming>, Option<Connection>), Error> {
    let mut builder = http1::Builder::new();
    let buffer = head.max(SMALLEST_BUFFER);
    builder.max_buf_size(buffer).max_header_size(head);
    let allowance = Allowance::new(buffer.saturating_mul(HEADS));
    let wire = Counted { wire, allowance: allowance.clone() };
    let shaken = builder.handshake(TokioIo::new(wire)).await;
    let (mut sender, mut connection) = shaken.map_err(|error| errors::of_exchange(&error))?;
    let mut sending = pin!(sender.send_request(request));
    let (response, connection) = tokio::select! {
        biased;
        response = &mut sending => (response, Some(connection)),
        ended = &mut connection => {
            ended.map_err(|error| errors::of_exchange(&error))?;
            (sending.await, None)
        }
    };
    allowance.lift();
    Ok((response.map_err(|error| errors::of_exchange(&error))?, connection))
}

/// Bounds a step by what the guest would wait.
async fn within<T>(
    patience: Option<Duration>,
    step: impl Future<Output = Result<T, Error>>,
    late: Error,
) -> Result<T, Error> {
    match patience {
        None => step.await,
        Some(patience) => timeout(patience, step).await.unwrap_or(Err(late)),
    }
}
