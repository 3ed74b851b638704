//! The first start of a server: its first lists are complete, it runs from any directory, and two servers do not
//! disturb each other.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use plugport_tests::build::{plugin, program, state_folder, xdg_homes};
use plugport_tests::guests::{copy, folder, guest};
use plugport_tests::hostile_files::burdened;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::raw_server::RawServer;
use plugport_tests::reload::{names_in, tool_names};
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// So many functions take seconds to compile in any build.
const BURDEN: u32 = 30_000;

const BOTH: [&str; 2] = ["polite-echo", "slow-version"];

/// Two plugins without cached code; compiling one takes seconds.
fn cold() -> TempDir {
    let plugins = folder(&["polite"]);
    let slow = burdened(&std::fs::read(guest("version_a")).unwrap(), BURDEN);
    std::fs::write(plugins.path().join("slow.wasm"), slow).unwrap();
    plugins
}

fn has_both(names: &[String]) -> bool {
    BOTH.iter().all(|tool| names.iter().any(|name| name == tool))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_list_is_complete_and_nothing_else_waits_for_it() {
    let plugins = cold();
    let server = RawServer::start(plugins.path(), "[server]\ninitial_load_wait_ms = 120_000\n");
    let client = Client::new(server.url().await);
    let begun = Instant::now();
    let session = client.session(LEGACY).await;
    session.request("ping", json!({})).await.result();
    assert!(!server.log().contains("\nloaded"), "it was compiled too soon to try anything");
    let handshake = begun.elapsed();
    let call = client.call("slow-version", json!({}));
    let (called, listed) = tokio::join!(call, tool_names(&client));
    assert_eq!(called.tool_text(), "a", "a call waits for what it names");
    assert!(has_both(&listed), "{listed:?}");
    assert!(handshake < Duration::from_secs(5), "{handshake:?}");
    let said = server.log();
    assert!(said.contains("compiling 2 files, which happens once for each"), "{said}");
}

/// Cached plugins are loaded quickly, unless a plugin's own start is slow.
#[tokio::test(flavor = "multi_thread")]
async fn initialize_waits_for_no_plugin_that_is_loaded() {
    let plugins = folder(&["polite", "hostile_loop_in_list_tools"]);
    RawServer::start(plugins.path(), "").wait_for_log("\nloaded").await;
    let patient = "[limits]\nstartup_ms = 20_000\ncpu_ms = 20_000\nfuel = 1_000_000_000_000\n";
    let begun = Instant::now();
    let server = RawServer::start(plugins.path(), patient);
    let client = Client::new(server.url().await);
    let session = client.session(LEGACY).await;
    session.request("ping", json!({})).await.result();
    let reply = client.call("polite-echo", json!({ "message": "x" })).await;
    assert_eq!(reply.tool_text(), "x");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(!server.log().contains("\nloaded"), "it was loaded too soon to try anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_list_is_not_to_be_cached() {
    let plugins = cold();
    let server = RawServer::start(plugins.path(), "[server]\ninitial_load_wait_ms = 0\n");
    let client = Client::new(server.url().await);
    let early = client.request("tools/list", json!({})).await;
    assert!(!server.log().contains("\nloaded"), "it was compiled too soon to try anything");
    assert_eq!(early.result()["ttlMs"], 0, "{early:?}");
    let unknown = client.call("slow-version", json!({})).await;
    assert_eq!(unknown.response()["error"]["code"], -32602, "{unknown:?}");
    server.wait_for_log("\nloaded").await;
    let late = client.request("tools/list", json!({})).await;
    assert_eq!(late.result()["ttlMs"], 10_000, "{late:?}");
    assert!(has_both(&names_in(late.result())), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_the_load_gets_progress_and_can_be_cancelled() {
    let plugins = cold();
    let mut pipe = StdioClient::cold(plugins.path());
    pipe.initialize("2025-11-25").await;
    pipe.request(json!(1), "tools/list", json!({ "_meta": { "progressToken": "t" } })).await;
    let mut last = 0.0;
    for _ in 0..2 {
        let told = pipe.next().await;
        assert_eq!(told["method"], "notifications/progress", "{told}");
        assert_eq!(told["params"]["progressToken"], "t");
        assert!(told["params"]["message"].as_str().unwrap().contains(" of 2 plugins"), "{told}");
        let progress = told["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{told}");
        last = progress;
    }
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    pipe.request(json!(2), "ping", json!({})).await;
    loop {
        let next = pipe.next().await;
        if next["method"] != "notifications/progress" {
            assert_eq!(next["id"], 2, "the list was withdrawn: {next}");
            break;
        }
    }
    pipe.signal("-TERM").await;
    assert_eq!(pipe.wait_for_exit().await, Some(0));
}

/// A client that sends requests, closes its end and then reads, like a shell script.
#[tokio::test(flavor = "multi_thread")]
async fn from_a_directory_that_cannot_be_written_a_short_lived_client_gets_the_whole_list() {
    let plugins = cold();
    let home = tempfile::tempdir().unwrap();
    let ask = async || {
        let mut command = Command::from(program());
        command.args(["serve", "--stdio", "--plugins"]).arg(plugins.path()).current_dir("/proc");
        command.env_clear().env("HOME", home.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        stdin.write_all(format!("{hello}\n{list}\n").as_bytes()).await.unwrap();
        drop(stdin);
        let output = child.wait_with_output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let lines: Vec<Value> = output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        (names_in(&lines.last().unwrap()["result"]), said)
    };
    let (listed, said) = ask().await;
    assert!(has_both(&listed), "{listed:?}: {said}");
    assert!(!said.contains("cannot be"), "{said}");
    let (listed, said) = ask().await;
    assert!(has_both(&listed) && !said.contains("compiling"), "it was kept: {said}");
    for below in [".cache/plugport/compiled", ".local/state/plugport"] {
        assert!(home.path().join(below).is_dir(), "{below}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_home_the_log_says_what_is_not_saved() {
    let plugins = folder(&["polite"]);
    let mut command = Command::from(program());
    command.args(["serve", "--stdio", "--plugins"]).arg(plugins.path()).current_dir("/");
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    for told in [
        "there is no audit and no key-value store",
        "there is no code cache, so every start compiles again",
        "`plugport status` will not find this server",
    ] {
        assert_eq!(said.matches(told).count(), 1, "{told}: {said}");
    }
    assert!(said.contains("stdin was closed"), "{said}");
}

/// A notebook with its own state; `at` is both its folder and its home.
fn notebook(at: &Path) -> RawServer {
    RawServer::start(at, "[server]\ninitial_load_wait_ms = 120_000\n[plugins.notes.grants]\nkv = true\n")
}

async fn write(client: &Client, title: &str) {
    client.call("notes-write_note", json!({ "title": title, "text": "x" })).await.result();
}

async fn notes(client: &Client) -> u64 {
    let found = client.call("notes-find_notes", json!({})).await;
    found.result()["structuredContent"]["total"].as_u64().unwrap_or_else(|| panic!("{found:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_of_one_user_share_the_store_and_one_goes_on_when_the_other_is_killed() {
    let dir = folder(&[]);
    copy(&plugin("notes"), dir.path());
    let (mut first, second) = (notebook(dir.path()), notebook(dir.path()));
    let (one, other) = (Client::new(first.url().await), Client::new(second.url().await));
    write(&one, "One").await;
    write(&other, "Two").await;
    assert_eq!((notes(&one).await, notes(&other).await), (2, 2));
    // The server lists again a moment after the plugin reports a change.
    let begun = Instant::now();
    while other.request("resources/list", json!({})).await.result()["resources"].as_array().unwrap().len()
        != 4
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "both notes, the index and the app are never listed"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let many = async |client: &Client, name: &str| {
        for number in 0..10 {
            write(client, &format!("{name} {number}")).await;
        }
    };
    tokio::join!(many(&one, "a"), many(&other, "b"));
    assert_eq!((notes(&one).await, notes(&other).await), (22, 22));
    write(&one, "Last words").await;
    first.child.kill().await.unwrap();
    let begun = Instant::now();
    assert_eq!(notes(&other).await, 23);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(state_folder(dir.path()).join("plugins.redb").exists(), "{}", second.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_reads_everything_again_and_ends_nothing() {
    let config = "[plugins.settings.grants]\nsecrets = { token = { file = \"token.txt\" } }\n";
    let builder = Server::builder().guest("settings").config(config).file("token.txt", b"first-token");
    let server = builder.start().await;
    let client = Client::new(server.url());
    let token = async || client.call("settings-get", json!({ "key": "token" })).await.tool_text().to_owned();
    assert_eq!(token().await, "first-token");
    std::fs::write(server.folder().join("token.txt"), "second-token").unwrap();
    server.signal("-HUP").await;
    server.wait_for_log("reading the folder and the configuration again").await;
    let begun = Instant::now();
    while token().await != "second-token" {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let said = {
        server.signal("-TERM").await;
        server.wait_for_log("stopping; to stop at once, ask again").await;
        server.log()
    };
    assert_eq!(server.wait_for_exit().await, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_of_an_earlier_version_is_pointed_out() {
    let plugins = folder(&["polite"]);
    std::fs::create_dir(plugins.path().join("plugport-state")).unwrap();
    let server = RawServer::start(plugins.path(), "");
    server
        .wait_for_log("plugport-state is not used; to go on with it, write `state_dir = \"plugport-state\"`")
        .await;
    let server = RawServer::start(plugins.path(), "[server]\nstate_dir = \"plugport-state\"\n");
    server.wait_for_log("\nloaded").await;
    assert!(!server.log().contains("is not used"), "{}", server.log());
}

/// Like an editor that starts a server in a folder of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_leaves_nothing_where_it_is_started() {
    let (plugins, elsewhere) = (folder(&["polite"]), tempfile::tempdir().unwrap());
    let mut command = Command::from(program());
    command.args(["serve", "--stdio", "--plugins"]).arg(plugins.path()).current_dir(elsewhere.path());
    command.envs(xdg_homes(plugins.path())).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().await.unwrap().success());
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert!(state_folder(plugins.path()).join("audit.jsonl").exists());
}
