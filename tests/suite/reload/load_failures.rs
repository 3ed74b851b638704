//! Plugins that cannot be loaded cost one log line each, with what to do about it; the others are served.

use std::path::Path;

use plugport_tests::command::run_plugport;
use plugport_tests::guests::guest;
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn bad_files_are_skipped_with_one_line_each() {
    let good = std::fs::read(guest("polite")).unwrap();
    let module = wat::parse_str("(module (func (export \"f\")))").unwrap();
    let other = wat::parse_str(
        r#"(component (instance $i) (export "wasi:http/incoming-handler@0.2.0" (instance $i)))"#,
    )
    .unwrap();
    let future =
        wat::parse_str(r#"(component (instance $i) (export "plugport:plugin/tools@0.9.0" (instance $i)))"#)
            .unwrap();
    let hollow =
        wat::parse_str(r#"(component (instance $i) (export "plugport:plugin/tools@0.1.0" (instance $i)))"#)
            .unwrap();
    let mistyped = wat::parse_str(
        r#"(component
             (core module $m (func (export "f")))
             (core instance $i (instantiate $m))
             (func $f (canon lift (core func $i "f")))
             (instance $tools (export "list-tools" (func $f)) (export "call-tool" (func $f)))
             (export "plugport:plugin/tools@0.1.0" (instance $tools)))"#,
    )
    .unwrap();
    let foreign = wat::parse_str(
        r#"(component (import "acme:radio/tune@1.0.0" (instance (export "on" (func))))
             (instance $i) (export "plugport:plugin/tools@0.1.0" (instance $i)))"#,
    )
    .unwrap();
    let server = Server::builder()
        .guest("polite")
        .file("empty.wasm", b"")
        .file("stub.wasm", &good[..6])
        .file("half.wasm", &good[..good.len() / 2])
        .file("text.wasm", b"#!/bin/sh\n")
        .file("module.wasm", &module)
        .file("other.wasm", &other)
        .file("future.wasm", &future)
        .file("hollow.wasm", &hollow)
        .file("mistyped.wasm", &mistyped)
        .file("foreign.wasm", &foreign)
        .file("bad name.wasm", &good)
        .file(".hidden.wasm", b"")
        .file("notes.txt", b"")
        .start()
        .await;
    let said = server.log();
    for (file, what) in [
        ("empty.wasm", "is empty; build or copy it again"),
        ("stub.wasm", "is truncated"),
        ("half.wasm", "is damaged or truncated"),
        ("text.wasm", "is not WebAssembly"),
        (
            "module.wasm",
            "is a core WebAssembly module, not a component; build it for the target wasm32-wasip2",
        ),
        ("other.wasm", "is a component of another world: it exports wasi:http/incoming-handler@0.2.0"),
        ("future.wasm", "was built for plugport:plugin@0.9.0"),
        ("hollow.wasm", "does not fit this server's interfaces"),
        ("mistyped.wasm", "it exports a function of another type than its interface says"),
        ("foreign.wasm", "imports acme:radio/tune@1.0.0, which this server does not have; build it without"),
        ("bad name.wasm", "rename the file"),
    ] {
        let lines: Vec<&str> = said.lines().filter(|line| line.contains(&format!("{file}:"))).collect();
        assert!(lines.len() == 1 && lines[0].contains(what), "{file}: {lines:?}\n{said}");
    }
    assert!(!said.contains("hidden") && !said.contains("notes.txt"), "{said}");
    assert_eq!(
        Client::new(server.url()).call("polite-echo", json!({ "message": "x" })).await.tool_text(),
        "x"
    );
}

/// A plugin whose `list-tools` returns an empty list.
fn without_tools() -> Vec<u8> {
    let wat = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/wat");
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    let one = r#""\00\00\00\00\80\00\00\00\01\00\00\00""#;
    let tool = wat("tool.wat");
    assert!(tool.contains(one));
    let guest = format!(
        r#"(core module $core
             (memory (export "memory") 1)
             {}
             (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
             (func (export "post-call") (param i32)))
           (core instance $main (instantiate $core))"#,
        tool.replace(one, r#""\00\00\00\00\80\00\00\00\00\00\00\00""#)
    );
    wat::parse_str(wat("shell.wat").replace(";; THE GUEST", &guest)).unwrap()
}

#[tokio::test]
async fn a_plugin_that_lists_nothing_is_published_with_a_warning() {
    let plugin = without_tools();
    let server = Server::builder().file("blank.wasm", &plugin).start().await;
    let warned = "warning: it lists no tools, resources or prompts";
    server.wait_for_log(warned).await;
    assert!(server.log().contains("published blank: nothing\n"), "{}", server.log());

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("blank.wasm"), &plugin).unwrap();
    let plugins = folder.path().to_str().unwrap();
    let (code, out, err) = run_plugport(&["check", "--plugins", plugins]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("  publishes nothing\n") && out.contains(&format!("  {warned}")), "{out}");
    let (_, out, _) = run_plugport(&["check", "--plugins", plugins, "--json"]);
    let checked: Value = serde_json::from_str(&out).unwrap();
    assert_warns_once(&checked["plugins"][0]);
    let file = folder.path().join("blank.wasm");
    let (code, out, err) = run_plugport(&["inspect", file.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains(&format!("\n{warned}")), "{out}");
    let (_, out, _) = run_plugport(&["inspect", file.to_str().unwrap(), "--json"]);
    assert_warns_once(&serde_json::from_str(&out).unwrap());
}

/// The only warning about this plugin is that it lists nothing.
fn assert_warns_once(plugin: &Value) {
    let [Value::String(warning)] = plugin["warnings"].as_array().unwrap().as_slice() else {
        panic!("there is not one warning in {plugin:#}")
    };
    assert!(warning.starts_with("it lists no tools, resources or prompts now; "), "{warning}");
}

#[tokio::test]
async fn a_later_plugin_never_takes_an_earlier_ones_name() {
    let config = "[plugins.version_a]\nprefix = \"\"\n[plugins.version_b]\nprefix = \"\"\n";
    let server = Server::builder().guest("version_a").guest("version_b").config(config).start().await;
    assert_eq!(Client::new(server.url()).call("version", json!({})).await.tool_text(), "a");
    server
        .wait_for_log("the name `version` belongs to the plugin `version_a`, which comes first by name")
        .await;
}

#[tokio::test]
async fn a_server_without_plugins_says_so_and_serves() {
    let server = Server::builder().start().await;
    server.wait_for_log("no tools are published").await;
    let reply = Client::new(server.url()).request("tools/list", json!({})).await;
    assert_eq!(reply.result()["tools"], json!([]));
}

#[tokio::test]
async fn very_many_files_are_bounded_and_logged_in_a_few_lines() {
    let mut builder = Server::builder().guest("polite").config("[server]\nmax_plugins = 80\n");
    for n in 0..120 {
        builder = builder.file(&format!("bad{n:03}.wasm"), b"nothing");
    }
    let server = builder.file("a.wasm", b"").start().await;
    assert_eq!(server.log().matches("/bad").count(), 49, "{}", server.log());
    server.wait_for_log("rejected 72 more files; the audit has a line for each").await;
    let loads = server.wait_for_audit("load", 122).await;
    let late = loads.iter().filter(|line| {
        line["reason"].as_str().is_some_and(|why| why.contains("limit [server] `max_plugins`"))
    });
    assert_eq!(late.count(), 42);
}
