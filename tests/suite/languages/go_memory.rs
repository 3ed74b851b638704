//! The memory of Go, whose collector may not run while the host writes into it: its end would ask for the time there,
//! which traps.

use plugport_tests::http_client::Client;
use plugport_tests::languages::{Lang, features};
use plugport_tests::server::Server;
use serde_json::json;

use super::sdk_features::published;

const CONFIG: &str = "\
[server]
initial_load_wait_ms = 120_000
[limits]
compile_ms = 600_000
compile_mib = 4096
[plugins.features]
limits = { cpu_ms = 20_000 }
[plugins.features.grants]
kv = true
";

/// A large part of what the guest reads would be more, MiB.
const MOST: u32 = 24;

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_has_written_is_collected_within_a_call() {
    let built = tokio::task::spawn_blocking(|| features(Lang::Go)).await.unwrap();
    let Some(component) = built else { return };
    let bytes = std::fs::read(&component).unwrap();
    let server = Server::builder().file("features.wasm", &bytes).config(CONFIG).start().await;
    published(&server, "features-read-much").await;
    let reply = Client::new(server.url()).call("features-read-much", json!({})).await;
    let memory = reply.tool_text();
    let mib: u32 =
        memory.strip_suffix(" MiB").and_then(|mib| mib.parse().ok()).unwrap_or_else(|| panic!("{memory}"));
    assert!(mib <= MOST, "{memory}");
}
