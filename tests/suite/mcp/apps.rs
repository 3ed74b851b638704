//! Apps in components (SEP-1865): HTML that a host shows for a tool's result, what it may reach, and which tool has it.

use std::path::Path;
use std::process::Stdio;

use plugport_tests::build::guest;
use plugport_tests::command::output;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::server::{Server, program};
use plugport_tests::shipped_files::with_files;
use serde_json::{Value, json};

use crate::access::section;

const PAGE: &str = "<!doctype html><title>Sum</title>";

/// The file about an app that reaches these domains.
fn about(domains: &[&str]) -> String {
    json!({ "title": "Sum", "tools": ["version"], "csp": { "connectDomains": domains } }).to_string()
}

fn shipping(component: &Path, domains: &[&str]) -> Vec<u8> {
    with_files(component, &[("ui/sum.html", PAGE), ("ui/sum.meta.json", &about(domains))])
}

pub(super) async fn tool(client: &Client, name: &str) -> Value {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed.result()["tools"].as_array().unwrap().clone();
    tools.into_iter().find(|tool| tool["name"] == name).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_has_an_app_that_the_server_serves() {
    let component = shipping(&guest("version_a"), &[]);
    let server = Server::builder().file("v.wasm", &component).start().await;
    let client = Client::new(server.url());
    let tool = tool(&client, "v-version").await;
    assert_eq!(tool["_meta"]["ui"]["resourceUri"], "ui://v/sum.html");
    let read = client.request("resources/read", json!({ "uri": "ui://v/sum.html" })).await;
    let expected = json!({ "uri": "ui://v/sum.html", "mimeType": "text/html;profile=mcp-app", "text": PAGE,
                           "_meta": { "ui": { "csp": { "connectDomains": [] } } } });
    let mut contents = read.result()["contents"][0].clone();
    contents["_meta"]["ui"]["csp"]["connectDomains"] = json!([]);
    assert_eq!(contents, expected);
    assert!(read.result()["contents"][0]["_meta"]["ui"]["csp"].is_object());
    // A host of an older revision declares the extension, and learns of the server's.
    let mime = json!({ "mimeTypes": ["text/html;profile=mcp-app"] });
    let declares = json!({ "extensions": { "io.modelcontextprotocol/ui": mime } });
    for (capabilities, declared) in [(declares, mime.clone()), (json!({}), Value::Null)] {
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
                             "clientInfo": { "name": "host", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let initialized = client.post(&[], body.to_string()).await;
        let extensions = &initialized.result()["capabilities"]["extensions"];
        assert_eq!(extensions["io.modelcontextprotocol/ui"], declared, "{initialized:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_knows_nothing_of_mcp_ships_an_app() {
    let meta = json!({ "tools": ["add"] }).to_string();
    let component =
        with_files(&guest("functions-arithmetic"), &[("ui/sum.html", PAGE), ("ui/sum.meta.json", &meta)]);
    let server = Server::builder().file("sums.wasm", &component).start().await;
    let client = Client::new(server.url());
    let listed = client.request("tools/list", json!({})).await;
    let linked = |tool: &&Value| tool["_meta"]["ui"]["resourceUri"] == "ui://sums/sum.html";
    let tools = listed.result()["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| linked(&tool)), "{tools:?}");
}

/// The same without a configuration.
fn run_without_config(folder: &Path, command: &str, more: &[&str]) -> String {
    let mut program = program();
    program.arg(command).args(["--plugins", folder.to_str().unwrap()]).args(more);
    let (_, out, _) = output(program.current_dir(folder).stdin(Stdio::null()));
    out
}

/// Runs a command on a folder, without a terminal.
fn run(folder: &Path, command: &str, more: &[&str]) -> String {
    let mut program = program();
    program.arg(command).args(["--plugins", folder.to_str().unwrap()]).args(["--config", "plugport.toml"]);
    let (_, out, err) = output(program.args(more).current_dir(folder).stdin(Stdio::null()));
    format!("{out}{err}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_reaches_what_is_granted_and_approved() {
    let (one, two) = (["https://a.test"], ["https://a.test", "https://b.test"]);
    let config = |mode: &str, domains: &[&str]| {
        format!("[server]\napproval = {mode:?}\n[plugins.v.grants]\nui = {{ connect = {domains:?} }}\n")
    };
    let builder = Server::builder()
        .file("v.wasm", &shipping(&guest("version_a"), &two))
        .config(&config("strict", &one));
    let put = |folder: &Path, mode: &str, domains: &[&str]| {
        std::fs::write(folder.join("plugport.toml"), config(mode, domains)).unwrap();
    };
    put(builder.folder(), "off", &one);
    let checked = run(builder.folder(), "check", &[]);
    assert!(checked.contains("it connects to https://b.test and is not granted that"), "{checked}");
    assert!(checked.contains(r#"ui = { connect = ["https://a.test", "https://b.test"] }"#), "{checked}");

    std::fs::write(builder.folder().join("v.wasm"), shipping(&guest("version_a"), &one)).unwrap();
    assert!(run(builder.folder(), "check", &[]).contains("no faults"));
    put(builder.folder(), "strict", &one);
    let shown = run(builder.folder(), "approve", &["--yes"]);
    assert!(shown.contains("+ship an app that connects to https://a.test"), "{shown}");
    assert!(shown.contains("\"connectDomains\": ["), "{shown}");
    let server = builder.start().await;
    let client = Client::new(server.url());
    assert_eq!(tool(&client, "v-version").await["_meta"]["ui"]["resourceUri"], "ui://v/sum.html");

    // One more domain needs a grant, and the file an approval, which says so before anything is granted.
    std::fs::write(server.folder().join("v.wasm"), shipping(&guest("version_a"), &two)).unwrap();
    server.wait_for_log("is not the file that was approved").await;
    let shown = run(server.folder(), "approve", &[]);
    assert!(shown.contains("note: ui/sum.html is not published: it connects to https://b.test"), "{shown}");
    put(server.folder(), "strict", &two);
    let shown = run(server.folder(), "approve", &[]);
    assert!(shown.contains("+ship an app that connects to https://a.test, https://b.test"), "{shown}");
    assert!(shown.contains("\"https://b.test\""), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_stays_approved_when_its_app_loses_its_grant() {
    let granted =
        "[server]\napproval = \"strict\"\n[plugins.v.grants]\nui = { connect = [\"https://a.test\"] }\n";
    let builder =
        Server::builder().file("v.wasm", &shipping(&guest("version_a"), &["https://a.test"])).config(granted);
    std::fs::write(builder.folder().join("plugport.toml"), granted).unwrap();
    run(builder.folder(), "approve", &["--yes"]);
    let server = builder.start().await;
    let client = Client::new(server.url());
    assert_eq!(tool(&client, "v-version").await["_meta"]["ui"]["resourceUri"], "ui://v/sum.html");
    std::fs::write(server.folder().join("plugport.toml"), "[server]\napproval = \"strict\"\n").unwrap();
    server.wait_for_log("is not granted that").await;
    let without = json!({ "ui": { "visibility": ["model"] } });
    assert_eq!(tool(&client, "v-version").await["_meta"], without);
    assert!(!server.log().contains("has not been approved"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_a_guest_makes_asks_for_no_more_than_is_granted() {
    let component = std::fs::read(guest("hostile_app")).unwrap();
    let server = Server::builder().file("hostile_app.wasm", &component).start().await;
    let client = Client::new(server.url());
    let uris = async |method: &str, field: &str| -> Vec<Value> {
        let listed = client.request(method, json!({})).await;
        listed.result()[field].as_array().unwrap().iter().map(|item| item["uri"].clone()).collect()
    };
    assert_eq!(uris("resources/list", "resources").await, ["ui://hostile_app/read.html"]);
    for name in ["listed.html", "read.html", "made/x.html"] {
        let uri = format!("ui://hostile_app/{name}");
        let read = client.request("resources/read", json!({ "uri": uri })).await;
        assert!(!read.text.contains("connectDomains") && !read.text.contains("<script>"), "{read:?}");
    }
    let read = client.request("resources/read", json!({ "uri": "ui://hostile_app/read.html" })).await;
    assert!(read.text.contains("it connects to https://evil.test and uses camera"), "{read:?}");
    let folder = server.folder();
    let checked = run_without_config(folder, "check", &[]);
    for app in ["read.html", "made/{+path}"] {
        let warning = format!("warning: the plugin makes the app `ui://hostile_app/{app}` itself");
        assert!(checked.contains(&warning), "{checked}");
    }
    assert!(checked.contains("its apps may call each tool of the server"), "{checked}");
    let checked: Value = serde_json::from_str(&run_without_config(folder, "check", &["--json"])).unwrap();
    assert_eq!(checked["plugins"][0]["warnings"].as_array().unwrap().len(), 2, "{checked}");

    // What is granted may be asked for.
    drop(server);
    let ui = "ui = { connect = [\"https://evil.test\"], permissions = [\"camera\"] }";
    let config = format!("[plugins.hostile_app.grants]\n{ui}\n");
    let server = Server::builder().file("hostile_app.wasm", &component).config(&config).start().await;
    let client = Client::new(server.url());
    let read = client.request("resources/read", json!({ "uri": "ui://hostile_app/read.html" })).await;
    let domains = &read.result()["contents"][0]["_meta"]["ui"]["csp"]["connectDomains"];
    assert_eq!(*domains, json!(["https://evil.test"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_does_not_see_an_app_does_not_learn_of_it() {
    let token = "plugport_ada-0123456789abcdefghijklmnopqrstuvwxyz";
    let roles = "[roles.some]\nwho = [\"token:ada\"]\nallow = [\"*\"]\ndeny = [\"resource:ui://v/*\"]\n";
    let config = format!("{roles}{}", section("ada", token, ""));
    let server =
        Server::builder().file("v.wasm", &shipping(&guest("version_a"), &[])).config(&config).start().await;
    let client = Client::with_token(server.url(), token);
    let tool = tool(&client, "v-version").await;
    assert_eq!(tool["_meta"], json!({ "ui": { "visibility": ["model"] } }), "{tool}");
    assert!(client.call("v-version", json!({})).await.tool_text().len() == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_hears_of_a_file_that_has_changed() {
    let server = Server::builder().file("v.wasm", &shipping(&guest("version_a"), &[])).start().await;
    let session = Client::new(server.url()).session(LEGACY).await;
    let mut stream = session.listen(None).await;
    session.request("resources/subscribe", json!({ "uri": "ui://v/sum.html" })).await.result();
    let other = [("ui/sum.html", "<!doctype html><title>Other</title>"), ("ui/sum.meta.json", &about(&[]))];
    std::fs::write(server.folder().join("v.wasm"), with_files(&guest("version_a"), &other)).unwrap();
    let update = loop {
        let message = stream.message().await;
        if message["method"] == "notifications/resources/updated" {
            break message;
        }
    };
    assert_eq!(update["params"]["uri"], "ui://v/sum.html");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_whose_app_is_not_published_works_without_it() {
    let component = shipping(&guest("version_a"), &["https://a.test"]);
    let server = Server::builder().file("v.wasm", &component).start().await;
    let client = Client::new(server.url());
    assert_eq!(tool(&client, "v-version").await["_meta"], json!({ "ui": { "visibility": ["model"] } }));
    assert_eq!(
        client.request("resources/read", json!({ "uri": "ui://v/sum.html" })).await.error_code(),
        -32602
    );
    assert!(client.call("v-version", json!({})).await.tool_text().len() == 1);
    server.wait_for_log("ui = { connect = [\"https://a.test\"] }").await;
}
