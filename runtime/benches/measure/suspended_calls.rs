//! Measures 10,000 suspended calls on one server: the memory of each, the latency of an ordinary call meanwhile, and
//! that all of them resume.
//!
//! `cargo measure suspended_calls` builds the guest and runs this. Requests go to the routes without a socket.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use plugport::catalog::{Catalog, PluginEntry, Snapshot};
use plugport::config::{Config, ServerConfig};
use plugport::mcp::Server;
use plugport::observe::Audit;
use plugport::plugin::{ComponentFile, Loader};
use plugport::sandbox::{Compiler, KvDatabase};
use plugport::transport::http::router;
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::support::in_process::runtime;
use crate::support::memory::{mapped, resident};

const SUSPENDED: usize = 10_000;
const ORDINARY: usize = 2_000;
const GUEST: &str = "client_requests";
const VERSION: &str = "2026-07-28";

pub fn run() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests/client_requests.wasm");
    let file = PathBuf::from(file);
    assert!(
        file.is_file(),
        "{} is missing; run `cargo measure suspended_calls`, which builds it",
        file.display()
    );
    runtime().block_on(measure(file));
}

async fn measure(file: PathBuf) {
    let mut client = Client(routes(file).await);
    for _ in 0..ORDINARY {
        client.ordinary().await;
    }
    let idle = client.latencies().await;
    let (before, mapped_before) = (resident(), mapped());
    let begun = Instant::now();
    let mut states = Vec::with_capacity(SUSPENDED);
    for _ in 0..SUSPENDED {
        states.push(client.suspend().await);
    }
    let suspending = begun.elapsed();
    let proportional = each(resident() - before);
    let shared = each(mapped() - mapped_before);
    let meanwhile = client.latencies().await;
    let begun = Instant::now();
    for (at, state) in states.into_iter().enumerate() {
        client.resume(at, &state).await;
    }
    let resuming = begun.elapsed();
    println!(
        "{SUSPENDED} suspended calls: {proportional:.1} KiB each (aim: at most 64); \
         {shared:.1} when shared pages count for each"
    );
    println!("an ordinary call, idle:      p50 {:>6.1} µs, p99 {:>6.1} µs", idle.0, idle.1);
    println!("an ordinary call, meanwhile: p50 {:>6.1} µs, p99 {:>6.1} µs", meanwhile.0, meanwhile.1);
    println!("  -> {:.2} times idle at the median (aim: under 2)", meanwhile.0 / idle.0);
    println!("suspended at {:.0} per second", SUSPENDED as f64 / suspending.as_secs_f64());
    println!(
        "all {SUSPENDED} resumed and answered, at {:.0} per second",
        SUSPENDED as f64 / resuming.as_secs_f64()
    );
    println!("memory afterwards: {:+.1} MiB", (resident() - before) / f64::from(1 << 20));
}

async fn routes(file: PathBuf) -> Router {
    let mut plugin = Config::new(file.parent().unwrap().to_owned()).plugin(GUEST);
    plugin.limits.set("suspended_calls", SUSPENDED as u64).unwrap();
    plugin.grants.roots.list = true;
    plugin.limits.set("tool_calls_per_second", 1_000_000_000).unwrap();
    let settings = ServerConfig {
        suspended_calls: SUSPENDED,
        caller_calls_per_second: 1_000_000_000,
        ..ServerConfig::default()
    };
    let store = KvDatabase::new("unused".into());
    let loader = Loader::new(&settings, store, Audit::disabled(), Compiler::in_process()).unwrap();
    let artifact = ComponentFile::read(&file, plugin.limits.wasm_mib).unwrap();
    let entry = PluginEntry::validate(loader.load(GUEST, artifact, plugin).await.unwrap());
    router(Arc::new(Server::new(Arc::new(Catalog::new(Snapshot::new(vec![entry]))), settings)))
}

struct Client(Router);

impl Client {
    async fn call(&mut self, tool: &str, more: Value) -> Value {
        let mut params = json!({ "name": tool, "arguments": { "key": "r", "method": "roots/list" }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": { "roots": {} } } });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", VERSION)
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .body(Body::from(body))
            .unwrap();
        let response = self.0.call(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    async fn ordinary(&mut self) {
        let response = self.call("client_requests-client", json!({})).await;
        assert_eq!(response["result"]["resultType"], "complete", "{response}");
    }

    async fn suspend(&mut self) -> String {
        let response = self.call("client_requests-ask", json!({})).await;
        assert_eq!(response["result"]["resultType"], "input_required", "{response}");
        response["result"]["requestState"].as_str().unwrap().to_owned()
    }

    async fn resume(&mut self, at: usize, state: &str) {
        let responses = json!({ "r": { "roots": [{ "uri": format!("file:///{at}") }] } });
        let response = self
            .call("client_requests-ask", json!({ "requestState": state, "inputResponses": responses }))
            .await;
        assert!(response.to_string().contains(&format!("file:///{at}")), "{response}");
    }

    /// Median and 99th percentile in µs.
    async fn latencies(&mut self) -> (f64, f64) {
        let mut latencies = Vec::with_capacity(ORDINARY);
        for _ in 0..ORDINARY {
            let begun = Instant::now();
            self.ordinary().await;
            latencies.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        latencies.sort_by(f64::total_cmp);
        (latencies[ORDINARY / 2], latencies[ORDINARY * 99 / 100])
    }
}

/// KiB of one suspended call.
fn each(bytes: f64) -> f64 {
    bytes / 1024.0 / SUSPENDED as f64
}
