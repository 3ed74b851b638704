//! Copies builds of a plugin into a served folder, and waits until they are published.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::guests::guest;
use crate::http_client::Client;
use crate::server::Server;

/// The maximum wait for a version: an unoptimised build compiles it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The time between two requests.
const PAUSE: Duration = Duration::from_millis(20);

/// Installs a guest atomically: writes it beside the file, then renames it.
pub fn install_guest(name: &str, folder: &Path, file: &str) {
    install_bytes(&std::fs::read(guest(name)).unwrap(), folder, file);
}

/// Installs any bytes in the same way.
pub fn install_bytes(bytes: &[u8], folder: &Path, file: &str) {
    let beside = folder.join(format!(".{file}.part"));
    std::fs::write(&beside, bytes).unwrap();
    std::fs::rename(beside, folder.join(file)).unwrap();
}

/// Waits until the tool has this result, or is unknown.
pub async fn wait_for_result(client: &Client, tool: &str, expected: Option<&str>) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let reply = client.call(tool, json!({})).await;
        let text = reply.response().get("result").and_then(|result| result["content"][0]["text"].as_str());
        if text == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{expected:?} was expected of {tool}: {reply:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until the server has logged this so often.
pub async fn wait_for_log_times(server: &Server, text: &str, times: usize) {
    let deadline = Instant::now() + TIMEOUT;
    while server.log().matches(text).count() < times {
        assert!(
            Instant::now() < deadline,
            "the server did not say {text:?} {times} times; it said:\n{}",
            server.log()
        );
        tokio::time::sleep(PAUSE).await;
    }
}

/// The names of the tools that are listed, in their order. All on one page.
pub async fn tool_names(client: &Client) -> Vec<String> {
    let reply = client.request("tools/list", json!({})).await;
    names_in(reply.result())
}

/// The tools that are listed, on the first page.
pub async fn listed_tools(client: &Client) -> Vec<Value> {
    client.request("tools/list", json!({})).await.result()["tools"].as_array().unwrap().clone()
}

/// The names in a listing of tools.
pub fn names_in(result: &Value) -> Vec<String> {
    assert!(result.get("nextCursor").is_none(), "the listing has several pages: {result}");
    let tools = result["tools"].as_array().unwrap_or_else(|| panic!("no tools in {result}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}
