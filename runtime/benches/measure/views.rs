//! Measures what the views of many callers cost: 200 plugins, 1,000 principals, five roles.
//!
//! It prints how long `tools/list` takes, the first one of each role set and the later ones, and how much memory the
//! views take. A page has 100 tools, as in a server without a configuration.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::support::in_process::runtime;
use crate::support::{copies, guest_file};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use data_encoding::HEXLOWER;
use http_body_util::BodyExt as _;
use plugport::access::Authenticator;
use plugport::access::policy::Policy;
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::{Config, ServerConfig};
use plugport::mcp::Server;
use plugport::observe::Audit;
use plugport::transport::http::router;
use sha2::{Digest as _, Sha256};
use tower_service::Service as _;

const PLUGINS: usize = 200;
const PRINCIPALS: usize = 1_000;
const ROLES: usize = 5;
const VERSION: &str = "2026-07-28";

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
    let server = Server::new(Arc::clone(&catalog), settings).with_authenticator(authenticator);
    let mut router = router(Arc::new(server));
    // Allocates what every request needs once.
    list(&mut router, "unknown").await;
    let before = resident_bytes();
    let mut first = Vec::new();
    let mut later = Vec::new();
    for round in 0..3 {
        for principal in 0..PRINCIPALS {
            let begun = Instant::now();
            let size = list(&mut router, &token(principal)).await;
            let millis = begun.elapsed().as_secs_f64() * 1e3;
            assert!(size > 1_000, "the list is empty");
            if round == 0 && principal < ROLES { first.push(millis) } else { later.push(millis) }
        }
    }
    let grown = resident_bytes().saturating_sub(before);
    let [first, later] = [first, later].map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1])
    });
    println!("{PLUGINS} plugins with {tools} tools, {PRINCIPALS} principals of {ROLES} roles");
    println!("{:<48}{:>10}{:>10}{:>10}", "tools/list, ms", "p50", "p99", "max");
    for (name, (p50, p99, max)) in [("the first of a role, which makes its view", first), ("later", later)] {
        println!("{name:<48}{p50:>10.3}{p99:>10.3}{max:>10.3}");
    }
    println!("memory of all views together, KiB{:>25}", grown / 1024);
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

/// Sends `tools/list`; returns the size of the response.
async fn list(router: &mut Router, token: &str) -> usize {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", VERSION)
        .header("mcp-method", "tools/list")
        .header("authorization", format!("Bearer {token}"));
    let response = router.call(request.body(Body::from(body)).unwrap()).await.unwrap();
    response.into_body().collect().await.unwrap().to_bytes().len()
}

/// The resident memory of this process, bytes.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
