//! An approved plugin cannot change unnoticed: a file, an item, a schema or an import that differs from the lockfile is
//! not served until the operator approves it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plugport_tests::build::shared_cache_home;
use plugport_tests::command::output;
use plugport_tests::guests::{folder, guest};
use plugport_tests::http_client::Client;
use plugport_tests::reload::{install_guest, listed_tools, wait_for_result};
use plugport_tests::server::{Builder, Server, binary, program};
use serde_json::json;

const STRICT: &str = "[server]\napproval = \"strict\"\n";

/// The beginning of the command; the folder and the configuration of the server follow.
const REMEDY: &str = "run `plugport approve v --plugins ";

/// Runs `plugport approve` without a terminal on a folder that has its configuration in it.
fn approve(folder: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program();
    command.arg("approve").args(["--plugins", folder.to_str().unwrap()]).args(more).current_dir(folder);
    let config = folder.join("plugport.toml");
    if config.exists() {
        command.arg("--config").arg(config);
    }
    output(command.stdin(Stdio::null()))
}

fn accept(folder: &Path, more: &[&str]) -> String {
    let (code, out, err) = approve(folder, &[&["--yes"], more].concat());
    assert_eq!(code, Some(0), "{out}{err}");
    out
}

fn lockfile(folder: &Path) -> PathBuf {
    folder.join("plugport.lock")
}

/// `version_a` as `v`, approved, in a folder with this configuration.
fn approved(config: &str) -> Builder {
    let builder =
        Server::builder().file("v.wasm", &std::fs::read(guest("version_a")).unwrap()).config(config);
    std::fs::write(builder.folder().join("plugport.toml"), config).unwrap();
    accept(builder.folder(), &[]);
    builder
}

#[test]
fn a_new_plugin_is_shown_whole_and_written_down_when_it_is_accepted() {
    let plugins = folder(&["version_a"]);
    let (code, out, err) = approve(plugins.path(), &[]);
    assert_eq!(code, Some(1), "{out}{err}");
    for said in [
        "version_a is new\n  digest added:\n    +sha256:",
        "  tool `version` added:\n    +name: version_a-version\n    +description: Say which build this is.\n    +input schema:\n",
    ] {
        assert!(out.contains(said), "{said:?} is not in:\n{out}");
    }
    assert!(err.contains("run `plugport approve` on a terminal, or with --yes"), "{err}");
    assert!(!lockfile(plugins.path()).exists(), "nothing is written that nobody accepted");
    assert!(accept(plugins.path(), &["version_a"]).ends_with("plugport.lock\n"));
    let text = std::fs::read_to_string(lockfile(plugins.path())).unwrap();
    assert!(text.contains("[plugins.version_a.tools.version]\n"), "{text}");
    assert!(text.contains("\ndescription: Say which build this is.\n"), "{text}");
    assert_eq!(accept(plugins.path(), &[]), "nothing has changed since it was approved\n");
    assert_eq!(std::fs::read_to_string(lockfile(plugins.path())).unwrap(), text);
    let (code, _, err) = approve(plugins.path(), &["other"]);
    assert_eq!((code, err.contains("there is no plugin `other`")), (Some(2), true), "{err}");
    assert!(err.contains("there are: version_a"), "{err}");
}

#[test]
fn a_folder_without_plugins_has_nothing_to_approve() {
    let plugins = folder(&[]);
    let out = accept(plugins.path(), &[]);
    assert_eq!(out, format!("there is no plugin in {}\n", plugins.path().display()));
    assert!(!lockfile(plugins.path()).exists());
}

#[test]
fn deleted_plugins_lose_their_approval_and_broken_ones_keep_it() {
    let plugins = folder(&["version_a", "version_b"]);
    accept(plugins.path(), &[]);
    std::fs::remove_file(plugins.path().join("version_a.wasm")).unwrap();
    std::fs::write(plugins.path().join("version_b.wasm"), b"\0asm\x0d\0\x01\0\xff").unwrap();
    let (code, out, _) = approve(plugins.path(), &["--yes"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("version_b.wasm: cannot be approved\n  fault: "), "{out}");
    assert!(out.contains("version_a is not in the folder any more"), "{out}");
    let text = std::fs::read_to_string(lockfile(plugins.path())).unwrap();
    assert!(!text.contains("version_a") && text.contains("[plugins.version_b]"), "{text}");
}

#[test]
fn a_plugin_that_lists_with_its_grants_alone_is_approved_with_them() {
    let (dir, plugins) = (tempfile::tempdir().unwrap(), folder(&["listing_side_effect"]));
    std::fs::create_dir(dir.path().join("marks")).unwrap();
    let config = dir.path().join("plugport.toml");
    let grants = "[plugins.listing_side_effect.grants]\nenv = [{ TZ = \"c4nary\" }]\n\
                  dirs = [{ host = \"marks\", guest = \"/marks\", write = true }]\n";
    std::fs::write(&config, grants).unwrap();
    let there = ["--config", config.to_str().unwrap()];
    let (code, out, _) = approve(plugins.path(), &[&there[..], &["--yes"]].concat());
    assert_eq!((code, out.contains("approve --with-grants listing_side_effect")), (Some(1), true), "{out}");
    assert!(!lockfile(dir.path()).exists() && !dir.path().join("marks/listed").exists());
    let out = accept(plugins.path(), &[&there[..], &["--with-grants"]].concat());
    assert!(out.contains("    +read and write ./marks as /marks, up to 64 MiB in 1000 files\n"), "{out}");
    let text = std::fs::read_to_string(lockfile(dir.path())).unwrap();
    assert!(text.contains("see the variables TZ") && !text.contains("c4nary"), "{text}");
    assert!(!text.contains(dir.path().to_str().unwrap()), "it holds on one machine only:\n{text}");
    assert_eq!(accept(plugins.path(), &there), "nothing has changed since it was approved\n");
    std::fs::write(&config, format!("{grants}http = [\"https://example.com\"]\n")).unwrap();
    let (_, out, _) = approve(plugins.path(), &[&there[..], &["--with-grants"]].concat());
    assert!(
        out.contains(
            "listing_side_effect has changed since it was approved\n  grants changed:\n    +send HTTP"
        ),
        "{out}"
    );
}

/// At a terminal the command has already asked, so its output does not advise to use a terminal.
#[test]
fn declining_at_a_terminal_gives_no_advice_to_use_one() {
    let plugins = folder(&["version_a"]);
    let answer = plugins.path().join("answer");
    std::fs::write(&answer, "n\n").unwrap();
    let terminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut python = Command::new("python3");
    python.args(["-c", terminal, binary().to_str().unwrap(), "approve", "--plugins", "."]);
    python.env("XDG_CACHE_HOME", shared_cache_home());
    python.current_dir(plugins.path()).stdin(std::fs::File::open(answer).unwrap());
    let (code, out, err) = output(&mut python);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("Accept version_a? [y/N]"), "{out}");
    assert!(out.contains("what was not accepted is not approved") && !out.contains("on a terminal"), "{out}");
    assert!(!lockfile(plugins.path()).exists());
}

/// Runs `plugport call` on a plugin of the folder, or on a file.
fn call(folder: &Path, plugin: &str) -> (Option<i32>, String, String) {
    let mut command = program();
    command.args(["call", plugin, "version", "--plugins"]).arg(folder);
    output(command.arg("--config").arg(folder.join("plugport.toml")).current_dir(folder))
}

#[test]
fn plugport_call_needs_the_same_approval_as_a_server() {
    let builder = approved(STRICT);
    let folder = builder.folder();
    let served = |answer: &str| {
        let (code, out, err) = call(folder, "v");
        assert_eq!((code, out.as_str()), (Some(0), answer), "{err}");
        err
    };
    assert!(!served("a\n").contains("approve"));
    install_guest("version_b", folder, "v.wasm");
    for plugin in ["v", "./v.wasm"] {
        let (code, out, err) = call(folder, plugin);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains(&format!("is not the file that was approved; {REMEDY}")), "{err}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    install_guest("version_b", elsewhere.path(), "v.wasm");
    let strange = elsewhere.path().join("v.wasm");
    assert_eq!(call(folder, strange.to_str().unwrap()).0, Some(0), "what gets nothing needs no approval");
    let say = |config: &str| std::fs::write(folder.join("plugport.toml"), config).unwrap();
    say("[server]\napproval = \"warn\"\n");
    assert!(served("b\n").contains(&format!("is not the file that was approved; {REMEDY}")));
    say("[server]\nlisten = \"0.0.0.0:7584\"\n");
    assert_eq!(call(folder, "v").0, Some(2), "others can reach such a server");
    say("");
    assert!(!served("b\n").contains("approve"));
}

/// The command in the log approves the plugins of this server from any directory.
#[tokio::test(flavor = "multi_thread")]
async fn the_command_that_is_advised_can_be_typed_as_it_is() {
    let server = approved(STRICT).start().await;
    install_guest("version_b", server.folder(), "v.wasm");
    server.wait_for_log(REMEDY).await;
    let said = server.log();
    let advised = said.split("run `plugport ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("\"$0\" {advised} --yes")).arg(binary()).current_dir("/");
    shell.env("XDG_CACHE_HOME", shared_cache_home());
    let (code, out, err) = output(&mut shell);
    assert_eq!(code, Some(0), "{advised}: {out}{err}");
    wait_for_result(&Client::new(server.url()), "v-version", Some("b")).await;
}

/// A served version is replaced in one step when its successor is approved.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_fails_while_an_update_is_approved() {
    let server = approved(STRICT).start().await;
    let client = Client::new(server.url());
    let mut stream = client.session("2025-11-25").await.listen(None).await;
    install_guest("changed_description", server.folder(), "v.wasm");
    server.wait_for_log(REMEDY).await;
    let enough = Arc::new(AtomicBool::new(false));
    let (caller, until) = (client.clone(), Arc::clone(&enough));
    let calling = tokio::spawn(async move {
        let mut texts = Vec::new();
        while !until.load(Ordering::Relaxed) {
            texts.push(caller.call("v-version", json!({})).await.tool_text().to_owned());
            // Far below `tool_calls_per_second`.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        texts
    });
    tokio::task::block_in_place(|| accept(server.folder(), &["v"]));
    wait_for_result(&client, "v-version", Some("described")).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    enough.store(true, Ordering::Relaxed);
    let mut texts = calling.await.expect("no call fails");
    texts.dedup();
    assert_eq!(texts, ["a", "described"], "each version once, and nothing between them");
    let mut told = 0;
    while let Ok(message) = tokio::time::timeout(Duration::from_millis(500), stream.message()).await {
        assert_eq!(message["method"], "notifications/tools/list_changed");
        told += 1;
    }
    assert!(told <= 1, "clients were told {told} times of one change");
}

/// P1: another binary with the same listing.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_waits_for_approval_and_the_approved_one_goes_on() {
    let server = approved(STRICT).start().await;
    let client = Client::new(server.url());
    let before = listed_tools(&client).await;
    assert_eq!((before.len(), &before[0]["name"]), (1, &json!("v-version")));
    install_guest("version_b", server.folder(), "v.wasm");
    server.wait_for_log(&format!("is not the file that was approved; {REMEDY}")).await;
    install_guest("polite", server.folder(), "p.wasm");
    server.wait_for_log("has not been approved; run `plugport approve p --plugins ").await;
    assert_eq!(listed_tools(&client).await, before);
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "a");
    let out = accept(server.folder(), &["v"]);
    assert!(out.starts_with("v has changed since it was approved\n  digest changed:\n    -sha256:"), "{out}");
    assert!(!out.contains("tool `"), "only its file is another:\n{out}");
    wait_for_result(&client, "v-version", Some("b")).await;
    assert_eq!(listed_tools(&client).await, before, "p was not approved");
    accept(server.folder(), &["p"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while listed_tools(&client).await == before {
        assert!(Instant::now() < deadline, "what was approved is not served:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(client.call("p-echo", json!({ "message": "x" })).await.tool_text(), "x");
}

/// Replaces the approved `v` by another guest. Clients see nothing of the new version until it is approved, and
/// `approve` shows all of `told`.
async fn waits_until_accepted(name: &str, answer: &str, told: &[&str]) {
    let server = approved(STRICT).start().await;
    let client = Client::new(server.url());
    let before = listed_tools(&client).await;
    install_guest(name, server.folder(), "v.wasm");
    server.wait_for_log(REMEDY).await;
    assert_eq!(listed_tools(&client).await, before);
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "a");
    let (code, out, _) = approve(server.folder(), &["v"]);
    assert_eq!(code, Some(1), "{out}");
    for line in told {
        assert!(out.contains(line), "{line:?} is not in:\n{out}");
    }
    assert_eq!(listed_tools(&client).await, before, "it was only shown");
    accept(server.folder(), &["v"]);
    wait_for_result(&client, "v-version", Some(answer)).await;
}

/// P2.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_description_waits_for_approval() {
    let told = [
        "tool `version` changed:\n",
        "    -description: Say which build this is.\n",
        "other tools have answered.",
    ];
    waits_until_accepted("changed_description", "described", &told).await;
}

/// P3.
#[tokio::test(flavor = "multi_thread")]
async fn a_wider_schema_waits_for_approval() {
    waits_until_accepted("changed_schema", "widened", &["tool `version` changed:\n", "\"context\": {\n"])
        .await;
}

/// P4.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_import_waits_for_approval() {
    waits_until_accepted(
        "changed_import",
        "imports",
        &["imports changed:\n", "    +plugport:plugin/http-client"],
    )
    .await;
}

/// P5: a damaged lockfile is an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_torn_or_edited_lockfile_is_detected() {
    let server = approved(STRICT).start().await;
    let client = Client::new(server.url());
    let (folder, file) = (server.folder(), lockfile(server.folder()));
    let text = std::fs::read_to_string(&file).unwrap();
    let digest = text.find("digest = \"sha256:").unwrap() + "digest = \"sha256:".len();
    let wrong = format!("{}{}{}", &text[..digest], "0".repeat(64), &text[digest + 64..]);
    let conflict = format!("<<<<<<< ours\n{text}>>>>>>> theirs\n");
    let edited = text.replace("Say which build", "Say what build");
    for damaged in [wrong.as_str(), &text[..text.len() / 2], &edited, &conflict, ""] {
        std::fs::write(&file, damaged).unwrap();
        let (code, _, err) = approve(folder, &["--yes"]);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("is not as `plugport approve` wrote it"), "{err}");
        assert!(err.contains("restore it from version control"), "{err}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged, "it is left for whoever restores it");
        let mut serve = program();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--plugins"]).arg(folder).current_dir(folder);
        let output = serve.arg("--config").arg(folder.join("plugport.toml")).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), err.contains("restore it from version control")),
            (Some(2), true),
            "{err}"
        );
    }
    server.wait_for_log("restore it from version control").await;
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "a", "what was served stays");
    std::fs::remove_file(&file).unwrap();
    accept(folder, &[]);
    install_guest("version_b", folder, "v.wasm");
    server.wait_for_log(REMEDY).await;
    accept(folder, &[]);
    wait_for_result(&client, "v-version", Some("b")).await;
}

/// An approved plugin can return another listing at any time. No client gets it.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_listing_of_a_running_plugin_waits_for_approval() {
    let data = tempfile::tempdir().unwrap();
    let config = format!(
        "{STRICT}[plugins.library.grants]\ndirs = [{{ host = {:?}, guest = \"/data\", write = true }}]\n",
        data.path()
    );
    let builder = Server::builder().guest("library").guest("hostile_changing_listing").config(&config);
    std::fs::write(builder.folder().join("plugport.toml"), &config).unwrap();
    accept(builder.folder(), &["--with-grants"]);
    let server = builder.start().await;
    let client = Client::new(server.url());
    let resources = async || client.request("resources/list", json!({})).await.result()["resources"].clone();
    let before = resources().await;
    assert_eq!(before.as_array().unwrap().len(), 2);
    client.call("library-write", json!({})).await;
    server.wait_for_log("lists items that are rejected").await;
    assert_eq!(resources().await, before);
    let text = serde_json::to_string(&listed_tools(&client).await).unwrap();
    assert!(!text.contains("hostile_changing_listing"), "it says something else each time: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn warnings_are_given_and_everything_is_served() {
    let server = approved("[server]\napproval = \"warn\"\n").start().await;
    let client = Client::new(server.url());
    install_guest("changed_description", server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("described")).await;
    server.wait_for_log(&format!("is not the file that was approved; {REMEDY}")).await;
    server.wait_for_log(&format!("the tool `version` has not been approved; {REMEDY}")).await;
    install_guest("polite", server.folder(), "p.wasm");
    server.wait_for_log("has not been approved; run `plugport approve p --plugins ").await;
    server.wait_for_log("published p: ").await;
    assert_eq!(client.call("p-echo", json!({ "message": "x" })).await.tool_text(), "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_approval_nothing_is_compared() {
    for config in ["[server]\napproval = \"off\"\n", ""] {
        let builder = approved(config);
        std::fs::write(lockfile(builder.folder()), "torn").unwrap();
        let server = builder.start().await;
        let client = Client::new(server.url());
        install_guest("version_b", server.folder(), "v.wasm");
        wait_for_result(&client, "v-version", Some("b")).await;
        assert!(!server.log().contains("approve"), "{}", server.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_open_to_other_machines_serves_what_was_approved() {
    let server = approved("").guest("polite").listen("0.0.0.0:0").start().await;
    server.wait_for_log("has not been approved; run `plugport approve polite --plugins ").await;
    let client = Client::new(server.url().replace("0.0.0.0", "127.0.0.1"));
    let names: Vec<_> = listed_tools(&client).await.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, [json!("v-version")]);
}
