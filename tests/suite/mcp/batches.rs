//! JSON-RPC batches, in the revisions that have them.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};

fn batch() -> Value {
    json!([
        { "jsonrpc": "2.0", "id": "a", "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": "b", "method": "tools/call",
          "params": { "name": "polite-echo", "arguments": { "message": "hi" } } },
        { "jsonrpc": "2.0", "id": "c", "method": "no/such" },
        { "jsonrpc": "2.0", "id": null, "method": "ping" },
        { "jsonrpc": "2.0", "id": "d", "method": "initialize", "params": {} },
    ])
}

fn check(responses: &Value) {
    let responses = responses.as_array().unwrap();
    assert_eq!(responses.len(), 5, "{responses:?}");
    let of = |id: Value| responses.iter().find(|response| response["id"] == id).unwrap();
    assert_eq!(of(json!("a"))["result"], json!({}));
    assert_eq!(of(json!("b"))["result"]["content"][0]["text"], "hi");
    assert_eq!(of(json!("c"))["error"]["code"], -32601);
    assert_eq!(of(Value::Null)["error"]["code"], -32600);
    assert_eq!(of(json!("d"))["error"]["code"], -32600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_answered_as_one_over_http() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-03-26").await;
    check(session.post(batch()).await.response());
    let silent = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    assert_eq!(session.post(silent).await.status, 202);
    assert_eq!(session.post(json!([])).await.error_code(), -32600);
    let many: Vec<Value> =
        (0..101).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).collect();
    assert_eq!(session.post(many.into()).await.error_code(), -32600);
    let newer = client.session("2025-06-18").await;
    assert_eq!(newer.post(batch()).await.error_code(), -32600, "batches were removed again");
    assert_eq!(client.post(&[], batch().to_string()).await.error_code(), -32600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_answered_as_one_over_stdio() {
    let folder = plugport_tests::guests::folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-03-26").await;
    pipe.send(&batch().to_string()).await;
    check(&pipe.next().await);
}
