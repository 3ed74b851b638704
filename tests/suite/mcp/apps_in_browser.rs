//! Apps in Chromium, as a host shows them: with the helpers of the extension's own package, in a sandbox of another
//! origin, under exactly the policy that the server declares. `tests/clients/browser` has the host.

use anyhow::{Context as _, Result, ensure};
use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::browser;
use plugport_tests::build::plugin;
use plugport_tests::command::output;
use plugport_tests::external_clients::ExternalClient::Browser;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::server::{Server, program};
use plugport_tests::shipped_files::with_files;
use serde_json::{Value, json};

use super::apps::tool;

/// The plugin in Python is compiled while the test waits.
const PATIENT: &str = "[limits]\ncompile_ms = 600_000\nwall_ms = 60_000\n";

/// Shows an app of the server and uses it. The report has what it showed and sent.
async fn used(server: &Server, mode: &'static str, more: &[&str]) -> Result<Value> {
    let target = std::iter::once(server.url()).chain(more.iter().map(|word| (*word).to_owned()));
    let report = Browser.drive("app", "http", mode, target.collect()).await;
    let report = report.with_context(|| format!("the server said:\n{}", server.log()))?;
    ensure!(report["faults"] == json!([]), "no script of a page failed: {report}");
    Ok(report)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_sorted_and_reaches_no_host() -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    Browser.install().await?;
    let server = Server::builder().plugin("tables").config(PATIENT).start().await;
    let report = used(&server, "table", &[]).await?;
    let [london, script, arlington] = ["London\t36", "<img src=x onerror=alert(1)>\t7", "Arlington\t85"];
    ensure!(texts(&report["before"]) == [london, script, arlington], "{report}");
    ensure!(texts(&report["ascending"]) == [script, london, arlington], "{report}");
    ensure!(texts(&report["descending"]) == [arlington, london, script], "{report}");
    ensure!(report["mime"] == "text/html;profile=mcp-app" && report["status"] == "3 rows", "{report}");
    ensure!(report["csp"] == json!({}) && report["refused"] == "connect-src", "{report}");
    ensure!(texts(&report["received"]).contains(&"ui/notifications/size-changed"), "{report}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_writes_notes_in_the_colours_of_its_host() -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    Browser.install().await?;
    let server =
        Server::builder().plugin("notes").config("[plugins.notes.grants]\nkv = true\n").start().await;
    let report = used(&server, "form", &[]).await?;
    ensure!(report["dark"] == "rgb(4, 5, 6)" && report["light"] == "rgb(1, 2, 3)", "{report}");
    let [listed] = texts(&report["listed"])[..] else { anyhow::bail!("one note: {report}") };
    ensure!(listed.starts_with("Shopping <i>list</i>") && listed.contains("#b #home"), "{report}");
    ensure!(report["opened"] == "- milk\n- eggs", "{report}");
    ensure!(texts(&report["received"]).contains(&"tools/call"), "the form calls through its host: {report}");
    let session = Client::new(server.url()).session(LEGACY).await;
    let uri = json!({ "uri": "notes:///shopping-i-list-i" });
    let read = session.request("resources/read", uri).await;
    ensure!(read.result()["contents"][0]["text"] == "- milk\n- eggs\n- bread", "{read:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_says_that_its_plugin_lacks_a_grant() -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    Browser.install().await?;
    let server = Server::builder().plugin("notes").start().await;
    let report = used(&server, "denied", &[]).await?;
    let status = report["status"].as_str().unwrap_or_default();
    ensure!(status.contains("only the operator of the server can grant one"), "{report}");
    Ok(())
}

/// The plugin `hello` with the page that `plugport new --ui` writes, which may connect to these domains.
fn greeting(domains: &[&str]) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let (code, _, said) =
        output(program().args(["new", "my-tool", "--lang", "rust", "--ui"]).current_dir(folder.path()));
    ensure!(code == Some(0), "{said}");
    let written = |name: &str| std::fs::read_to_string(folder.path().join("my-tool/ui").join(name));
    let mut about: Value = serde_json::from_str(&written("greeting.meta.json")?)?;
    about["csp"] = json!({ "connectDomains": domains });
    let files =
        [("ui/greeting.html", written("greeting.html")?), ("ui/greeting.meta.json", about.to_string())];
    Ok(with_files(&plugin("hello"), &files.each_ref().map(|(path, text)| (*path, text.as_str()))))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_page_reaches_what_its_policy_names_and_nothing_else() -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    Browser.install().await?;
    let web = BadWebServer::start().await;
    let (granted, other) = (web.url(""), format!("http://localhost:{}", web.port()));
    let config =
        format!("[plugins.hello.grants]\nui = {{ connect = [{granted:?}, \"https://unused.test\"] }}\n");
    let server = Server::builder().file("hello.wasm", &greeting(&[&granted])?).config(&config).start().await;
    let report = used(&server, "reach", &[&granted, &other]).await?;
    ensure!(report["status"] == "Hello, Ada!", "{report}");
    ensure!(report["csp"] == json!({ "connectDomains": [granted] }), "{report}");
    let refused = |fetch: &str| json!({ "fetch": fetch, "image": "img-src", "script": "script-src-elem", "frame": "frame-src" });
    ensure!(report["granted"] == refused("reached") && report["other"] == refused("connect-src"), "{report}");
    let heads = web.heads();
    ensure!(heads.len() == 1 && heads[0].starts_with("GET /fetch "), "one request has come: {heads:?}");
    drop(server);

    // A domain that is not granted is in no policy: the app is not published.
    let server =
        Server::builder().file("hello.wasm", &greeting(&[&granted, &other])?).config(&config).start().await;
    let client = Client::new(server.url());
    ensure!(tool(&client, "hello-hello").await["_meta"] == json!({ "ui": { "visibility": ["model"] } }));
    let read = client.request("resources/read", json!({ "uri": "ui://hello/greeting.html" })).await;
    ensure!(read.error_code() == -32602, "{read:?}");
    server.wait_for_log(&format!("it connects to {other} and is not granted that")).await;
    Ok(())
}
