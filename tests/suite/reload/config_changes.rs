//! `plugport.toml` and sidecars change while the server serves.

use plugport_tests::guests::guest;
use plugport_tests::http_client::Client;
use plugport_tests::reload::{install_bytes, tool_names, wait_for_log_times, wait_for_result};
use plugport_tests::server::Server;
use serde_json::{Value, json};

async fn served(config: &str) -> (Server, Client) {
    let server = Server::builder()
        .file("v.wasm", &std::fs::read(guest("version_a")).unwrap())
        .config(config)
        .start()
        .await;
    let client = Client::new(server.url());
    (server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_is_reloaded_and_a_bad_edit_keeps_the_old_one() {
    let (server, client) = served("[plugins.v]\nprefix = \"one\"\n").await;
    let session = client.session("2025-11-25").await;
    let mut stream = session.listen(None).await;
    assert_eq!(tool_names(&client).await, ["one-version"]);
    install_bytes(b"[plugins.v]\nprefix = \"two\"\n", server.folder(), "plugport.toml");
    wait_for_result(&client, "two-version", Some("a")).await;
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(tool_names(&client).await, ["two-version"]);
    install_bytes(b"[plugins.v]\nprefix = 3\ncolour = 1\n", server.folder(), "plugport.toml");
    server.wait_for_log("2 mistakes in").await;
    server.wait_for_log("the configuration that was read before stays in force").await;
    assert_eq!(tool_names(&client).await, ["two-version"]);
    install_bytes(
        b"[server]\npage_size = 7\n[plugins.v]\nlimits = { fuel = 1 }\n",
        server.folder(),
        "plugport.toml",
    );
    server.wait_for_log("take effect at the next start").await;
    // The plugin cannot even start with the new limits, so the version with the old limits stays.
    server.wait_for_log("(limit `fuel`)").await;
    wait_for_result(&client, "two-version", Some("a")).await;
    install_bytes(b"[server]\npage_size = 7\n", server.folder(), "plugport.toml");
    wait_for_result(&client, "v-version", Some("a")).await;
    assert_eq!(server.log().matches("mistakes in").count(), 1, "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_configures_its_plugin() {
    let (server, client) = served("").await;
    assert_eq!(tool_names(&client).await, ["v-version"]);
    install_bytes(b"limits = { tool_calls_per_second = 1 }\n", server.folder(), "v.toml");
    wait_for_log_times(&server, "published v: v-version", 2).await;
    install_bytes(b"limits = { tool_calls_per_second = 1 }\nlimit = 1\n", server.folder(), "v.toml");
    server.wait_for_log("v.toml:2: limit: unknown key").await;
    let calls = [client.call("v-version", json!({})).await, client.call("v-version", json!({})).await];
    let rejected =
        calls.iter().filter(|call| call.response().to_string().contains("tool_calls_per_second")).count();
    assert_eq!(rejected, 1, "what held before still does: {calls:?}");
    std::fs::remove_file(server.folder().join("v.toml")).unwrap();
    wait_for_log_times(&server, "published v: v-version", 3).await;
    wait_for_result(&client, "v-version", Some("a")).await;
}

/// A sidecar may come with a plugin, so it cannot set the plugin's prefix.
#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_gives_its_plugin_no_other_name() {
    let (server, client) = served("[server]\nsidecar_grants = true\n").await;
    install_bytes(b"prefix = \"mail\"\n", server.folder(), "v.toml");
    server.wait_for_log("move what is here to [plugins.v] there, with the line `prefix = \"mail\"`").await;
    assert_eq!(tool_names(&client).await, ["v-version"]);
    std::fs::remove_file(server.folder().join("v.toml")).unwrap();
    install_bytes(b"[plugins.v]\nprefix = \"mail\"\n", server.folder(), "plugport.toml");
    wait_for_result(&client, "mail-version", Some("a")).await;
}

/// The twin without permission: a file that came with a plugin grants it nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_grants_nothing_unless_it_may() {
    let (server, client) = served("").await;
    install_bytes(b"[grants]\nkv = true\n", server.folder(), "v.toml");
    server.wait_for_log("only when `sidecar_grants = true` is set under [server]").await;
    assert_eq!(tool_names(&client).await, ["v-version"]);
    install_bytes(b"[server]\nsidecar_grants = true\n", server.folder(), "plugport.toml");
    server.wait_for_log("may keep up to 16 MiB between calls").await;
    wait_for_result(&client, "v-version", Some("a")).await;
}

/// A running call keeps the limits with which it began.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_keeps_the_limits_with_which_it_began() {
    let server = Server::builder().guest("polite").config("").start().await;
    let client = Client::new(server.url());
    let during = client.clone();
    let nap = tokio::spawn(async move { during.call("polite-nap", json!({ "ms": 1_500 })).await });
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    install_bytes(
        b"[plugins.polite]\nprefix = \"\"\nlimits = { wall_ms = 100 }\n",
        server.folder(),
        "plugport.toml",
    );
    answers_with(&client, "echo", json!({ "message": "x" }), "x").await;
    assert_eq!(nap.await.unwrap().tool_text(), "rested");
    assert!(client.call("nap", json!({ "ms": 500 })).await.tool_text().contains("(limit `wall_ms`)"));
}

async fn answers_with(client: &Client, tool: &str, arguments: Value, expected: &str) {
    for _ in 0..500 {
        let reply = client.call(tool, arguments.clone()).await;
        if reply.response().get("result").is_some_and(|result| result["content"][0]["text"] == expected) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{tool} never answered {expected:?}");
}
