//! The other example plugins, called through the server.

use plugport_tests::http::Client;
use plugport_tests::server::Server;
use serde_json::json;

#[tokio::test]
async fn hello_clock_and_calc_answer() {
    let server = Server::builder().plugin("hello").plugin("clock").plugin("calc").start().await;
    let client = Client::new(server.url());
    assert!(client.call("hello-hello", json!({ "name": "Ada" })).await.tool_text().contains("Ada"));

    let now = client.call("clock-now", json!({ "zone": "Asia/Tokyo" })).await;
    assert!(now.result()["structuredContent"].to_string().contains("Asia/Tokyo"), "{now:?}");
    let wrong = client.call("clock-now", json!({ "zone": "Tokyo" })).await;
    assert!(wrong.tool_error().contains("Asia/Tokyo"), "{wrong:?}");

    let sum = client.call("calc-evaluate", json!({ "expression": "0.1 + 0.2" })).await;
    assert!(sum.tool_text().contains("0.3") && !sum.tool_text().contains("0.30000"), "{sum:?}");
    let length = client.call("calc-convert", json!({ "value": "5 km", "to": "m" })).await;
    assert!(length.tool_text().contains("5000"), "{length:?}");
}
