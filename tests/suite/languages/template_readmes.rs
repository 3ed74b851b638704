//! The README of each template leads from an empty folder to a published tool, and `docs/fetch-and-keep.md` from there
//! to one that fetches and keeps.
//!
//! `plugport new` writes a project, and this test runs all commands of its README in their order. Then a client calls
//! the tool and responds to its client request. After that the source is replaced by the text of the page, and built
//! again, which is quick.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use plugport_tests::answering_client::AnsweringClient;
use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::build::{binary, build_command, root};
use plugport_tests::languages::set_author_environment;
use plugport_tests::reload::install_bytes;
use plugport_tests::server::Server;
use plugport_tests::toolchain::{self, Lang};
use serde_json::{Value, json};

use super::reproducible_builds::is_the_same_in_another_folder;

/// A name that each language has to write in its own way.
const NAME: &str = "my-tool";

/// The most lines of a plugin on the page.
const MOST_LINES: usize = 25;

const CONFIG: &str = "\
[limits]
compile_ms = 600_000
wall_ms = 60_000
[plugins.my-tool.grants]
elicitation = true
kv = true
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
    publish("cpp", Lang::Cpp).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_in_zig_is_published() {
    publish("zig", Lang::Zig).await;
}

async fn publish(template: &'static str, lang: Lang) {
    let Some(path) = tokio::task::spawn_blocking(move || toolchain::require(lang)).await.unwrap() else {
        return;
    };
    let _build = toolchain::project_build().await;
    let web = BadWebServer::start().await;
    let config = format!("{CONFIG}http = [\"GET http://{}\"]\n", web.authority());
    let server = Server::builder().guest("polite").config(&config).quickly_compiled().start().await;
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(server.folder(), dir.path().join("plugins")).unwrap();
    let project = dir.path().join(NAME);
    let path = with_plugport(&path);
    let (new_project, new_path) = (project.clone(), path.clone());
    tokio::task::spawn_blocking(move || {
        let (project, path) = (new_project, new_path);
        let new = format!("plugport new {NAME} --lang {template}");
        run(&new, project.parent().unwrap(), &path);
        let readme = std::fs::read_to_string(project.join("README.md")).unwrap();
        let commands = commands(&readme);
        assert!(commands.contains("plugport build") && commands.contains("plugport call"), "{readme}");
        let lock = || std::fs::read_to_string(project.join("Cargo.lock")).ok();
        let before = lock();
        run(&commands, &project, &path);
        assert_eq!(lock(), before, "a project of Rust comes with the lock that it needs");
        is_the_same_in_another_folder(template, &project, &path);
    })
    .await
    .unwrap();
    greets(&server).await;
    let component = tokio::task::spawn_blocking(move || page(template, &project, &path)).await.unwrap();
    install_bytes(&component, Path::new(server.folder()), "my-tool.wasm");
    keeps(&server, &web).await;
}

/// Replaces the source of a project by that of the page, and builds it.
fn page(template: &str, project: &Path, path: &OsString) -> Vec<u8> {
    let (language, file) = match template {
        "rust" => ("rust", "src/lib.rs"),
        "typescript" => ("ts", "src/plugin.ts"),
        "javascript" => ("ts", "src/plugin.js"),
        "python" => ("python", "plugin.py"),
        "go" => ("go", "plugin.go"),
        "c" => ("c", "src/plugin.c"),
        "cpp" => ("cpp", "src/plugin.cpp"),
        _ => ("zig", "src/plugin.zig"),
    };
    let page = std::fs::read_to_string(root().join("docs/fetch-and-keep.md")).unwrap();
    let block = page.split(&format!("```{language}\n")).nth(1).expect("the page has this language");
    let source = block.split("```\n").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= MOST_LINES, "{lines} lines in {language}");
    assert!(project.join(file).is_file(), "{file} is what the page says");
    std::fs::write(project.join(file), source).unwrap();
    // The server loads it.
    run("plugport build --no-load", project, path);
    std::fs::read(project.join("my-tool.wasm")).unwrap()
}

/// The commands in the blocks, except those that serve, since there is a server already.
fn commands(readme: &str) -> String {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter(|line| *line != "plugport dev");
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// Runs commands as a shell does, up to the first that fails.
fn run(commands: &str, folder: &Path, path: &OsString) {
    let mut shell = build_command("sh");
    shell.args(["-e", "-u", "-x", "-c", commands]).current_dir(folder);
    let output = set_author_environment(&mut shell, path).output().expect("there is a shell");
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
        published(&caller, server, "my-tool-hello").await;
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

/// The first call of each caller sends a request, and the second one none.
async fn keeps(server: &Server, web: &BadWebServer) {
    for caller in AnsweringClient::both(server.url()).await {
        published(&caller, server, "my-tool-page").await;
        let target = format!("/page?{}", caller.revision());
        let get = async || {
            caller.call("my-tool-page", json!({ "url": web.url(&target) }), &[]).await.text().to_owned()
        };
        let requests = || web.heads().iter().filter(|head| head.contains(&target)).count();
        let fetched = get().await;
        assert!(fetched.starts_with("hello\n"), "{fetched}");
        assert_eq!(requests(), 1);
        assert_eq!((get().await, requests()), (fetched, 1));
    }
}

async fn published(caller: &AnsweringClient, server: &Server, name: &str) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let listed = caller.request("tools/list", json!({})).await;
        if listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name) {
            return;
        }
        assert!(Instant::now() < deadline, "it is not published; the server said:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
