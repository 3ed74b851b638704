//! Lists whose pages are so long that responses share their bytes.

use std::path::Path;

use plugport_tests::guests::{folder, guest};
use plugport_tests::http_client::{Client, STATELESS, stateless_meta};
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use serde_json::json;

/// Puts plugins with more than a hundred tools into a folder, which is more than a page.
fn fill(folder: &Path) {
    for number in 0..15 {
        std::fs::copy(guest("polite"), folder.join(format!("p{number:02}.wasm"))).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_page_is_the_same_however_it_is_sent() {
    let builder = Server::builder();
    fill(builder.folder());
    let server = builder.start().await;
    let client = Client::new(server.url());
    let first = client.request("tools/list", json!({})).await;
    assert_eq!(first.result()["tools"].as_array().unwrap().len(), 100);
    assert!(first.text.len() > 16 << 10, "{} bytes are copied", first.text.len());
    assert_eq!(first.headers["content-length"], first.text.len().to_string());
    assert_eq!(client.request("tools/list", json!({})).await.text, first.text);

    let headers =
        [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list"), ("accept", "text/event-stream")];
    let list = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} });
    let mut streamed = list("streamed");
    streamed["params"]["_meta"] = stateless_meta();
    assert_eq!(client.post(&headers, streamed.to_string()).await.result(), first.result());

    let session = client.session("2025-03-26").await;
    let alone = session.request("tools/list", json!({})).await;
    assert_eq!(alone.result()["tools"].as_array().unwrap().len(), 100);
    assert!(alone.result().get("ttlMs").is_none(), "a page of another revision");
    let batch = session.post(json!([list("one"), list("two")])).await;
    let responses = batch.response().as_array().unwrap();
    assert_eq!(responses.len(), 2);
    responses.iter().for_each(|response| assert_eq!(&response["result"], alone.result()));

    let plugins = folder(&[]);
    fill(plugins.path());
    let mut pipe = StdioClient::start(plugins.path());
    pipe.request(json!(1), "tools/list", json!({ "_meta": stateless_meta() })).await;
    assert_eq!(&pipe.next().await["result"], first.result());
}
