//! The listener of `[telemetry]`: serves metrics to scrapers, and probes to a supervisor of this process.
//!
//! The listener has its own socket and is not a path beside `/mcp`, because scrapers and probes have no tokens, and MCP
//! clients have no use for it. It has no authentication, so its responses contain nothing that came with a call.
//! Connections are cheap: one request each, in bounded time and number. At the maximum, the oldest connection is
//! closed: an honest client takes milliseconds, so the oldest is one that stalls.
//!
//! A request for metrics must have an allowed `Host`, so that no web page can read the metrics by DNS rebinding. Unlike
//! for MCP, `Origin` and `Sec-Fetch-Site` are not checked: a GET changes nothing here, a page of another origin cannot
//! read the response, and the web pages of Prometheus link here. Probes are not checked at all: some send no `Host`,
//! and the response is a single word.
//!
//! This module knows no plugin: the caller provides the text of the metrics.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::http::OriginCheck;
use crate::config::ServerConfig;

/// Maximum number of open connections.
const MAX_CONNECTIONS: usize = 16;

/// How long a client may take to send its header.
const HEADER_TIME: Duration = Duration::from_secs(5);

/// How long a connection may exist.
const CONNECTION_TIME: Duration = Duration::from_secs(10);

/// Maximum length of a request's header, in bytes.
const BUFFER: usize = 16 << 10;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 64;

/// The pause after running out of file descriptors: accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const PLAIN: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The content of the pages.
pub trait TelemetryPages: Send + Sync + 'static {
    /// Returns the metrics in the text format of Prometheus. May take milliseconds.
    fn metrics(&self) -> String;

    /// Whether this server is ready for clients.
    ///
    /// # Errors
    /// When the server is not ready, with the reason.
    fn ready(&self) -> Result<(), &'static str>;
}

/// A bound socket.
#[derive(Debug)]
pub struct TelemetryListener {
    socket: TcpListener,
    /// The address, with the port that the system chose for port 0.
    pub address: SocketAddr,
    origin_check: OriginCheck,
}

impl TelemetryListener {
    /// Binds a socket; must be called within the async runtime. `settings` has the allowed hosts.
    ///
    /// # Errors
    /// When the address is in use or not permitted.
    pub fn bind(address: SocketAddr, settings: &ServerConfig) -> std::io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Lets a restarted server use its address at once.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        Ok(Self { address: socket.local_addr()?, socket, origin_check: OriginCheck::new(settings) })
    }

    /// Serves the pages until `stop` is cancelled, which ends all connections.
    pub async fn serve(self, pages: impl TelemetryPages, stop: CancellationToken) {
        let Self { socket, origin_check, .. } = self;
        let (pages, scrapes) = (Arc::new(pages), Arc::new(Semaphore::new(1)));
        let routes = Arc::new(Routes { pages, scrapes, origin_check });
        let (mut connections, mut by_age) = (JoinSet::new(), VecDeque::<AbortHandle>::new());
        while let Some(accepted) = stop.run_until_cancelled(socket.accept()).await {
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            by_age.retain(|connection| !connection.is_finished());
            if by_age.len() >= MAX_CONNECTIONS
                && let Some(oldest) = by_age.pop_front()
            {
                oldest.abort();
            }
            by_age.push_back(connections.spawn(connection(stream, Arc::clone(&routes))));
        }
    }
}

/// Serves the single request of a connection.
async fn connection<P: TelemetryPages>(stream: TcpStream, routes: Arc<Routes<P>>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(BUFFER).keep_alive(false);
    let service = service_fn(move |request: Request<Incoming>| {
        let routes = Arc::clone(&routes);
        async move {
            let response = routes.respond(request.method(), request.uri().path(), request.headers()).await;
            Ok::<_, Infallible>(response)
        }
    });
    let served = http.serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(CONNECTION_TIME, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("a connection for metrics failed: {error}"),
        Err(_) => tracing::debug!("a client of metrics did not read its response"),
    }
}

struct Routes<P> {
    pages: Arc<P>,
    /// Permits one scrape at a time, so that any number of scrapers occupies only one thread.
    scrapes: Arc<Semaphore>,
    origin_check: OriginCheck,
}

impl<P: TelemetryPages> Routes<P> {
    async fn respond(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<Full<Bytes>> {
        if !matches!(path, "/metrics" | "/health" | "/ready") {
            return text(StatusCode::NOT_FOUND, "there are /metrics, /health and /ready\n");
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/metrics" => match self.origin_check.check_host(headers) {
                Ok(_) => self.metrics().await,
                Err((status, why)) => text(status, why),
            },
            "/ready" => match self.pages.ready() {
                Ok(()) => text(StatusCode::OK, "ready\n"),
                Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            },
            _ => text(StatusCode::OK, "ok\n"),
        }
    }

    async fn metrics(&self) -> Response<Full<Bytes>> {
        let failed = || text(StatusCode::SERVICE_UNAVAILABLE, "the metrics cannot be read\n");
        let Ok(permit) = Arc::clone(&self.scrapes).acquire_owned().await else { return failed() };
        let pages = Arc::clone(&self.pages);
        let making = tokio::task::spawn_blocking(move || {
            let text = pages.metrics();
            drop(permit);
            text
        });
        let Ok(metrics) = making.await else { return failed() };
        let mut response = text(StatusCode::OK, metrics);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROMETHEUS));
        response
    }
}

/// A response that caches do not store, and that pages of other origins cannot embed.
fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PLAIN));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    struct Pages(Arc<AtomicBool>);

    impl TelemetryPages for Pages {
        fn metrics(&self) -> String {
            "# TYPE x gauge\nx 1\n".repeat(500_000)
        }

        fn ready(&self) -> Result<(), &'static str> {
            if self.0.load(Ordering::Relaxed) { Ok(()) } else { Err("not yet") }
        }
    }

    fn listener(allowed_hosts: &[&str]) -> TelemetryListener {
        let allowed_hosts = allowed_hosts.iter().map(|host| (*host).to_owned()).collect();
        let settings = ServerConfig { allowed_hosts, ..ServerConfig::default() };
        TelemetryListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &settings).unwrap()
    }

    async fn response(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut read = Vec::new();
        // A connection with an unread rest of a long header is reset.
        let _ = stream.write_all(request.as_bytes()).await;
        let _ = stream.read_to_end(&mut read).await;
        String::from_utf8(read).unwrap()
    }

    fn request(method: &str, path: &str) -> String {
        format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn three_pages_are_served_beside_clients_that_stall() {
        let listener = listener(&[]);
        let (address, is_ready, stop) =
            (listener.address, Arc::<AtomicBool>::default(), CancellationToken::new());
        let serving = tokio::spawn(listener.serve(Pages(Arc::clone(&is_ready)), stop.clone()));
        let get = async |path: &str| response(address, &request("GET", path)).await;
        let mut stalled = Vec::new();
        for number in 0..3 * MAX_CONNECTIONS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            // Some send nothing, and some do not read.
            if number % 2 == 0 {
                stream.write_all(request("GET", "/metrics").as_bytes()).await.unwrap();
            }
            stalled.push(stream);
        }
        assert!(get("/health").await.starts_with("HTTP/1.1 200 OK\r\n"));
        let waiting = get("/ready").await;
        assert!(waiting.starts_with("HTTP/1.1 503 ") && waiting.ends_with("\r\n\r\nnot yet\n"), "{waiting}");
        is_ready.store(true, Ordering::Relaxed);
        assert!(get("/ready").await.ends_with("\r\n\r\nready\n"));
        let metrics = get("/metrics").await;
        assert!(metrics.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
        assert!(metrics.ends_with("x 1\n") && !metrics.to_ascii_lowercase().contains("access-control"));
        let head = response(address, &request("HEAD", "/ready")).await;
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(get("/metrics/x").await.starts_with("HTTP/1.1 404 "));
        let posted = response(address, &request("POST", "/metrics")).await;
        assert!(posted.starts_with("HTTP/1.1 405 ") && posted.contains("allow: GET, HEAD\r\n"), "{posted}");
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(2 * BUFFER));
        assert!(!response(address, &long).await.starts_with("HTTP/1.1 200"));
        stop.cancel();
        serving.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn a_page_that_rebinds_its_name_reads_no_metrics_and_a_link_leads_to_them() {
        let listener = listener(&["plugport"]);
        let (address, stop) = (listener.address, CancellationToken::new());
        let serving = tokio::spawn(listener.serve(Pages(Arc::default()), stop.clone()));
        for (path, headers, status) in [
            ("/metrics", "Host: localhost:9464", 200),
            ("/metrics", "Host: 10.0.0.5:9464", 200),
            ("/metrics", "Host: plugport:9464", 200),
            ("/metrics", "Host: evil.example:9464", 403),
            ("/metrics", "Host: localhost\r\nHost: evil.example", 403),
            ("/metrics", "Host: evil.example\r\nSec-Fetch-Site: same-origin", 403),
            ("/metrics", "Host: localhost\r\nSec-Fetch-Site: cross-site", 200),
            ("/metrics", "Accept: */*", 403),
            ("/health", "Host: evil.example:9464", 200),
            ("/health", "Accept: */*", 200),
        ] {
            let said = response(address, &format!("HEAD {path} HTTP/1.1\r\n{headers}\r\n\r\n")).await;
            assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {headers}: {said}");
        }
        stop.cancel();
        serving.await.unwrap();
    }
}
