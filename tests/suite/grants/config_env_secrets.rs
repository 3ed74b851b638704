//! Environment variables, configuration values and secrets: a plugin reads them by name, and secrets are redacted
//! everywhere but in its results.

use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::server::Server;
use serde_json::json;

use crate::grants::denied_without_grant::allowed_by;

/// Secrets that must not occur in text for people.
const SECRET: &str = "c4nary\"sekret\\0815";

const CONFIG: &str = "[plugins.settings.grants]\n\
    config = { region = \"eu\", retries = 3, \"two words\" = true }\n\
    secrets = { token = { file = \"token.txt\" }, key = { env = \"PLUGPORT_TEST_KEY\" } }\n";

async fn server() -> Server {
    let token = format!("{SECRET}\n");
    let builder =
        Server::builder().guest("settings").config(CONFIG).env("PLUGPORT_TEST_KEY", "k3y-of-the-environment");
    builder.file("token.txt", token.as_bytes()).start().await
}

async fn get(client: &Client, key: &str) -> String {
    client.call("settings-get", json!({ "key": key })).await.tool_text().to_owned()
}

/// The log and the audit: all output except results.
fn written(server: &Server) -> String {
    let audit = std::fs::read_to_string(server.state().join("audit.jsonl"));
    server.log() + &audit.unwrap_or_default()
}

#[tokio::test]
async fn hostile_env_probe() {
    let config = "[plugins.hostile_env_probe.grants]\n\
        env = [\"PLUGPORT_TEST_SHARED\", { TZ = \"UTC\" }, \"PLUGPORT_TEST_UNSET\"]\n";
    for (config, vars) in [("", json!([])), (config, json!([["PLUGPORT_TEST_SHARED", "yes"], ["TZ", "UTC"]]))]
    {
        let builder = Server::builder().guest("hostile_env_probe").config(config);
        let server =
            builder.env("PLUGPORT_TEST_SHARED", "yes").env("PLUGPORT_TEST_HIDDEN", "no").start().await;
        let reply = Client::new(server.url()).call("hostile_env_probe-environment", json!({})).await;
        let found = &reply.result()["structuredContent"];
        assert_eq!(found["vars"], vars, "{reply:?}");
        for empty in ["args", "stdin", "terminals", "hostnames", "settings", "readable", "writable"] {
            assert_eq!(found[empty], json!([]), "{empty}: {reply:?}");
        }
        assert!(found["cwd"].is_null() || found["cwd"] == "/", "{reply:?}");
        // A guest reads all variables at once and gets the granted ones, so none is denied.
        assert!(!written(&server).contains("\"denied\""), "{}", written(&server));
        assert_eq!(server.log().contains("PLUGPORT_TEST_UNSET is granted but not set"), vars != json!([]));
    }
}

#[tokio::test]
async fn settings_and_secrets_are_read_by_name_and_only_settings_are_listed() {
    let server = server().await;
    let client = Client::new(server.url());
    for (key, value) in [("region", "eu"), ("retries", "3"), ("two words", "true"), ("none", "none")] {
        assert_eq!(get(&client, key).await, value);
    }
    assert_eq!(get(&client, "token").await, SECRET, "a result is the plugin's own");
    assert_eq!(get(&client, "key").await, "k3y-of-the-environment");
    let all = client.call("settings-all", json!({})).await;
    assert_eq!(all.tool_text(), "region=eu retries=3 two words=true");
    server
        .wait_for_log("requested the configuration value `none`, which is not set; to set it, write under")
        .await;
    server.wait_for_log("[plugins.settings.grants]: config = { none = \"...\" }").await;
    assert!(!written(&server).contains("\"denied\""), "a plugin that has settings was not denied one more");
}

#[tokio::test]
async fn without_a_grant_there_is_nothing_to_read() {
    let server = Server::builder().guest("settings").file("token.txt", SECRET.as_bytes()).start().await;
    let client = Client::new(server.url());
    assert_eq!(get(&client, "token").await, "none");
    assert_eq!(client.call("settings-all", json!({})).await.tool_text(), "");
    server.wait_for_log("was denied the configuration value `token`; to allow it, write under").await;
    server.wait_for_log("[plugins.settings.grants]: config = { token = \"...\" }").await;
    assert_eq!(allowed_by(&server, "settings", 1).await, ["config = { token = \"...\" }"]);
}

#[tokio::test]
async fn a_secret_is_seen_in_results_and_nowhere_else() {
    let server = server().await;
    let client = Client::new(server.url());
    let slip = async |way: &str| -> HttpResponse {
        let params = json!({ "name": "settings-leak", "arguments": { "key": "token", "way": way } });
        let more = json!({ "io.modelcontextprotocol/logLevel": "debug", "progressToken": way });
        client.request_with_meta("tools/call", params, more).await
    };
    for (way, said) in [
        ("stdout", "out *** out"),
        ("stderr", "err *** err"),
        ("pieces", "in pieces ***"),
        ("across the cut", "xxx***"),
        ("unfinished", "no end of line ***"),
        ("debug", "[\"***\"]"),
        ("panic", "cannot use ***"),
        ("unknown key", "requested the configuration value `***`"),
    ] {
        let reply = slip(way).await;
        assert!(!format!("{reply:?}").contains("c4nary"), "{way}: {reply:?}");
        server.wait_for_log(said).await;
    }
    for (way, method, shown) in [
        ("log", "notifications/message", "log *** log"),
        ("json", "notifications/message", "{\"headers\":{\"authorization\":[\"Bearer ***\"]},\"***\":1}"),
        ("long log", "notifications/message", "xxx***"),
        ("progress", "notifications/progress", "using ***"),
    ] {
        let reply = slip(way).await;
        let told: String = reply.notifications(method).into_iter().map(ToString::to_string).collect();
        assert!(told.contains(shown) || told.contains(&shown.replace('"', "\\\"")), "{way}: {told}");
        assert!(!format!("{reply:?}").contains("c4nary"), "{way}: {reply:?}");
    }
    let reply = slip("error").await;
    assert!(reply.tool_error().contains("401 for ***"), "{reply:?}");
    assert_eq!(slip("result").await.tool_text(), SECRET);
    assert!(!written(&server).contains("c4nary"), "{}", written(&server));
    assert!(!written(&server).contains("c4nary\\\"sekret"), "{}", written(&server));
}

/// A secret that is longer than the cut of a guest's text: its beginning alone must be redacted too.
#[tokio::test]
async fn a_long_secret_is_hidden_before_text_is_cut() {
    let secret = "l0ng-canary-".repeat(400);
    let config = "[plugins.settings.grants]\n\
        secrets = { token = { file = \"token.txt\" } }\n";
    let builder = Server::builder().guest("settings").config(config);
    let server = builder.file("token.txt", secret.as_bytes()).start().await;
    let client = Client::new(server.url());
    for (way, said) in [
        ("unknown key", "requested the configuration value `***`"),
        ("stdout", "out ***"),
        ("pieces", "in pieces ***"),
        ("unfinished", "no end of line ***"),
        ("panic", "cannot use ***"),
    ] {
        let reply = client.call("settings-leak", json!({ "key": "token", "way": way })).await;
        assert!(!format!("{reply:?}").contains("l0ng"), "{way}: {reply:?}");
        server.wait_for_log(said).await;
    }
    client.call("settings-get", json!({ "key": format!("{}{secret}", "k".repeat(4_000)) })).await;
    server.wait_for_log("requested the configuration value `kkk").await;
    assert!(!written(&server).contains("l0ng"), "{}", written(&server));
}
