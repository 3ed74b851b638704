//! Skills in components (SEP-2640): lists, entries, directories and files, without starting a guest; who sees them, and
//! what an operator approves.

use std::path::Path;
use std::process::Stdio;

use plugport_tests::build::guest;
use plugport_tests::command::output;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::server::{Server, program};
use plugport_tests::shipped_files::{skill, with_files};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::access::section;

const REVIEW: &str = "license: MIT\nmetadata:\n  version: \"1.0\"\n";

/// A component with a skill of four files, one of which belongs to a nested skill.
fn shipping(component: &Path) -> Vec<u8> {
    let files = [
        ("skills/review/SKILL.md", skill("review", REVIEW)),
        ("skills/review/notes/a.txt", "Notes.\n".to_owned()),
        ("skills/review/notes/deep/b.json", "{}".to_owned()),
        ("skills/review/style/SKILL.md", skill("style", "")),
    ];
    with_files(component, &files.each_ref().map(|(path, text)| (*path, text.as_str())))
}

fn uris(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["uri"].as_str().unwrap()).collect()
}

/// Whether a plugin with these files shows its skills to a client, and lets it verify each file.
async fn shows_skills(server: &Server, host: &str) {
    let client = Client::new(server.url());
    let discovered = client.request("server/discover", json!({})).await;
    let extension = &discovered.result()["capabilities"]["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(*extension, json!({ "directoryRead": true }));
    let root = format!("skill://{host}/review");
    let listed = client.request("skills/list", json!({})).await;
    let skills = &listed.result()["skills"];
    assert_eq!(uris(skills), [format!("{root}/SKILL.md"), format!("{root}/style/SKILL.md")]);
    let frontmatter = json!({ "name": "review", "description": "Says what to do.", "license": "MIT",
                              "metadata": { "version": "1.0" } });
    assert_eq!(skills[0]["frontmatter"], frontmatter);
    assert!(listed.result()["ttlMs"].is_u64() && listed.result()["cacheScope"] == "public", "{listed:?}");
    let files = &skills[0]["resources"];
    assert_eq!(files.as_array().unwrap().len(), 4, "{files}");
    for file in files.as_array().unwrap() {
        let read = client.request("resources/read", json!({ "uri": file["uri"] })).await;
        let text = read.result()["contents"][0]["text"].as_str().unwrap();
        let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(file["digest"], format!("sha256:{digest}"), "{file}");
        assert_eq!(file["size"], text.len(), "{file}");
    }
    let got = client.request("skills/get", json!({ "uri": format!("{root}/SKILL.md") })).await;
    assert_eq!(got.result()["skill"], skills[0]);

    let directory = client.request("resources/directory/read", json!({ "uri": root })).await;
    let children = &directory.result()["resources"];
    let expected = ["SKILL.md", "notes", "style"].map(|name| format!("{root}/{name}"));
    assert_eq!(uris(children), expected);
    assert_eq!(
        (&children[0]["mimeType"], &children[1]["mimeType"]),
        (&json!("text/markdown"), &json!("inode/directory"))
    );
    for (method, uri) in [
        ("skills/get", format!("{root}/notes/a.txt")),
        ("skills/get", format!("{root}/none/SKILL.md")),
        ("resources/directory/read", format!("{root}/SKILL.md")),
        ("resources/directory/read", format!("{root}/")),
        ("resources/directory/read", format!("{root}/none")),
        ("resources/directory/read", "skill://".to_owned()),
        ("resources/read", format!("{root}/../review/SKILL.md")),
    ] {
        assert_eq!(
            client.request(method, json!({ "uri": uri })).await.error_code(),
            -32602,
            "{method} {uri}"
        );
    }
    let session = client.session(LEGACY).await;
    let listed = session.request("skills/list", json!({})).await;
    assert_eq!(uris(&listed.result()["skills"]).len(), 2);
    let of_reads = |line: &Value| line["event"] == "call" && line["function"] == "resources/read";
    assert!(!server.audit().iter().any(of_reads), "a guest was called: {:?}", server.audit());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_ships_skills_that_clients_can_verify() {
    let server = Server::builder().file("tool.wasm", &shipping(&guest("polite"))).start().await;
    shows_skills(&server, "tool").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_knows_nothing_of_mcp_ships_skills_too() {
    let component = shipping(&guest("functions-arithmetic"));
    let config = "[plugins.sums]\nprefix = \"\"\n";
    let server = Server::builder().file("sums.wasm", &component).config(config).start().await;
    shows_skills(&server, "sums").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_skills_follow_each_other() {
    let files: Vec<(String, String)> = (0..40)
        .map(|number| (format!("skills/s{number:02}/SKILL.md"), skill(&format!("s{number:02}"), "")))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let server = Server::builder().file("tool.wasm", &with_files(&guest("polite"), &files)).start().await;
    let client = Client::new(server.url());
    let (mut seen, mut params) = (0, json!({}));
    loop {
        let page = client.request("skills/list", params).await;
        seen += page.result()["skills"].as_array().unwrap().len();
        let Some(next) = page.result()["nextCursor"].as_str() else { break };
        params = json!({ "cursor": next });
    }
    assert_eq!(seen, 40);
    assert_eq!(client.request("skills/list", json!({ "cursor": "x" })).await.error_code(), -32602);
    let root = client.request("resources/directory/read", json!({ "uri": "skill://tool" })).await;
    assert_eq!(root.result()["resources"].as_array().unwrap().len(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_skill_is_answered_as_one_that_does_not_exist() {
    let token = "plugport_ada-0123456789abcdefghijklmnopqrstuvwxyz";
    let roles =
        "[roles.some]\nwho = [\"token:ada\"]\nallow = [\"*\"]\ndeny = [\"resource:skill://tool/review/*\"]\n";
    let config = format!("{roles}{}", section("ada", token, ""));
    let component = with_files(
        &guest("polite"),
        &[("skills/review/SKILL.md", &skill("review", "")), ("skills/open/SKILL.md", &skill("open", ""))],
    );
    let server = Server::builder().file("tool.wasm", &component).config(&config).start().await;
    let client = Client::with_token(server.url(), token);
    let listed = client.request("skills/list", json!({})).await;
    assert_eq!(uris(&listed.result()["skills"]), ["skill://tool/open/SKILL.md"]);
    assert_eq!(listed.result()["cacheScope"], "private");
    for method in ["skills/get", "resources/read", "resources/directory/read"] {
        let of = async |name: &str| {
            let file = if method == "resources/directory/read" { "" } else { "/SKILL.md" };
            let uri = format!("skill://tool/{name}{file}");
            client.request(method, json!({ "uri": uri })).await.text.replace(name, "NAME")
        };
        assert_eq!(of("review").await, of("nobody").await, "{method}");
    }
    let root = client.request("resources/directory/read", json!({ "uri": "skill://tool" })).await;
    assert_eq!(uris(&root.result()["resources"]), ["skill://tool/open"]);
    server.wait_for_audit_lines(|line| line["function"] == "skills/get", 1).await;
}

/// Runs a command on a folder, without a terminal.
fn run(folder: &Path, command: &str, more: &[&str]) -> String {
    let mut program = program();
    program.arg(command).args(["--plugins", folder.to_str().unwrap()]).args(more).current_dir(folder);
    let (_, out, err) = output(program.stdin(Stdio::null()));
    format!("{out}{err}")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_changed_byte_of_a_skill_holds_the_plugin_until_it_is_approved() {
    let with = |text: &str| {
        with_files(&guest("version_a"), &[("skills/review/SKILL.md", &(skill("review", "") + text))])
    };
    let strict = "[server]\napproval = \"strict\"\n";
    let builder = Server::builder().file("v.wasm", &with("Be kind.\n")).config(strict);
    let shown = run(builder.folder(), "approve", &[]);
    assert!(shown.contains("resource `skill://v/review/SKILL.md` added:"), "{shown}");
    assert!(shown.contains("+  Be kind.") && shown.contains("+file's digest: sha256:"), "{shown}");
    run(builder.folder(), "approve", &["--yes"]);
    let server = builder.start().await;
    let client = Client::new(server.url());
    let read = async || {
        let read = client.request("resources/read", json!({ "uri": "skill://v/review/SKILL.md" })).await;
        read.result()["contents"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(read().await.ends_with("Be kind.\n"));
    std::fs::write(server.folder().join("v.wasm"), with("Be mean.\n")).unwrap();
    server.wait_for_log("is not the file that was approved").await;
    assert!(read().await.ends_with("Be kind.\n"), "the approved version goes on serving");
    let shown = run(server.folder(), "approve", &[]);
    assert!(shown.contains("-  Be kind.") && shown.contains("+  Be mean."), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_with_one_prefix_do_not_mix_into_one_skill() {
    let shipping = |own: &str| {
        let review = skill("review", "");
        let files = [("skills/review/SKILL.md", review.as_str()), (own, "x")];
        with_files(&guest("version_a"), &files)
    };
    let server = Server::builder()
        .file("one.wasm", &shipping("skills/review/one.txt"))
        .file("two.wasm", &shipping("skills/review/two.txt"))
        .config("[plugins.one]\nprefix = \"s\"\n[plugins.two]\nprefix = \"s\"\n")
        .start()
        .await;
    let client = Client::new(server.url());
    let listed = client.request("skills/list", json!({})).await;
    let skills = &listed.result()["skills"];
    assert_eq!(uris(skills), ["skill://s/review/SKILL.md"]);
    assert_eq!(uris(&skills[0]["resources"]), ["skill://s/review/SKILL.md", "skill://s/review/one.txt"]);
    let read = client.request("resources/read", json!({ "uri": "skill://s/review/two.txt" })).await;
    assert_eq!(read.error_code(), -32602, "{read:?}");
    server.wait_for_log("a skill is published with all its files").await;
}

#[test]
fn check_and_inspect_tell_of_files_and_of_skills_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("skills/review/SKILL.md", skill("review", "")), ("skills/bad/SKILL.md", skill("good", ""))];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let file = folder.path().join("v.wasm");
    std::fs::write(&file, with_files(&guest("version_a"), &files)).unwrap();
    let checked = run(folder.path(), "check", &[]);
    assert!(checked.contains("  ships 2 files with "), "{checked}");
    assert!(
        checked.contains("fault: the resource `skills/bad` is not published: of its skill,"),
        "{checked}"
    );
    assert!(checked.contains("its name is `good`, and its folder is `bad`"), "{checked}");
    let (code, out, _) = output(program().arg("inspect").arg(&file).arg("--json"));
    let inspected: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, inspected["files"][1]["path"].as_str()), (Some(0), Some("skills/review/SKILL.md")));
}
