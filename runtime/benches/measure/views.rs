//! Measures what the views of many callers cost: 200 plugins, 1,000 principals, five roles.
//!
//! It prints how long the view of a role set takes, how long the pages of `tools/list` take, the first time and later,
//! and how much memory the views and their pages take. What has an aim says whether that holds. A page has 100 tools,
//! as in a server without a configuration, and every page is read.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::support::in_process::runtime;
use crate::support::{copies, guest_file, quantile, verdict};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use data_encoding::HEXLOWER;
use http_body_util::BodyExt as _;
use plugport::access::policy::Policy;
use plugport::access::{AuthenticatedCaller, Authenticator, Credentials};
use plugport::call_env::Caller;
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::{Config, ServerConfig};
use plugport::mcp::Server;
use plugport::observe::Audit;
use plugport::transport::http::router;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tower_service::Service as _;

const PLUGINS: usize = 200;
const PRINCIPALS: usize = 1_000;
const ROLES: usize = 5;
const VERSION: &str = "2026-07-28";

/// How many ms a page may take, and the first page of a role together with its view.
const PAGE_AIM: f64 = 1.0;

/// How many KiB all views may take.
const MEMORY_AIM: f64 = 2048.0;

pub fn run() {
    let guest = guest_file("views");
    let folder = std::env::temp_dir().join(format!("plugport-bench-views-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("plugport.toml");
    std::fs::write(&file, configuration()).unwrap();
    let config = Config::read(&file, folder.clone()).unwrap();
    runtime().block_on(measure(&guest, &folder, &config));
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn measure(guest: &Path, folder: &Path, config: &Config) {
    let snapshot = Snapshot::new(copies(guest, folder, config, PLUGINS).await);
    let tools = snapshot.tools().items().len();
    let catalog = Arc::new(Catalog::new(snapshot));
    catalog.set_policy(Arc::new(Policy::new(&config.roles)));
    let authenticator = Arc::new(Authenticator::new(config.auth.as_ref(), Audit::disabled()));
    let settings = ServerConfig { caller_calls_per_second: 1_000_000, ..ServerConfig::default() };
    let server = Server::new(Arc::clone(&catalog), settings).with_authenticator(Arc::clone(&authenticator));
    let mut router = router(Arc::new(server));
    // Allocates what every request needs once.
    page(&mut router, "unknown", None).await;
    let (before, mut views) = (resident_bytes(), Vec::new());
    for role in 0..ROLES {
        let caller = caller(&authenticator, &token(role)).await;
        let begun = Instant::now();
        drop(catalog.current_for(&caller.subject()));
        views.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let memory_of_views = kib_since(before);
    let (before, mut first_lists, mut first_pages) = (resident_bytes(), Vec::new(), Vec::new());
    for (role, view) in views.iter().enumerate() {
        let pages = pages(&mut router, &token(role)).await;
        first_lists.push(view + pages[0]);
        first_pages.extend(pages);
    }
    let memory_of_pages = kib_since(before);
    let mut later = Vec::new();
    for principal in 0..PRINCIPALS {
        later.extend(pages(&mut router, &token(principal)).await);
    }
    println!("{PLUGINS} plugins with {tools} tools, {PRINCIPALS} principals of {ROLES} roles");
    println!("{:<52}{:>9}{:>9}{:>9}{:>9}", "tools/list, ms (the aim is for p99)", "p50", "p99", "max", "aim");
    print("the view of a role, which its first request makes", views, None);
    print("the first page of a role and its view", first_lists, Some(PAGE_AIM));
    print("a page of a role, the first time", first_pages, None);
    print("a page, later", later, Some(PAGE_AIM));
    let of_views = verdict(memory_of_views, Some(MEMORY_AIM));
    println!("{:<52}{memory_of_views:>27.0}{of_views}", "memory of all views together, KiB");
    println!("{:<52}{memory_of_pages:>27.0}", "memory of all their pages, KiB");
}

fn print(name: &str, times: Vec<f64>, aim: Option<f64>) {
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|part| quantile(times.clone(), part));
    println!("{name:<52}{p50:>9.3}{p99:>9.3}{max:>9.3}{}", verdict(p99, aim));
}

/// The caller with this token.
async fn caller(authenticator: &Authenticator, token: &str) -> Caller {
    let credentials = Credentials { token: Some(token), ..Credentials::default() };
    let principal = authenticator.authenticate(credentials, None).await.unwrap().unwrap();
    Caller::Principal(AuthenticatedCaller { principal, address: None })
}

/// A thousand tokens, each in one of five groups, and a role for each group that hides some of the plugins.
fn configuration() -> String {
    let mut text = String::from("[auth]\n");
    for principal in 0..PRINCIPALS {
        let digest = HEXLOWER.encode(&Sha256::digest(token(principal).as_bytes()));
        let group = principal % ROLES;
        writeln!(
            text,
            "[[auth.tokens]]\nname = \"p{principal}\"\nsha256 = \"{digest}\"\ngroups = [\"g{group}\"]"
        )
        .unwrap();
    }
    for role in 0..ROLES {
        writeln!(
            text,
            "[roles.r{role}]\nwho = [\"group:g{role}\"]\nallow = [\"*\"]\ndeny = [\"p*{role}-*\"]"
        )
        .unwrap();
    }
    text
}

fn token(principal: usize) -> String {
    format!("plugport_{principal:0>43}")
}

/// Reads the list of tools page by page. Returns how long each page took, ms.
async fn pages(router: &mut Router, token: &str) -> Vec<f64> {
    let (mut times, mut cursor) = (Vec::new(), None);
    loop {
        let begun = Instant::now();
        let text = page(router, token, cursor.as_deref()).await;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let response: Value = serde_json::from_slice(&text).unwrap();
        assert!(!response["result"]["tools"].as_array().unwrap().is_empty());
        cursor = response["result"]["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return times;
        }
    }
}

/// Sends `tools/list` for the page of a cursor; returns the response.
async fn page(router: &mut Router, token: &str, cursor: Option<&str>) -> Bytes {
    let cursor = cursor.map(|cursor| format!(r#""cursor":"{cursor}","#)).unwrap_or_default();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{cursor}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", VERSION)
        .header("mcp-method", "tools/list")
        .header("authorization", format!("Bearer {token}"));
    let response = router.call(request.body(Body::from(body)).unwrap()).await.unwrap();
    response.into_body().collect().await.unwrap().to_bytes()
}

/// How much the resident memory has grown, KiB.
fn kib_since(before: usize) -> f64 {
    resident_bytes().saturating_sub(before) as f64 / 1024.0
}

/// The resident memory of this process, bytes.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
