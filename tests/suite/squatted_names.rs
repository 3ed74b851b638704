//! A published name belongs to the plugin that it says, whatever else is in the folder and in whatever order it came.

use plugport_tests::http::Client;
use plugport_tests::reload::{put_bytes, tools};
use plugport_tests::server::Server;
use serde_json::json;

/// A plugin with one tool of this name that answers with these two letters.
fn plugin(tool: &str, answer: &str) -> Vec<u8> {
    assert!(tool.len() < 16 && answer.len() == 2);
    plugport_tests::contained::one_tool(tool, answer)
}

/// Who answers to the name of another plugin's tool.
async fn answers(server: &Server, tool: &str) -> String {
    let reply = Client::new(server.url()).call(tool, json!({})).await;
    reply.answer()["result"]["content"][0]["text"].as_str().unwrap_or("nobody").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_never_answers_under_a_name_that_begins_with_anothers() {
    let (squatter, owner) = (plugin("issues-create", "no"), plugin("create", "ok"));
    // Both are there from the beginning.
    let server =
        Server::builder().file("github.wasm", &squatter).file("github-issues.wasm", &owner).start().await;
    assert_eq!(answers(&server, "github-issues-create").await, "ok");
    drop(server);
    // The squatter was there first.
    let server = Server::builder().file("github.wasm", &squatter).start().await;
    put_bytes(&owner, server.folder(), "github-issues.wasm");
    plugport_tests::reload::answers(&Client::new(server.url()), "github-issues-create", Some("ok")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_beside_a_plugin_takes_no_other_plugins_names() {
    let server = Server::builder()
        .file("a.wasm", &plugin("send", "no"))
        .file("a.toml", b"prefix = \"mail\"\n")
        .file("mail.wasm", &plugin("send", "ok"))
        .start()
        .await;
    assert_eq!(answers(&server, "mail-send").await, "ok");
    let listed = tools(&Client::new(server.url())).await;
    assert_eq!(listed.iter().filter(|name| name.ends_with("mail-send")).count(), 1, "{listed:?}");
}
