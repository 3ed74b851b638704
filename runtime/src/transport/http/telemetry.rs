//! The listener for Prometheus and for probes: `/metrics`, `/health` and `/ready`.
//!
//! It is a listener of its own, so that no token, role or certificate of MCP stands between a server and what watches
//! it; its address decides who can read it. Metrics name plugins and tools, so they are checked like every request of
//! MCP for pages that have rebound a name. The probes say nothing that a page could use, and have no such check: a
//! probe may name the host as it likes.
//!
//! Everything is bounded: a connection serves one request within a few seconds, a newcomer displaces the connection
//! that has waited longest, and however many scrape, the metrics are written ten times in a second at most.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::{ConnectionLimit, ConnectionPermit};
use super::listener::{Listener, accept};
use super::origin_check::OriginCheck;
use crate::mcp::{Caller, Server};
use crate::observe::metrics::Metrics;

/// Open connections. Two scrapers and the probes of a supervisor need four.
const MAX_CONNECTIONS: usize = 32;

/// How long a request may take to arrive.
const HEADER_TIME: Duration = Duration::from_secs(5);

/// How long a connection may take in all. A scrape of a large server has some megabytes.
const CONNECTION_TIME: Duration = Duration::from_secs(30);

/// Buffer of a connection in each direction, bytes, and so the longest header.
const BUFFER: usize = 16 << 10;

/// For how long a scrape is given to others too.
const FRESH: Duration = Duration::from_millis(100);

/// Version 0.0.4 of Prometheus's text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

type Reply = Response<Full<Bytes>>;

/// What the listener serves.
struct Endpoints {
    server: Arc<Server>,
    metrics: Metrics,
    origin_check: OriginCheck,
    /// The last scrape and when it was written. Whoever writes the next one holds the lock, also if the client is gone.
    last: Arc<Mutex<Option<(Instant, Bytes)>>>,
}

/// Serves metrics and probes until `stop`, which comes after the server has drained: until then the probes say that it
/// stops.
pub async fn serve(listener: Listener, server: Arc<Server>, metrics: Metrics, stop: CancellationToken) {
    let origin_check = OriginCheck::new(server.settings());
    let endpoints = Arc::new(Endpoints { server, metrics, origin_check, last: Arc::default() });
    let (connections, tasks) = (ConnectionLimit::new(MAX_CONNECTIONS), TaskTracker::new());
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accept(&listener.socket) => accepted,
        };
        let Some((stream, peer)) = accepted else { continue };
        let Some(permit) = connections.acquire(Caller::Address(peer.0)) else { continue };
        let (serving, stop) = (connection(stream, permit, Arc::clone(&endpoints)), stop.clone());
        tasks.spawn(async move { stop.run_until_cancelled(serving).await });
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn connection(stream: TcpStream, permit: ConnectionPermit, endpoints: Arc<Endpoints>) {
    let mut http = http1::Builder::new();
    // Without connections that stay open, since a scraper comes every few seconds.
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(BUFFER).keep_alive(false);
    let service = service_fn(move |request: Request<Incoming>| {
        let (endpoints, (parts, _)) = (Arc::clone(&endpoints), request.into_parts());
        async move { Ok::<_, Infallible>(endpoints.respond(&parts).await) }
    });
    let served = http.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        served = tokio::time::timeout(CONNECTION_TIME, served) => match served {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!("the connection of a scraper or a probe failed: {error}"),
            Err(_) => tracing::debug!("closed the connection of a scraper or a probe that took too long"),
        },
        () = permit.activity.evicted.cancelled() => {
            tracing::debug!("evicted a connection of a scraper or a probe for a new one");
        }
    }
}

impl Endpoints {
    async fn respond(&self, parts: &Parts) -> Reply {
        if parts.method != Method::GET && parts.method != Method::HEAD {
            let mut reply = plain(StatusCode::METHOD_NOT_ALLOWED, "send GET or HEAD\n");
            reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return reply;
        }
        match parts.uri.path() {
            "/metrics" => self.scrape(&parts.headers).await,
            "/health" => plain(StatusCode::OK, "ok\n"),
            "/ready" => self.ready(),
            _ => plain(StatusCode::NOT_FOUND, "there are /metrics, /health and /ready\n"),
        }
    }

    fn ready(&self) -> Reply {
        if self.server.stopping().is_cancelled() {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
        }
        match self.server.catalog().is_complete() {
            true => plain(StatusCode::OK, "ready\n"),
            false => plain(StatusCode::SERVICE_UNAVAILABLE, "loading plugins\n"),
        }
    }

    async fn scrape(&self, headers: &HeaderMap) -> Reply {
        if let Err((status, why)) = self.origin_check.check(headers) {
            return plain(status, why);
        }
        let Some(text) = self.text().await else {
            return plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the metrics could not be written; please report it\n",
            );
        };
        let mut reply = plain(StatusCode::OK, text);
        reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT));
        reply
    }

    /// The text of a scrape. Writing it may take some milliseconds, so it runs on a thread for blocking work.
    async fn text(&self) -> Option<Bytes> {
        let mut last = Arc::clone(&self.last).lock_owned().await;
        if let Some((written, text)) = &*last
            && written.elapsed() < FRESH
        {
            return Some(text.clone());
        }
        let metrics = self.metrics.clone();
        let write = move || {
            let text = Bytes::from(metrics.exposition());
            *last = Some((Instant::now(), text.clone()));
            text
        };
        tokio::task::spawn_blocking(write).await.ok()
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::catalog::Catalog;
    use crate::config::ServerConfig;

    struct Running {
        address: SocketAddr,
        catalog: Arc<Catalog>,
        server: Arc<Server>,
        metrics: Metrics,
        stop: CancellationToken,
        serving: JoinHandle<()>,
    }

    fn start() -> Running {
        let catalog = Arc::new(Catalog::empty());
        let settings = ServerConfig { allowed_hosts: vec!["plugport".into()], ..ServerConfig::default() };
        let server = Arc::new(Server::new(Arc::clone(&catalog), settings));
        let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let (metrics, stop, address) = (Metrics::new(), CancellationToken::new(), listener.address);
        let serving = tokio::spawn(serve(listener, Arc::clone(&server), metrics.clone(), stop.clone()));
        Running { address, catalog, server, metrics, stop, serving }
    }

    impl Running {
        /// The whole response to a request with these first words, up to the end of its connection.
        async fn send(&self, request: &str, host: &str) -> String {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            let request = format!("{request} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            response
        }

        async fn status(&self, request: &str, host: &str) -> u16 {
            let response = self.send(request, host).await;
            response.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_default()
        }
    }

    #[tokio::test]
    async fn probes_tell_a_server_that_lives_from_one_that_is_ready() {
        let running = start();
        assert!(running.send("GET /ready", "10.0.0.9").await.ends_with("\r\n\r\nloading plugins\n"));
        assert_eq!(running.status("GET /ready", "any.example").await, 503);
        running.catalog.set_load_progress(None);
        assert_eq!(running.status("GET /ready", "any.example").await, 200);
        running.server.stop();
        assert!(running.send("GET /ready", "localhost").await.ends_with("\r\n\r\nstopping\n"));
        assert_eq!(running.status("GET /ready", "localhost").await, 503);
        assert_eq!(running.status("GET /health", "localhost").await, 200, "it still lives");
        running.stop.cancel();
        running.serving.await.unwrap();
        assert!(TcpStream::connect(running.address).await.is_err());
    }

    #[tokio::test]
    async fn a_scrape_is_text_for_hosts_that_are_allowed() {
        let running = start();
        let plugin = running.metrics.plugin("p");
        plugin.denied("http");
        let response = running.send("GET /metrics", "plugport:9464").await;
        let (head, text) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{head}");
        assert!(head.contains("connection: close"), "{head}");
        assert!(text.contains("plugport_denials_total{plugin=\"p\",grant=\"http\"} 1\n"), "{text}");
        let head_only = running.send("HEAD /metrics", "127.0.0.1:9464").await;
        assert!(head_only.starts_with("HTTP/1.1 200 ") && head_only.ends_with("\r\n\r\n"), "{head_only}");
        assert_eq!(running.status("GET /metrics", "evil.example").await, 403, "a name that may be rebound");
        for (request, status) in
            [("POST /metrics", 405), ("DELETE /health", 405), ("GET /", 404), ("GET /mcp", 404)]
        {
            assert_eq!(running.status(request, "localhost").await, status, "{request}");
        }
        running.stop.cancel();
        running.serving.await.unwrap();
    }

    #[tokio::test]
    async fn clients_that_stall_displace_each_other_and_no_probe() {
        let running = start();
        let mut first = TcpStream::connect(running.address).await.unwrap();
        // The others have waited for less time, which is counted in milliseconds.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mut stalled = Vec::new();
        for _ in 0..MAX_CONNECTIONS + 4 {
            stalled.push(TcpStream::connect(running.address).await.unwrap());
        }
        assert_eq!(running.status("GET /health", "localhost").await, 200);
        assert_eq!(first.read(&mut [0; 8]).await.unwrap_or_default(), 0, "it was displaced");
        running.stop.cancel();
        running.serving.await.unwrap();
        for mut stream in stalled {
            assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or_default(), 0, "nothing is left open");
        }
    }
}
