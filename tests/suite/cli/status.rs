//! `plugport status` lists the servers of this user, the plugins that they serve or reject with the reasons, and the
//! outcomes of calls.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use plugport_tests::build::{sockets, xdg_homes};
use plugport_tests::command::output;
use plugport_tests::guests::{folder, guest};
use plugport_tests::http_client::{Client, HttpResponse, LEGACY};
use plugport_tests::reload::install_bytes;
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};

use crate::mcp::session_client_requests::{capabilities, client_requests_server, form};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Runs `plugport status` in this folder: exit code, stdout, stderr.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    output(program().arg("status").args(args).current_dir(folder).envs(xdg_homes(folder)))
}

/// The servers of the user whose home is in this folder.
fn servers(folder: &Path) -> Vec<Value> {
    let (_, out, err) = run(folder, &["--json"]);
    let Ok(Value::Array(servers)) = serde_json::from_str(&out) else { panic!("{out}{err}") };
    servers
}

/// The versions of a plugin that a server knows.
pub(crate) fn versions(server: &Server, name: &str) -> Vec<Value> {
    let servers = servers(server.folder());
    let [server] = servers.as_slice() else { panic!("one server was expected: {servers:?}") };
    let plugins = server["plugins"].as_array().unwrap();
    plugins.iter().filter(|plugin| plugin["name"] == name).cloned().collect()
}

/// The only version of it.
fn version(server: &Server, name: &str) -> Value {
    let mut versions = versions(server, name);
    assert_eq!(versions.len(), 1, "{versions:?}");
    versions.remove(0)
}

/// Waits until one version is in this state.
async fn wait_for_state(server: &Server, name: &str, state: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let known = versions(server, name);
        if let Some(version) = known.iter().find(|version| version["state"] == state) {
            return version.clone();
        }
        assert!(Instant::now() < deadline, "{name} was expected to be {state}: {known:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Replaces the file of one guest by another.
fn replace(server: &Server, file: &str, by: &str) {
    let beside = server.folder().join(".part");
    std::fs::copy(guest(by), &beside).unwrap();
    std::fs::rename(beside, server.folder().join(file)).unwrap();
}

#[tokio::test]
async fn status_shows_plugins_with_the_outcomes_of_their_calls() {
    let config = "[plugins.polite]\nlimits = { wall_ms = 2_000, tool_calls_per_second = 3 }\n";
    let server = Server::builder().guest("polite").config(config).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    client.call("polite-fail", json!({ "reason": "no luck" })).await.tool_error();
    assert!(client.call("polite-nap", json!({ "ms": 60_000 })).await.tool_error().contains("`wall_ms`"));
    let mut rejected = 0;
    for _ in 0..12 {
        let reply = client.call("polite-whoami", json!({})).await;
        rejected += u64::from(reply.tool_text().contains("tool_calls_per_second"));
    }
    let known = servers(server.folder());
    assert_eq!(known.len(), 1, "{known:?}");
    let told = &known[0];
    assert_eq!((&told["serving"], &told["pid"]), (&json!(server.url()), &json!(server.pid())));
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(told["approval"], "off");
    let polite = version(&server, "polite");
    assert_eq!((&polite["state"], &polite["reason"]), (&json!("serving"), &json!(null)));
    assert!(polite["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(polite["published"]["tools"].as_array().unwrap().contains(&json!("polite-echo")));
    assert_eq!((&polite["calls"], &polite["running"]), (&json!(15 - rejected), &json!(0)), "{polite}");
    assert_eq!((&polite["ok"], &polite["failed"]), (&json!(13 - rejected), &json!(1)));
    assert_eq!((&polite["terminated"], &polite["rejected"]), (&json!(1), &json!(rejected)));
    assert_eq!(polite["limits"]["wall_ms"], 1);
    assert_eq!(
        polite["limits"].get("tool_calls_per_second").map_or(0, |hit| hit.as_u64().unwrap()),
        rejected
    );
    assert!(polite["fuel"].as_u64().unwrap() > 0 && polite["last_call"].is_string());
    let (code, shown, _) = run(server.folder(), &[]);
    assert_eq!(code, Some(0));
    assert!(shown.starts_with(&server.url()) && shown.contains("wall_ms 1"), "{shown}");
}

#[tokio::test]
async fn status_shows_plugins_that_are_not_served_with_the_reason() {
    let server =
        Server::builder().guest("polite").file("broken.wasm", b"\0asm\x0d\0\x01\0\xff").start().await;
    let broken = version(&server, "broken");
    assert_eq!((&broken["state"], &broken["calls"]), (&json!("failed"), &json!(0)));
    assert!(broken["reason"].as_str().unwrap().contains("is damaged or truncated"), "{broken}");
    let (code, shown, _) = run(server.folder(), &[]);
    assert_eq!(code, Some(0), "a plugin that failed is no failure to ask");
    assert!(shown.contains("\n      is damaged or truncated"), "{shown}");
}

#[tokio::test]
async fn status_shows_a_quarantined_plugin() {
    let config = "[plugins.hostile_panic]\nlimits = { quarantine_failures = 3 }\n";
    let server = Server::builder().guest("hostile_panic").config(config).start().await;
    let client = Client::new(server.url());
    for _ in 0..4 {
        client.call("hostile_panic-boom", json!({ "message": "x" })).await.tool_error();
    }
    let left_alone = version(&server, "hostile_panic");
    assert_eq!(left_alone["state"], "quarantined");
    assert!(left_alone["quarantined_s"].as_u64().unwrap() > 0);
    assert_eq!((&left_alone["terminated"], &left_alone["rejected"]), (&json!(3), &json!(1)));
    assert!(run(server.folder(), &[]).1.contains("s left"));
}

/// A server that an editor would start.
struct StdioServer(Child);

impl StdioServer {
    /// In a folder of its own, and with the home of another server.
    fn start(folder: &Path, plugins: &Path) -> Self {
        let mut command = program();
        command
            .args(["serve", "--stdio", "--plugins"])
            .arg(plugins)
            .current_dir(plugins)
            .envs(xdg_homes(folder));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until so many servers run with the home of this folder and have a plugin.
async fn run_there(folder: &Path, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let known = servers(folder);
        let loaded = |server: &Value| !server["plugins"][0].is_null();
        if known.len() == count && known.iter().all(loaded) {
            return known;
        }
        assert!(Instant::now() < deadline, "{count} servers were expected: {known:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn status_shows_every_server_of_a_user_and_none_that_was_killed() {
    let server = Server::builder().guest("polite").start().await;
    let others = folder(&["version_a"]);
    let mut editor = StdioServer::start(server.folder(), others.path());
    let known = run_there(server.folder(), 2).await;
    let other = known.iter().find(|server| server["serving"] == "stdio").unwrap();
    assert_eq!(other["plugins"][0]["name"], "version_a");
    let sockets = || std::fs::read_dir(sockets(server.folder())).unwrap().count();
    assert_eq!(sockets(), 2);
    editor.kill();
    assert_eq!(sockets(), 2, "it had no chance to tidy up");
    assert_eq!(servers(server.folder()).len(), 1);
    assert_eq!(sockets(), 1);
    // A stopped server removes its socket.
    let mut editor = StdioServer::start(server.folder(), others.path());
    run_there(server.folder(), 2).await;
    drop(editor.0.stdin.take());
    assert!(editor.0.wait().unwrap().success());
    assert_eq!(sockets(), 1);
}

#[test]
fn status_without_a_server_says_where_to_look() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = run(dir.path(), &[]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("no server of yours runs, as far as "), "{err}");
    assert_eq!(run(dir.path(), &["--json"]).1, "[]\n");
    let (code, _, err) = run(dir.path(), &["--config", "none.toml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("cannot read the configuration none.toml"), "{err}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "asking makes nothing");
}

/// The command finds all servers from any directory, and with a configuration only those that use it.
#[tokio::test]
async fn servers_are_found_from_elsewhere_and_by_their_configuration() {
    let server = Server::builder().guest("polite").config("").start().await;
    let others = folder(&["version_a"]);
    let _editor = StdioServer::start(server.folder(), others.path());
    let config = server.folder().join("plugport.toml").display().to_string();
    run_there(server.folder(), 2).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let ask = |args: &[&str]| {
        let mut command = program();
        command.arg("status").args(args).arg("--json").current_dir(elsewhere.path());
        let output = command.envs(xdg_homes(server.folder())).output().unwrap();
        serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap()
    };
    assert_eq!(ask(&[]).len(), 2);
    let own = ask(&["--config", &config]);
    assert!(own.len() == 1 && own[0]["config"] == config.as_str(), "{own:?}");
}

/// Waits until the only server here has problems of these kinds.
async fn has_problems(folder: &Path, kinds: &[&str]) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let known = servers(folder).remove(0)["problems"].as_array().unwrap().clone();
        if known.iter().map(|problem| problem["kind"].as_str().unwrap()).eq(kinds.iter().copied()) {
            return known;
        }
        assert!(Instant::now() < deadline, "{kinds:?} were expected: {known:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn status_shows_problems_until_they_are_solved() {
    let config = "[server]\napproval = \"warn\"\n";
    let server = Server::builder().guest("version_a").config(config).start().await;
    let folder = server.folder();
    has_problems(folder, &[]).await;
    install_bytes(b"[server]\ncolour = 1\n", folder, "plugport.toml");
    let known = has_problems(folder, &["configuration"]).await;
    assert!(known[0]["reason"].as_str().unwrap().contains("colour: unknown key"), "{known:?}");
    let (code, shown, _) = run(folder, &[]);
    assert!(code == Some(0) && shown.contains("\n  problem: 1 mistake in "), "{shown}");
    // The same as before, so nothing else has changed.
    install_bytes(config.as_bytes(), folder, "plugport.toml");
    has_problems(folder, &[]).await;
    install_bytes(b"torn", folder, "plugport.lock");
    let known = has_problems(folder, &["lock"]).await;
    assert!(known[0]["reason"].as_str().unwrap().contains("restore it"), "{known:?}");
    std::fs::remove_file(folder.join("plugport.lock")).unwrap();
    has_problems(folder, &[]).await;
    assert_eq!(version(&server, "version_a")["state"], "serving");
}

#[tokio::test]
async fn status_shows_a_plugin_that_is_served_without_approval() {
    let server = Server::builder().guest("version_a").config("[server]\napproval = \"warn\"\n").start().await;
    let served = version(&server, "version_a");
    assert_eq!(served["state"], "serving");
    let why = served["reason"].as_str().unwrap();
    assert!(why.starts_with("has not been approved; run `plugport approve version_a --plugins "), "{why}");
}

#[tokio::test]
async fn status_shows_rejected_items_with_the_reason() {
    let server = Server::builder().guest("library").start().await;
    let library = version(&server, "library");
    let items = library["unpublished"].as_array().unwrap();
    let bad = items.iter().find(|item| item["name"] == "bad").unwrap();
    assert!(bad["kind"] == "tool" && bad["reason"].as_str().unwrap().contains("x-mcp-header"), "{bad}");
    assert_eq!((&library["unpublished_more"], &library["reason"]), (&json!(0), &json!(null)));
    assert!(run(server.folder(), &[]).1.contains("not published"));
}

/// The path of a socket has at most some hundred bytes.
#[tokio::test]
async fn the_state_folder_may_have_a_long_path() {
    let state = format!("{0}/{0}/state", "long".repeat(40));
    let config = format!("[server]\nstate_dir = \"{state}\"\n");
    let server = Server::builder().guest("polite").config(&config).start().await;
    assert_eq!(version(&server, "polite")["state"], "serving");
    assert!(!server.log().contains("will not find this server"), "{}", server.log());
    // Mistakes in the rest of the configuration do not matter.
    let config =
        format!("{config}[plugins.polite.grants]\nsecrets = {{ token = {{ env = \"PLUGPORT_NONE\" }} }}\n");
    std::fs::write(server.folder().join("plugport.toml"), config).unwrap();
    assert_eq!(servers(server.folder()).len(), 1);
}

#[tokio::test]
async fn status_shows_a_plugin_that_waits_for_approval() {
    let server =
        Server::builder().guest("version_a").config("[server]\napproval = \"strict\"\n").start().await;
    let held = wait_for_state(&server, "version_a", "pending").await;
    assert!(held["reason"].as_str().unwrap().contains("plugport approve"), "{held}");
    assert_eq!(servers(server.folder())[0]["approval"], "strict");
}

/// C2: a call of a replaced version ends after the drain time.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_version_that_was_replaced_end_when_its_time_is_over() {
    let config = "[server]\ndrain_s = 3\n[plugins.polite]\nlimits = { quarantine_failures = 1 }\n";
    let server = Server::builder().guest("polite").config(config).start().await;
    let client = Client::new(server.url());
    let during = client.clone();
    let nap = tokio::spawn(async move { during.call("polite-nap", json!({ "ms": 25_000 })).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = version(&server, "polite");
    assert_eq!(before["running"], 1);
    replace(&server, "polite.wasm", "version_a");
    let draining = wait_for_state(&server, "polite", "draining").await;
    assert_eq!((&draining["digest"], &draining["running"]), (&before["digest"], &json!(1)));
    let ended = nap.await.unwrap();
    assert!(
        ended.tool_error().contains("the plugin was replaced or removed while the tool ran"),
        "{ended:?}"
    );
    assert!(ended.tool_error().contains("`drain_s`"), "{ended:?}");
    server.wait_for_audit_lines(|line| line["outcome"] == "replaced", 1).await;
    assert_eq!(client.call("polite-version", json!({})).await.tool_text(), "a");
    assert_eq!(version(&server, "polite")["state"], "serving");
}

fn question() -> Value {
    json!({ "method": "elicitation/create", "params": form(), "key": "who" })
}

/// C2: a suspended call without a session has no open stream; the client gets the error when it repeats the call.
#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_stateless_call_ends_with_its_version() {
    let server = client_requests_server("[server]\ndrain_s = 1\n").await;
    let client = Client::new(server.url());
    let call = async |more: Value| -> HttpResponse {
        let mut params = json!({ "name": "ask", "arguments": question() });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request_with_meta("tools/call", params, json!({ CAPABILITIES: capabilities() })).await
    };
    let suspended = call(json!({})).await;
    assert_eq!(suspended.result()["resultType"], "input_required", "{suspended:?}");
    replace(&server, "client_requests.wasm", "version_a");
    wait_for_state(&server, "client_requests", "draining").await;
    while versions(&server, "client_requests").len() > 1 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // With any response, or none.
    let ended =
        call(json!({ "requestState": suspended.result()["requestState"], "inputResponses": {} })).await;
    assert!(ended.tool_error().contains("`drain_s`"), "{ended:?}");
}

/// A client with an open stream gets the error at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_call_of_a_session_ends_with_its_version() {
    let server = client_requests_server("[server]\ndrain_s = 1\n").await;
    let session = Client::new(server.url()).session_with(LEGACY, capabilities()).await;
    let params = json!({ "name": "ask", "arguments": question() });
    let mut stream = session.stream(json!(7), "tools/call", params).await;
    let client_request = stream.message().await;
    assert_eq!(client_request["method"], "elicitation/create", "{client_request}");
    replace(&server, "client_requests.wasm", "version_a");
    let withdrawn = stream.message().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    let response = stream.message().await;
    let text = response["result"]["content"][0]["text"].as_str().unwrap();
    assert!(response["id"] == 7 && text.contains("`drain_s`"), "{response}");
}
