//! Each capability is denied without its grant: the guest gets a typed error, the client gets no message, and the audit
//! names the line that would grant it.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

use crate::mcp::session_client_requests::{capabilities, form, prompt};

/// The `missing_grant` of this plugin's denials in the audit, once it has so many.
pub(crate) async fn allowed_by(server: &Server, plugin: &str, count: usize) -> Vec<String> {
    let lines = server.wait_for_audit("denied", count).await;
    assert!(lines.iter().all(|line| line["plugin"] == plugin && line["requested"].is_string()), "{lines:?}");
    lines.iter().map(|line| line["missing_grant"].as_str().unwrap().to_owned()).collect()
}

async fn request_is_denied(method: &str, params: Value, line: &str) {
    let server = Server::builder().guest("client_requests").start().await;
    let session = Client::new(server.url()).session_with("2025-11-25", capabilities()).await;
    let call = json!({ "name": "client_requests-ask", "arguments": { "method": method, "params": params } });
    let reply = session.request("tools/call", call).await;
    assert_eq!(reply.messages.len(), 1, "the client is asked nothing: {reply:?}");
    let told = reply.tool_text();
    assert!(told.contains("Denied") && !told.contains("plugport.toml") && !told.contains(line), "{told}");
    assert_eq!(allowed_by(&server, "client_requests", 1).await, [line]);
    server.wait_for_log(&format!("to allow it, write under [plugins.client_requests.grants]: {line}")).await;
}

#[tokio::test]
async fn sampling_is_denied() {
    request_is_denied("sampling/createMessage", prompt(), "sampling = true").await;
}

#[tokio::test]
async fn elicitation_is_denied() {
    request_is_denied("elicitation/create", form(), "elicitation = true").await;
}

#[tokio::test]
async fn roots_are_denied() {
    request_is_denied("roots/list", json!({}), "roots = true").await;
}

#[tokio::test]
async fn the_key_value_store_is_denied() {
    let server = Server::builder().plugin("notes").start().await;
    let reply = Client::new(server.url()).call("notes-find_notes", json!({})).await;
    reply.tool_error();
    assert_eq!(allowed_by(&server, "notes", 2).await, ["kv = true"; 2]);
    assert!(!server.state().join("plugins.redb").exists(), "nothing was made for it");
}

/// The host sees no attempt, since a plugin without a granted directory has no directory to open a path from. The
/// guest's own library fails, and the audit has no line.
#[tokio::test]
async fn directories_are_not_there() {
    let server = Server::builder().guest("file_io").start().await;
    let client = Client::new(server.url());
    for path in ["/etc/passwd", "plugport.toml", "/", "../x"] {
        for (tool, arguments) in
            [("read", json!({ "path": path })), ("write", json!({ "path": path, "text": "x" }))]
        {
            let reply = client.call(&format!("file_io-{tool}"), arguments).await;
            assert_eq!(reply.tool_error(), "No such file or directory (os error 44)", "{tool} {path}");
        }
    }
    server.wait_for_audit("call", 9).await;
    assert!(server.audit().iter().all(|line| line["event"] != "denied"), "{:?}", server.audit());
}
