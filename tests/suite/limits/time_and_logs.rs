//! Limits of time and logs that the corpus (`hostile::corpus`) does not reach, because it lowers others.

use std::time::{Duration, Instant};

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

#[tokio::test]
async fn time_is_bounded_when_fuel_is_not() {
    let limits = "[plugins.hostile_loop_in_call]\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 200 }\n\
                  [plugins.polite]\nlimits = { wall_ms = 200 }\n";
    let server = Server::builder().guest("polite").guest("hostile_loop_in_call").config(limits).start().await;
    let client = Client::new(server.url());
    let begun = Instant::now();
    let reply = client.call("hostile_loop_in_call-spin", json!({})).await;
    assert!(reply.tool_error().contains("longer than 200 ms (limit `cpu_ms`)"), "{reply:?}");
    let reply = client.call("polite-nap", json!({ "ms": 60_000 })).await;
    assert!(reply.tool_error().contains("longer than 200 ms (limit `wall_ms`)"), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn log_messages_have_one_budget_with_everything_else() {
    let server = Server::builder().guest("polite").config("[limits]\nlog_kib = 4\n").start().await;
    let client = Client::new(server.url());
    let params = json!({ "name": "polite-narrate", "arguments": { "steps": 5_000 } });
    let more = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let reply = client.request_with_meta("tools/call", params, more).await;
    let heard = reply.notifications("notifications/message").len();
    assert!((1..=64).contains(&heard), "{heard} messages from a budget of 4 KiB");
    assert!(reply.tool_text().contains("5000"), "the tool itself is not stopped");
    server.wait_for_log("log output was dropped (limit `log_kib`)").await;
}
