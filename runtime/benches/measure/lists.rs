//! Measures what a list costs besides writing its bytes: `tools/list` with 100 and with 5,000 tools on its page,
//! against a bare handler that writes the same bytes.
//!
//! `cargo measure lists` builds the guest and runs this. Servers run on one thread of their own, whose CPU clock gives
//! the cost per request. Both handlers are measured in turns, and the ratio is that of their fastest rounds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, header};
use axum::response::Response;
use axum::{Router, routing};
use http_body_util::BodyExt as _;
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::{Config, ServerConfig};
use plugport::mcp::Server;
use plugport::transport::http::{ServerRoutes, router};
use tower_service::Service as _;

use crate::support::http::{Load, list_head_and_body, measure_http, measure_routes};
use crate::support::in_process::{BenchFn, measure_in_process, runtime};
use crate::support::{Row, copies, guest_file};

/// The tools of the guest.
const TOOLS: usize = 7;
const TIME: Duration = Duration::from_secs(3);
const ROUNDS: usize = 3;
const CONNECTIONS: usize = 16;
const AIM: f64 = 1.3;

pub fn run() {
    let guest = guest_file("lists");
    let folder = std::env::temp_dir().join(format!("plugport-bench-lists-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    println!("{} s per row, one thread for the server, {CONNECTIONS} connections for HTTP", TIME.as_secs());
    for tools in [100, 5_000] {
        measure(&guest, &folder, tools);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn measure(guest: &Path, folder: &Path, tools: usize) {
    let sandboxed = || list_server(guest.to_owned(), folder.to_owned(), tools);
    let page = runtime().block_on(async {
        let response = request(&mut router(sandboxed()().await)).await;
        response.into_body().collect().await.unwrap().to_bytes()
    });
    let text = std::str::from_utf8(&page).unwrap();
    assert_eq!(text.matches("\"inputSchema\":").count(), tools, "the page is not full");
    println!("\n{tools} tools, {} KiB\n{}", page.len() >> 10, Row::HEAD);
    let (length, bare) = (page.len(), || bare_router(page.clone()));
    let row = measure_in_process("without a socket: tools/list", TIME, async || InProcessList {
        router: router(sandboxed()().await),
        length,
    });
    println!("{row}");
    let row = measure_in_process("without a socket: bare axum handler", TIME, async || InProcessList {
        router: bare()().await,
        length,
    });
    println!("{row}");
    let load = Load::lists(CONNECTIONS, TIME);
    let (mut ours, mut floor) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let server = sandboxed();
        let row = measure_routes("HTTP tools/list", &load, async move || ServerRoutes::new(server().await));
        println!("{row}");
        ours = ours.min(row.cpu_us);
        let row = measure_http("HTTP bare axum handler", &load, bare());
        println!("{row}");
        floor = floor.min(row.cpu_us);
    }
    println!("  -> {:.2} times the CPU of the bare handler (aim: at most {AIM})", ours / floor);
}

/// A server with so many tools on the first page. Made on its own thread.
fn list_server(
    guest: PathBuf,
    folder: PathBuf,
    tools: usize,
) -> impl AsyncFnOnce() -> Arc<Server> + Send + 'static {
    async move || {
        let config = Config::new(folder.clone());
        let plugins = copies(&guest, &folder, &config, tools.div_ceil(TOOLS)).await;
        let settings = ServerConfig { page_size: tools, ..ServerConfig::default() };
        Arc::new(Server::new(Arc::new(Catalog::new(Snapshot::new(plugins))), settings))
    }
}

/// The same response from a handler that can do nothing else.
fn bare_router(page: Bytes) -> impl AsyncFnOnce() -> Router + Send + 'static {
    async move || {
        let handler = move |_: Bytes| {
            let page = page.clone();
            async move { ([(header::CONTENT_TYPE, "application/json")], page) }
        };
        Router::new().route("/mcp", routing::post(handler))
    }
}

async fn request(router: &mut Router) -> Response {
    let (headers, body) = list_head_and_body("localhost");
    let mut request = Request::post("/mcp").body(Body::from(body)).unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    router.call(request).await.unwrap()
}

/// A router that is called without a socket.
struct InProcessList {
    router: Router,
    /// The bytes of a response.
    length: usize,
}

impl BenchFn for InProcessList {
    async fn once(&mut self) {
        let mut body = request(&mut self.router).await.into_body();
        let mut read = 0;
        // Collected, the body of several frames would be copied.
        while let Some(frame) = body.frame().await {
            read += frame.unwrap().data_ref().unwrap().len();
        }
        assert_eq!(read, self.length);
    }
}
