//! The memory that the host holds behind a guest's handles is bounded, as the size of the process shows.

use plugport_tests::containment::ProcessStats;
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

/// A guest has at most 64 MiB of its own memory, 9 MiB behind its handles, and 8 MiB in transfer.
const MAX_GROWTH: u64 = 128 << 20;

#[tokio::test]
async fn memory_behind_handles_does_not_grow_the_server() {
    let server = Server::builder().guest("hostile_handle_memory");
    let config = "[limits]\nquarantine_failures = 1000\ncpu_ms = 20_000\n[plugins.hostile_handle_memory.grants]\nkv = true\n";
    let server = server.config(config).start().await;
    let client = Client::new(server.url());
    client.call("hostile_handle_memory-modest", json!({})).await;
    let start = ProcessStats::of(&server).peak;
    for (tool, arguments, says) in [
        ("keys", json!({}), "0 kept"),
        ("fields", json!({ "copies": false }), "(limit `transfer_mib`)"),
        ("fields", json!({ "copies": true }), "(limit `transfer_mib`)"),
        ("requests", json!({}), "(limit `transfer_mib`)"),
        ("bodies", json!({}), "(limit `transfer_mib`)"),
        ("values", json!({}), "HTTP header fields of more than 16 KiB"),
        ("crowd", json!({}), "holds more than 1024 handles"),
        ("modest", json!({}), "3000 in turn"),
    ] {
        let reply = client.call(&format!("hostile_handle_memory-{tool}"), arguments).await;
        assert!(reply.tool_text().contains(says), "{tool}: {reply:?}");
        let peak = ProcessStats::of(&server).peak;
        assert!(peak < start + MAX_GROWTH, "{tool}: the server grew from {start} to {peak} bytes");
    }
}
