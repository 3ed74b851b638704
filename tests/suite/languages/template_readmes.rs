//! The README of each template leads from an empty folder to a published tool.
//!
//! `plugport new` writes a project, and this test runs all commands of its README in their order. Then a client calls
//! the tool and responds to its client request.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use plugport_tests::answering_client::AnsweringClient;
use plugport_tests::build::{binary, root, shared_cache_home};
use plugport_tests::server::Server;
use plugport_tests::toolchain::{self, Lang};
use serde_json::{Value, json};

use super::reproducible_builds::BuiltProject;

/// A name that each language has to write in its own way.
const NAME: &str = "my-tool";

const CONFIG: &str = "\
[limits]
compile_ms = 600_000
wall_ms = 60_000
[plugins.my-tool.grants]
elicitation = true
";

/// How long a server of the test's build may compile an interpreter.
const TIMEOUT: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_rust_is_published() {
    publish("rust", Lang::Rust).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_typescript_is_published() {
    publish("typescript", Lang::TypeScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_javascript_is_published() {
    publish("javascript", Lang::JavaScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_python_is_published() {
    publish("python", Lang::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_go_is_published() {
    publish("go", Lang::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_c_is_published() {
    publish("c", Lang::C).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_cpp_is_published() {
    publish("cpp", Lang::C).await;
}

async fn publish(template: &'static str, lang: Lang) {
    let Some(path) = tokio::task::spawn_blocking(move || toolchain::require(lang)).await.unwrap() else {
        return;
    };
    let server = Server::builder().guest("polite").config(CONFIG).start().await;
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(server.folder(), dir.path().join("plugins")).unwrap();
    let project = dir.path().join(NAME);
    let path = with_plugport(&path);
    tokio::task::spawn_blocking(move || {
        let new = format!("plugport new {NAME} --lang {template}");
        run(&new, project.parent().unwrap(), &path);
        let readme = std::fs::read_to_string(project.join("README.md")).unwrap();
        let commands = commands(&readme);
        assert!(commands.contains("plugport build") && commands.contains("plugport call"), "{readme}");
        let lock = || std::fs::read_to_string(project.join("Cargo.lock")).ok();
        let before = lock();
        run(&commands, &project, &path);
        assert_eq!(lock(), before, "a project of Rust comes with the lock that it needs");
        BuiltProject { template, folder: &project, path: &path }.is_reproducible();
    })
    .await
    .unwrap();
    greets(&server).await;
}

/// The commands in the blocks, except those that serve, since there is a server already.
fn commands(readme: &str) -> String {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter(|line| *line != "plugport dev");
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// Runs commands as a shell does, up to the first that fails.
fn run(commands: &str, folder: &Path, path: &OsString) {
    let mut shell = Command::new("sh");
    shell.args(["-e", "-u", "-x", "-c", commands]).current_dir(folder).env("PATH", path);
    // Projects share the target folder of the plugins, so that common dependencies compile once; the commands are the
    // same.
    shell.env("CARGO_TARGET_DIR", root().join("target/plugins-build")).env_remove("RUSTFLAGS");
    shell.env("XDG_CACHE_HOME", shared_cache_home());
    let output = shell.output().expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    // The end of the output has the reason and comes first, since logs are cut.
    let lines: Vec<&str> = said.lines().collect();
    let end = lines[lines.len().saturating_sub(8)..].join("\n");
    assert!(output.status.success(), "{end}\nis how these commands ended:\n{commands}\nin full:\n{said}");
    if commands.contains("plugport call") {
        assert!(String::from_utf8_lossy(&output.stdout).contains("Hello, Ada!"), "{said}");
    }
}

fn with_plugport(path: &OsString) -> OsString {
    let program = binary();
    let folders = program.parent().map(Path::to_path_buf).into_iter().chain(std::env::split_paths(path));
    std::env::join_paths(folders).expect("a folder of PATH has no colon")
}

/// Calls the tool as a client that responds to client requests.
async fn greets(server: &Server) {
    for caller in AnsweringClient::both(server.url()).await {
        published(&caller, server).await;
        let hello = async |arguments: Value, responses: &[Value]| {
            caller.call("my-tool-hello", arguments, responses).await.text().to_owned()
        };
        assert_eq!(hello(json!({ "name": "Ada" }), &[]).await, "Hello, Ada!");
        assert_eq!(hello(json!({ "name": "Ada", "shout": true }), &[]).await, "HELLO, ADA!");
        let bo = json!({ "action": "accept", "content": { "name": "Bo" } });
        assert_eq!(hello(json!({}), &[bo]).await, "Hello, Bo!");
        let no = json!({ "action": "decline" });
        assert_eq!(hello(json!({}), &[no]).await, "Hello, whoever you are!");
    }
}

async fn published(caller: &AnsweringClient, server: &Server) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let listed = caller.request("tools/list", json!({})).await;
        if listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "my-tool-hello") {
            return;
        }
        assert!(Instant::now() < deadline, "it is not published; the server said:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
