//! The plugin `notes`: a note that one call writes is seen by all later requests, also after a restart.

use std::collections::BTreeSet;
use std::path::Path;

use plugport_tests::build::shared_code_cache;
use plugport_tests::http_client::{Client, LEGACY, STATELESS, Session, Stream, stateless_meta};
use plugport_tests::server::Server;
use serde_json::{Value, json};

const SHOPPING: &str = "notes:///shopping-list";

async fn notebook(state: &Path) -> Server {
    let config = format!(
        "[server]\nstate_dir = {:?}\ncompiled_cache_dir = {:?}\n[plugins.notes.grants]\nkv = true\n",
        state.display().to_string(),
        shared_code_cache().display().to_string()
    );
    Server::builder().plugin("notes").config(&config).start().await
}

fn shopping(text: &str) -> Value {
    json!({ "title": "Shopping list", "text": text, "tags": ["home"] })
}

/// Reads messages until each of these methods has come, and returns these messages.
async fn heard(stream: &mut Stream, methods: &[&str]) -> Vec<Value> {
    let mut missing: BTreeSet<&str> = methods.iter().copied().collect();
    let mut messages = Vec::new();
    while !missing.is_empty() {
        let message = stream.message().await;
        if missing.remove(message["method"].as_str().unwrap_or_default()) {
            messages.push(message);
        }
    }
    messages
}

/// The notes that are listed; the app of the plugin is another resource.
async fn uris(client: &Client) -> Vec<String> {
    let reply = client.request("resources/list", json!({})).await;
    let resources = reply.result()["resources"].as_array().unwrap().iter();
    let uris = resources.map(|resource| resource["uri"].as_str().unwrap().to_owned());
    uris.filter(|uri| uri.starts_with("notes:")).collect()
}

async fn text(session: &Session, uri: &str) -> String {
    let reply = session.request("resources/read", json!({ "uri": uri })).await;
    reply.result()["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_listed_read_completed_embedded_and_announced() {
    let state = tempfile::tempdir().unwrap();
    let server = notebook(state.path()).await;
    let client = Client::new(server.url());
    let session = client.session(LEGACY).await;
    let subscribed = session.request("resources/subscribe", json!({ "uri": SHOPPING })).await;
    assert_eq!(subscribed.status, 200, "{subscribed:?}");
    let mut stream = session.listen(None).await;

    let written = client.call("notes-write_note", shopping("- milk")).await;
    assert_eq!(written.result()["structuredContent"]["uri"], SHOPPING, "{written:?}");
    let told = ["notifications/resources/updated", "notifications/resources/list_changed"];
    let messages = heard(&mut stream, &told).await;
    let update = messages.iter().find(|message| message["method"] == told[0]).unwrap();
    assert_eq!(update["params"]["uri"], SHOPPING, "only what was subscribed to");

    assert_eq!(uris(&client).await, ["notes:///index.md", SHOPPING]);
    assert_eq!(text(&session, SHOPPING).await, "- milk");
    assert!(
        text(&session, "notes:///index.md").await.contains("[Shopping list](notes:///shopping-list) #home")
    );

    for (reference, argument, expected) in [
        (json!({ "type": "ref/resource", "uri": "notes:///{slug}" }), "slug", "shopping-list"),
        (json!({ "type": "ref/prompt", "name": "notes-summarize_note" }), "note", "Shopping list"),
        (json!({ "type": "ref/prompt", "name": "notes-weekly_review" }), "tag", "home"),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": expected[..2] } });
        let reply = client.request("completion/complete", params).await;
        assert_eq!(reply.result()["completion"]["values"], json!([expected]), "{reply:?}");
    }
    for (prompt, arguments) in
        [("notes-summarize_note", json!({ "note": "shopping list" })), ("notes-weekly_review", json!({}))]
    {
        let params = json!({ "name": prompt, "arguments": arguments });
        let reply = session.request("prompts/get", params).await;
        let embedded = &reply.result()["messages"][1]["content"];
        assert_eq!(
            (&embedded["type"], &embedded["resource"]["text"]),
            (&json!("resource"), &json!("- milk"))
        );
        assert_eq!(embedded["resource"]["uri"], SHOPPING, "{reply:?}");
    }

    client.call("notes-delete_note", json!({ "note": SHOPPING })).await.result();
    heard(&mut stream, &told).await;
    assert_eq!(uris(&client).await, ["notes:///index.md"]);
    let gone = client.call("notes-delete_note", json!({ "note": SHOPPING })).await;
    assert!(gone.tool_error().starts_with("there is no note"), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_sessions_hears_of_notes_too() {
    let state = tempfile::tempdir().unwrap();
    let server = notebook(state.path()).await;
    let client = Client::new(server.url());
    let mut params =
        json!({ "notifications": { "resourcesListChanged": true, "resourceSubscriptions": [SHOPPING] } });
    params["_meta"] = stateless_meta();
    let body = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "subscriptions/listen")];
    let mut stream = client.stream(&headers, &body).await;
    heard(&mut stream, &["notifications/subscriptions/acknowledged"]).await;
    client.call("notes-write_note", shopping("- milk")).await.result();
    heard(&mut stream, &["notifications/resources/updated", "notifications/resources/list_changed"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_of_many_writers_are_all_kept_and_outlive_the_server() {
    let state = tempfile::tempdir().unwrap();
    let server = notebook(state.path()).await;
    let client = Client::new(server.url());
    client.call("notes-write_note", shopping("start")).await.result();
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..12 {
        let client = client.clone();
        writers.spawn(async move {
            let title = format!("Note {number}");
            client.call("notes-write_note", json!({ "title": title, "text": "x" })).await.result();
            let more = json!({ "note": "Shopping list", "text": format!("item {number};") });
            client.call("notes-append_note", more).await.result();
        });
    }
    writers.join_all().await;
    assert_eq!(server.terminate().await, Some(0));

    let server = notebook(state.path()).await;
    let client = Client::new(server.url());
    assert_eq!(uris(&client).await.len(), 14, "twelve notes, the shopping list and the index");
    let session = client.session(LEGACY).await;
    let text = text(&session, SHOPPING).await;
    assert!((0..12).all(|number| text.contains(&format!("item {number};"))), "{text}");
    let found = client.call("notes-find_notes", json!({ "query": "item", "tag": "home" })).await;
    assert_eq!(found.result()["structuredContent"]["total"], 1, "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grant_the_operator_hears_what_to_write() {
    let server = Server::builder().plugin("notes").start().await;
    let client = Client::new(server.url());
    assert_eq!(uris(&client).await, ["notes:///index.md"]);
    let rejected = client.call("notes-find_notes", json!({})).await;
    let told = rejected.tool_error();
    assert!(told.contains("only the operator of the server") && !told.contains("kv ="), "{told}");
    server.wait_for_log("write under [plugins.notes.grants]: kv = true").await;
}
