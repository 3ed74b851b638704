//! Clients that subscribe without end, to URIs that their roles may hide. The server looks such URIs up for the audit
//! after the response, so these look-ups must be bounded, and must not keep others from the permits for large messages.

use std::time::{Duration, Instant};

use plugport_tests::containment::{AttackedServer, Latencies, Neighbour};
use plugport_tests::http_client::{STATELESS, stateless_meta};
use plugport_tests::raw_post::{post_head, send};
use plugport_tests::server::Server;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

/// The length of the attack.
const AWHILE: Duration = Duration::from_secs(6);

/// Attackers of each kind.
const ATTACKERS: usize = 8;

/// The maximum growth: a queue without a bound takes several times as much.
const MAX_MEMORY: u64 = 64 << 20;

/// The maximum time of a neighbour's large call: an unoptimised server takes long to read it.
const SERVED: Duration = Duration::from_secs(2);

/// The library lists 63 templates, of which nobody sees any.
const CONFIG: &str = "[roles.tools]\nwho = [\"anyone\"]\nallow = [\"tool:*\"]\n\
                      [plugins.library.grants]\nenv = [{ TEMPLATES = \"62\" }]\n";

/// A POST that subscribes to so many URIs, which look like those of templates.
fn subscription(authority: &str, uris: usize) -> String {
    let uris: Vec<String> = (0..uris).map(|number| format!("lib:{number}")).collect();
    let params = json!({ "notifications": { "resourceSubscriptions": uris }, "_meta": stateless_meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    let (body, method) = (body.to_string(), ("mcp-method", "subscriptions/listen"));
    post_head(authority, &[("mcp-protocol-version", STATELESS), method], body.len()) + &body
}

/// Sends subscriptions that are rejected, on one connection.
async fn send_rejected(authority: String, end: Instant) {
    let request = subscription(&authority, 1_001);
    let (mut reader, mut writer) = send(&authority, "", b"").await.into_split();
    let reading = tokio::spawn(async move {
        let mut piece = [0; 4 << 10];
        while reader.read(&mut piece).await.is_ok_and(|length| length > 0) {}
    });
    while Instant::now() < end && writer.write_all(request.as_bytes()).await.is_ok() {}
    reading.abort();
}

/// Begins subscriptions that are accepted, and closes their connections.
async fn begin_accepted(authority: String, end: Instant) {
    let request = subscription(&authority, 1_000);
    while Instant::now() < end {
        let mut stream = send(&authority, &request, b"").await;
        let mut piece = [0; 512];
        let _ = stream.read(&mut piece).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: a minute and a half, and it occupies every processor"]
async fn soak_subscriptions_without_end_cost_little_and_keep_nobody_waiting() {
    let builder = Server::builder().guest("library").config(CONFIG);
    let attacked = AttackedServer::begin("subscriptions", builder).await;
    let end = Instant::now() + AWHILE;
    let mut attackers = JoinSet::new();
    for _ in 0..ATTACKERS {
        attackers.spawn(send_rejected(attacked.authority(), end));
        attackers.spawn(begin_accepted(attacked.authority(), end));
    }
    let neighbour = Neighbour::from(attacked.server().url(), [127, 0, 0, 3]);
    // The server takes each comma for a token, so this is a large message.
    let large = json!({ "message": ",".repeat(100 << 10) });
    let mut waits = Vec::new();
    while Instant::now() < end {
        waits.push(neighbour.call("polite-echo", &large).await.0);
    }
    attackers.join_all().await;
    waits.push(neighbour.call("polite-echo", &large).await.0);
    let waits = Latencies::of(waits);
    assert!(waits.percentile(100) < SERVED, "a large call waited: {waits:?}");
    attacked.end(MAX_MEMORY).await;
}
