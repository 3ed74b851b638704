//! A name belongs to the plugin that it begins with, for any order of files.

use std::path::Path;

use plugport_tests::guests::{LONG_START, folder, guest};
use plugport_tests::hostile_files::burdened;
use plugport_tests::http_client::Client;
use plugport_tests::raw_server::RawServer;
use plugport_tests::reload::{install_bytes, tool_names, wait_for_log_times, wait_for_result};
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};

/// A component whose functions all return one number.
fn constant_functions(functions: &[&str], number: u32) -> Vec<u8> {
    let exports: String = functions
        .iter()
        .map(|name| format!(r#"(func (export "{name}") (result u32) (canon lift (core func $i "answer")))"#))
        .collect();
    let text = format!(
        r#"(component
             (core module $m (func (export "answer") (result i32) (i32.const {number})))
             (core instance $i (instantiate $m))
             {exports})"#
    );
    wat::parse_str(text).unwrap()
}

/// The text of such a tool's result.
fn result_text(number: u32) -> String {
    json!({ "result": number }).to_string()
}

/// `github`, with a tool that would take a name of `github-issues`.
fn first_claimant() -> Vec<u8> {
    constant_functions(&["list", "issues-create"], 1)
}

/// `github-issues`.
fn owner() -> Vec<u8> {
    constant_functions(&["create"], 2)
}

const NAME: &str = "github-issues-create";

const TAKEN: &str = "issues-create: the name `github-issues-create` belongs to the plugin `github-issues`";

/// Runs a command on a folder with its configuration in it.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = program();
    command.args(args).arg("--plugins").arg(folder).current_dir(folder);
    let config = folder.join("plugport.toml");
    if config.exists() {
        command.arg("--config").arg(config);
    }
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_goes_to_the_plugin_that_it_names_although_another_was_first() {
    let server = Server::builder().file("github.wasm", &first_claimant()).start().await;
    let client = Client::new(server.url());
    wait_for_result(&client, NAME, Some(result_text(1).as_str())).await;
    let mut stream = client.session("2025-11-25").await.listen(None).await;
    install_bytes(&owner(), server.folder(), "github-issues.wasm");
    wait_for_result(&client, NAME, Some(result_text(2).as_str())).await;
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    wait_for_log_times(&server, TAKEN, 1).await;
    assert_eq!(tool_names(&client).await, [NAME, "github-list"]);
    install_bytes(&constant_functions(&["list", "issues-create"], 3), server.folder(), "github.wasm");
    wait_for_result(&client, "github-list", Some(result_text(3).as_str())).await;
    wait_for_result(&client, NAME, Some(result_text(2).as_str())).await;
    std::fs::remove_file(server.folder().join("github-issues.wasm")).unwrap();
    wait_for_result(&client, NAME, Some(result_text(3).as_str())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_goes_to_the_plugin_that_it_names_although_another_comes_later_and_after_a_restart() {
    let server = Server::builder().file("github-issues.wasm", &owner()).start().await;
    let client = Client::new(server.url());
    install_bytes(&first_claimant(), server.folder(), "github.wasm");
    wait_for_result(&client, "github-list", Some(result_text(1).as_str())).await;
    wait_for_result(&client, NAME, Some(result_text(2).as_str())).await;
    wait_for_log_times(&server, TAKEN, 1).await;
    drop(server);
    let both = Server::builder().file("github.wasm", &first_claimant()).file("github-issues.wasm", &owner());
    let server = both.start().await;
    assert_eq!(Client::new(server.url()).call(NAME, json!({})).await.tool_text(), result_text(2));
}

/// The URIs name neither plugin, so the quicker one has no right to them.
#[tokio::test(flavor = "multi_thread")]
async fn a_uri_that_names_no_plugin_waits_until_all_are_loaded() {
    let plugins = folder(&["library"]);
    let slow = burdened(&std::fs::read(guest("library")).unwrap(), 10_000);
    std::fs::write(plugins.path().join("other.wasm"), slow).unwrap();
    for _ in 0..2 {
        let server = RawServer::start(plugins.path(), LONG_START);
        let client = Client::new(server.url().await);
        let read = client.request("resources/read", json!({ "uri": "lib:page/1" })).await;
        assert!(read.response()["error"]["code"].is_i64(), "{read:?}");
    }
}

/// A plugin that could not be loaded keeps its names: otherwise a quicker plugin would get them.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_cannot_be_served_keeps_its_names() {
    let server = Server::builder()
        .file("github.wasm", &first_claimant())
        .file("github-issues.wasm", b"nothing")
        .start()
        .await;
    let client = Client::new(server.url());
    wait_for_result(&client, "github-list", Some(result_text(1).as_str())).await;
    assert_eq!(tool_names(&client).await, ["github-list"]);
    wait_for_log_times(&server, TAKEN, 1).await;
}

#[test]
fn check_reports_name_conflicts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("github.wasm"), first_claimant()).unwrap();
    std::fs::write(folder.path().join("github-issues.wasm"), owner()).unwrap();
    let (code, out) = run(folder.path(), &["check"]);
    assert_eq!(code, Some(1), "{out}");
    for line in [
        "  fault: the tool `issues-create` is not published: the name `github-issues-create` belongs to the plugin \
         `github-issues`\n",
        "  warning: the plugin `github` lists `github-issues-create`, which belongs to this one and is not published for \
         it\n",
        "2 plugins, 1 fault\n",
    ] {
        assert!(out.contains(line), "{line:?} is not in:\n{out}");
    }
    let (_, out) = run(folder.path(), &["check", "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let [first_claimant, owner] = found["plugins"].as_array().unwrap().as_slice() else {
        panic!("{found:#}")
    };
    let [first_claimant, owner] =
        if first_claimant["name"] == "github" { [first_claimant, owner] } else { [owner, first_claimant] };
    let rejected = &first_claimant["rejected"][0];
    assert_eq!((&first_claimant["ok"], &owner["ok"]), (&json!(false), &json!(true)));
    assert_eq!((&rejected["key"], &rejected["owner"]), (&json!(NAME), &json!("github-issues")));
    assert_eq!(owner["wantedByOthers"], json!([{ "key": NAME, "by": "github" }]));
    assert_eq!(owner["published"]["tools"], json!([NAME]));
}

#[tokio::test(flavor = "multi_thread")]
async fn approving_reports_name_conflicts_and_a_name_that_changes_its_plugin_waits_for_it() {
    let strict = "[server]\napproval = \"strict\"\n";
    let builder = Server::builder()
        .file("github.wasm", &first_claimant())
        .file("github-issues.wasm", &owner())
        .file("plugport.toml", strict.as_bytes());
    let approve = |name: &str| run(builder.folder(), &["approve", name, "--yes"]);
    let (code, out) = approve("github");
    let note = "note: the tool `issues-create` is not approved with it: the name `github-issues-create` belongs to the plugin \
                `github-issues`\n";
    assert!(code == Some(0) && out.contains(note) && !out.contains("tool `issues-create` added"), "{out}");
    assert_eq!(approve("github-issues").0, Some(0));
    assert!(approve("github").1.contains(note), "also when there is nothing else to say");
    let server = builder.config(strict).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call(NAME, json!({})).await.tool_text(), result_text(2));
    server.wait_for_log(TAKEN).await;
    std::fs::remove_file(server.folder().join("github-issues.wasm")).unwrap();
    server
        .wait_for_log("not published: issues-create: has not been approved; run `plugport approve github")
        .await;
    assert_eq!(tool_names(&client).await, ["github-list"], "nobody has said who has it now");
    let approve = |name: &str| run(server.folder(), &["approve", name, "--yes"]);
    let (_, out) = tokio::task::block_in_place(|| approve("github"));
    assert!(out.contains("tool `issues-create` added"), "{out}");
    wait_for_result(&client, NAME, Some(result_text(1).as_str())).await;
    std::fs::write(server.folder().join("github-issues.wasm"), owner()).unwrap();
    let (_, out) = tokio::task::block_in_place(|| approve("github-issues"));
    let note = "note: `github-issues-create`, which was approved of `github`, belongs to it\n";
    assert!(out.contains(note), "{out}");
    wait_for_result(&client, NAME, Some(result_text(2).as_str())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_whose_names_look_alike_wait_until_the_operator_says_which_is_meant() {
    let server = Server::builder()
        .file("Mail.wasm", &constant_functions(&["send"], 1))
        .file("mail.wasm", &constant_functions(&["send"], 2))
        .file("other.wasm", &constant_functions(&["send"], 3))
        .file("ｍail.wasm", &constant_functions(&["send"], 4))
        .config("")
        .start()
        .await;
    let client = Client::new(server.url());
    assert_eq!(tool_names(&client).await, ["other-send"]);
    server
        .wait_for_log(
            "its name looks like that of the plugin `mail`, and nothing says which of them is meant",
        )
        .await;
    server.wait_for_log("only letters, digits, `_`, `-` and `.` are allowed; rename the file").await;
    let config = server.folder().join("plugport.toml");
    let (code, out) = run(server.folder(), &["check"]);
    assert!(
        code == Some(1) && out.matches("  fault: is withheld: its name looks like").count() == 2,
        "{out}"
    );
    std::fs::write(&config, "[plugins.mail]\n").unwrap();
    wait_for_result(&client, "mail-send", Some(result_text(2).as_str())).await;
    assert_eq!(tool_names(&client).await, ["mail-send", "other-send"]);
    server.wait_for_log("its name looks like that of the plugin `mail`; rename its file").await;
    std::fs::write(&config, "[plugins.Mail]\nprefix = \"post\"\n").unwrap();
    wait_for_result(&client, "post-send", Some(result_text(1).as_str())).await;
    assert_eq!(tool_names(&client).await, ["mail-send", "other-send", "post-send"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uri_is_read_by_the_plugin_that_it_names() {
    let library = std::fs::read(guest("library")).unwrap();
    // Both list `lib:page/static` and have `lib:item/{id}/data`.
    let server = Server::builder().file("archive.wasm", &library).file("lib.wasm", &library).start().await;
    let client = Client::new(server.url());
    for uri in ["lib:page/static", "lib:item/7/data"] {
        client.request("resources/read", json!({ "uri": uri })).await;
        let is_its_read = |line: &Value| line["function"] == "resources/read" && line["name"] == uri;
        let reads = server.wait_for_audit_lines(is_its_read, 1).await;
        assert_eq!(reads[0]["plugin"], "lib", "{uri}");
    }
    server
        .wait_for_log("not published: lib:page/static: the URI `lib:page/static` belongs to the plugin `lib`")
        .await;
    server.wait_for_log("the URI template `lib:item/{id}/data` belongs to the plugin `lib`").await;
    install_bytes(&library, server.folder(), "books.wasm");
    std::fs::remove_file(server.folder().join("lib.wasm")).unwrap();
    // A URI that names no plugin has no owner yet.
    wait_for_log_times(&server, "with the same right; name one of them in plugport.toml", 2).await;
    let listed = client.request("resources/list", json!({})).await;
    assert_eq!(listed.result()["resources"], json!([]));
}
