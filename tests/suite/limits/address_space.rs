//! The server reserves addresses for all instances that it may have at once, and a process has 128 TiB of addresses.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

/// Each is the largest value that its key takes; together they reserve 85 TiB.
const LARGEST: &str =
    "[server]\nconcurrent_calls = 900\nsuspended_calls = 10_000\ntasks = 10_000\nidle_instances = 100\n";

#[tokio::test]
async fn the_largest_server_that_may_be_configured_has_an_engine() {
    let server = Server::builder().guest("polite").config(LARGEST).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
}
