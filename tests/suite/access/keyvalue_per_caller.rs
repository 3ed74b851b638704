//! A key-value store for each caller: a plugin that tries everything gives no caller what another has stored, and takes
//! nothing from another.

use std::path::Path;

use plugport_tests::command::output;
use plugport_tests::http_client::Client;
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ADA, BOB, as_caller, both};

/// What Ada stores.
const SECRET: &str = "the secret of ada";

/// Keys that the plugin guesses: those of Ada, and what might lead to her store.
fn guesses() -> Value {
    let digest = "0".repeat(64);
    json!([
        "ada",
        "n",
        "swapped",
        "many",
        "listed",
        "shared",
        "token:ada",
        "kv_probe",
        "kv_probe/",
        format!("kv_probe/{digest}"),
        "default/token:ada",
        "../ada",
        "\u{0}",
        "stdio"
    ])
}

fn config(grant: &str, more: &str) -> String {
    format!("[plugins.kv_probe]\nprefix = \"\"\n{more}\n[plugins.kv_probe.grants]\nkv = {grant}\n{}", both())
}

const PER_CALLER: &str = "{ quota_mib = 1, per = \"caller\" }";

async fn start(config: &str) -> Server {
    Server::builder().guest("kv_probe").config(config).start().await
}

/// The text of a tool's result.
async fn call(client: &Client, tool: &str, arguments: Value) -> String {
    client.call(tool, arguments).await.tool_text().to_owned()
}

async fn probe(client: &Client) -> String {
    call(client, "probe", json!({ "keys": guesses() })).await
}

/// The description of the tool `probe`, in which the plugin says what it found while it listed.
async fn found_while_listing(client: &Client) -> String {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed.result()["tools"].as_array().unwrap().clone();
    let probe = tools.into_iter().find(|tool| tool["name"] == "probe").unwrap();
    probe["description"].as_str().unwrap().to_owned()
}

/// Ada stores under several keys, in every way.
async fn ada_stores(ada: &Client) {
    let with = |key: &str| json!({ "key": key, "value": SECRET });
    assert_eq!(call(ada, "set", with("ada")).await, "set");
    assert_eq!(call(ada, "set_many", with("many")).await, "set");
    assert_eq!(call(ada, "swap", with("swapped")).await, "nothing");
    assert_eq!(call(ada, "increment", json!({ "key": "n" })).await, "1");
    assert_eq!(call(ada, "increment", json!({ "key": "n" })).await, "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_caller_finds_what_another_has_stored() {
    for (instances, kept) in [("fresh", "nothing is kept"), ("reuse", "ada,many,n,swapped=the secret of ada")]
    {
        let server = start(&config(PER_CALLER, &format!("instances = \"{instances}\""))).await;
        let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
        ada_stores(&ada).await;
        assert_eq!(call(&ada, "keep", json!({ "key": "ada" })).await, "kept");
        // Bob gets neither the keys nor the values, and not the handles either.
        assert_eq!(probe(&bob).await, "", "{instances}");
        assert_eq!(call(&bob, "use_kept", json!({})).await, "nothing is kept", "{instances}");
        assert_eq!(call(&ada, "use_kept", json!({})).await, kept, "{instances}");
        // What Bob changes is his own.
        assert_eq!(call(&bob, "increment", json!({ "key": "n" })).await, "1", "{instances}");
        for key in ["ada", "many", "swapped"] {
            let of_bob = json!({ "key": key, "value": "of bob" });
            assert_eq!(call(&bob, "swap", of_bob).await, "nothing", "{instances}");
            call(&bob, "delete_many", json!({ "key": key })).await;
        }
        let of_ada = probe(&ada).await;
        assert!(of_ada.starts_with("ada,many,n,swapped,") && of_ada.contains(SECRET), "{of_ada}");
        assert!(!of_ada.contains("bob") && !of_ada.contains("listed"), "{of_ada}");
        // Both see the same lists, which are nobody's.
        assert_eq!(found_while_listing(&bob).await, "Found: Ok(\"listed\")", "{instances}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_filled_a_store_takes_nothing_from_another() {
    let server = start(&config(PER_CALLER, "")).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let told = call(&ada, "fill", json!({})).await;
    assert!(told.contains("over quota: the plugin may store 1 MiB"), "{told}");
    assert_eq!(call(&bob, "set", json!({ "key": "k", "value": "v" })).await, "set");
    let told = call(&ada, "fill", json!({})).await;
    assert!(told.contains("over quota"), "{told}");
    assert_eq!(probe(&bob).await, "k");
}

/// A configuration whose state outlives its servers.
fn lasting(state: &TempDir, grant: &str) -> String {
    format!("[server]\nstate_dir = {:?}\n{}", state.path().join("state"), config(grant, ""))
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_stay_apart_over_restarts_and_changes_of_the_grant() {
    let state = tempfile::tempdir().unwrap();
    let key = |key: &str| json!({ "key": key, "value": "v" });
    {
        let server = start(&lasting(&state, PER_CALLER)).await;
        ada_stores(&as_caller(&server, ADA)).await;
        call(&as_caller(&server, BOB), "set", key("of-bob")).await;
    }
    {
        let server = start(&lasting(&state, PER_CALLER)).await;
        let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
        assert!(probe(&ada).await.starts_with("ada,many,n,swapped,"), "{}", probe(&ada).await);
        assert_eq!(probe(&bob).await, "of-bob");
        assert_eq!(found_while_listing(&ada).await, "Found: Ok(\"listed\")");
    }
    {
        // The plugin's own store is another one, which all callers share.
        let server = start(&lasting(&state, "true")).await;
        let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
        assert_eq!(found_while_listing(&ada).await, "Found: Ok(\"listed\")");
        call(&ada, "set", key("shared")).await;
        let of_bob = probe(&bob).await;
        assert!(of_bob.starts_with("listed,shared,") && !of_bob.contains("ada"), "{of_bob}");
    }
    let server = start(&lasting(&state, PER_CALLER)).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    assert!(probe(&ada).await.starts_with("ada,many,n,swapped,"), "{}", probe(&ada).await);
    assert_eq!(probe(&bob).await, "of-bob");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_credentials_has_no_store() {
    let config = format!("[auth]\nanonymous = \"allow\"\n{}", config(PER_CALLER, ""));
    let server = start(&config).await;
    let (ada, nobody) = (as_caller(&server, ADA), Client::new(server.url()));
    ada_stores(&ada).await;
    for tool in ["probe", "set", "increment", "swap", "keep"] {
        let told = call(&nobody, tool, json!({ "key": "ada", "value": "x" })).await;
        assert_eq!(told, "Error::AccessDenied", "{tool}");
    }
    let denied = server.wait_for_audit("denied", 5).await;
    let line = "kv = { quota_mib = 1, per = \"plugin\" }   # one store for all callers";
    assert!(denied.iter().all(|denied| denied["missing_grant"] == line), "{denied:?}");
    assert!(probe(&ada).await.contains(SECRET));
}

/// Runs a command with the configuration in this folder.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let config = folder.join("plugport.toml");
    let (config, folder) = (config.to_str().unwrap(), folder.to_str().unwrap());
    output(program().args(args).args(["--config", config, "--plugins", folder]).current_dir(folder))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_has_a_store_of_its_own_and_can_forget_a_caller() {
    let state = tempfile::tempdir().unwrap();
    let server = start(&lasting(&state, PER_CALLER)).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    ada_stores(&ada).await;
    call(&bob, "set", json!({ "key": "of-bob", "value": "v" })).await;
    let args = json!({ "key": "of-operator", "value": "v" }).to_string();
    let (code, out, err) = run(server.folder(), &["call", "kv_probe", "set", "--args", &args]);
    assert_eq!((code, out.trim()), (Some(0), "set"), "{err}");
    assert_eq!(run(server.folder(), &["call", "kv_probe", "probe"]).1.trim(), "of-operator");
    assert_eq!(probe(&bob).await, "of-bob");

    let (code, out, err) = run(server.folder(), &["forget", "ada"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("`ada` is no caller; write it as the audit does, such as token:ada"), "{err}");
    assert_eq!(run(server.folder(), &["forget", "token:ad"]).1, "token:ad has stored nothing\n");
    let (code, out, err) = run(server.folder(), &["forget", "token:ada"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("kv_probe: deleted ") && out.lines().count() == 1, "{out}");
    assert_eq!((probe(&ada).await.as_str(), probe(&bob).await.as_str()), ("", "of-bob"));
    assert_eq!(run(server.folder(), &["forget", "token:ada"]).1, "token:ada has stored nothing\n");
}
