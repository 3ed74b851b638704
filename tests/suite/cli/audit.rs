//! The audit has one line for every call, every denied capability and every file that was loaded or rejected.

use std::time::Duration;

use plugport_tests::http_client::Client;
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};

fn outcomes(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_call_has_one_line_with_its_outcome_and_its_cost() {
    let limits =
        "[limits]\ncpu_ms = 60_000\nfuel = 20_000_000\n[plugins.polite]\nlimits = { wall_ms = 300 }\n";
    let server = Server::builder()
        .guest("polite")
        .guest("hostile_loop_in_call")
        .guest("hostile_panic")
        .config(limits)
        .start()
        .await;
    let client = Client::new(server.url());
    client.call("polite-echo", json!({ "message": "hello" })).await;
    client.call("polite-fail", json!({ "reason": "no" })).await.tool_error();
    client.call("polite-nap", json!({ "ms": 60_000 })).await.tool_error();
    client.call("hostile_loop_in_call-spin", json!({})).await.tool_error();
    client.call("hostile_panic-boom", json!({ "message": "x" })).await.tool_error();
    let mut lines = server.wait_for_audit("call", 8).await;
    // The listings at start, in the order of their files.
    let listings: Vec<_> = lines.drain(..3).collect();
    assert!(
        listings.iter().all(|line| line["function"] == "listing" && line["caller"] == "server"),
        "{listings:?}"
    );
    assert_eq!(outcomes(&lines), ["ok", "error", "limit", "limit", "trapped"]);
    let echo = &lines[0];
    assert_eq!(
        (&echo["plugin"], &echo["function"], &echo["name"]),
        (&json!("polite"), &json!("tools/call"), &json!("echo"))
    );
    assert_eq!(echo["caller"], "127.0.0.1");
    assert!(echo["digest"].as_str().unwrap().starts_with("sha256:"), "{echo}");
    assert!(
        echo["arguments"].as_str().unwrap().starts_with("sha256:"),
        "arguments are not written down: {echo}"
    );
    assert!(echo["fuel"].as_u64().unwrap() > 100 && echo["elapsed_us"].as_u64().unwrap() > 0, "{echo}");
    let cpu_us = |line: &Value| line["cpu_us"].as_u64().unwrap();
    assert!((1..1_000_000).contains(&cpu_us(echo)), "{echo}");
    assert!(cpu_us(&lines[2]) < 300_000, "a nap takes no processor time: {}", lines[2]);
    assert!(cpu_us(&lines[3]) > 1_000, "{}", lines[3]);
    assert_eq!((&echo["bytes_in"], &echo["bytes_out"]), (&json!(19), &json!(5)));
    assert_eq!((&lines[2]["limit"], &lines[2]["value"]), (&json!("wall_ms"), &json!(300)));
    assert_eq!((&lines[3]["limit"], &lines[3]["value"]), (&json!("fuel"), &json!(20_000_000)));
    assert!(lines[3]["fuel"].as_u64().unwrap() >= 20_000_000);
    assert!(lines[4]["reason"].as_str().unwrap().contains("panicked"));
    let loads = server.wait_for_audit("load", 3).await;
    assert_eq!(outcomes(&loads), ["published"; 3]);
    assert_eq!(server.audit().len(), 11, "and nothing else");
}

#[tokio::test]
async fn a_call_whose_client_disconnects_has_a_line_too() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let nap = tokio::spawn({
        let client = client.clone();
        async move { client.call("polite-nap", json!({ "ms": 20_000 })).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    nap.abort();
    let lines = server.wait_for_audit("call", 2).await;
    assert_eq!(outcomes(&lines), ["ok", "cancelled"]);
    assert!(lines[1]["elapsed_us"].as_u64().unwrap() > 100_000, "{lines:?}");
}

#[tokio::test]
async fn an_invalid_result_is_no_success() {
    let server = Server::builder().guest("hostile_bad_json").start().await;
    Client::new(server.url()).call("hostile_bad_json-forged", json!({})).await.tool_error();
    let lines = server.wait_for_audit("call", 2).await;
    assert_eq!(outcomes(&lines), ["ok", "invalid_result"]);
    assert!(lines[1]["reason"].as_str().unwrap().contains("not JSON"), "{lines:?}");
}

#[tokio::test]
async fn a_denial_names_the_line_that_would_allow_it() {
    let server = Server::builder().guest("client_requests").plugin("notes").start().await;
    let client = Client::new(server.url());
    client.call("notes-find_notes", json!({})).await.tool_error();
    let lines = server.wait_for_audit("denied", 1).await;
    assert_eq!((&lines[0]["plugin"], &lines[0]["missing_grant"]), (&json!("notes"), &json!("kv = true")));
    server.wait_for_log("to allow it, write under [plugins.notes.grants]: kv = true").await;
}

#[tokio::test]
async fn arguments_are_written_down_when_the_operator_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("new/a.jsonl");
    let config = format!("[audit]\nfile = {file:?}\narguments = true\n");
    let server = Server::builder().guest("polite").config(&config).start().await;
    let message = "a\nb\u{202e}";
    Client::new(server.url()).call("polite-echo", json!({ "message": message })).await;
    assert_eq!(server.terminate().await, Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let arguments: Value =
        serde_json::from_str(lines.last().unwrap()["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({ "message": message }));
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn an_audit_that_was_asked_for_and_cannot_be_written_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plugport.toml"), "[audit]\nfile = \"/proc/none/a.jsonl\"\n").unwrap();
    let output = tokio::process::Command::from(program())
        .args(["serve", "--plugins", ".", "--config", "plugport.toml", "--listen", "127.0.0.1:0"])
        .current_dir(dir.path())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("cannot write the audit /proc/none/a.jsonl; name another `file` under [audit]"),
        "{said}"
    );
}

#[tokio::test]
async fn a_rejected_file_is_audited_with_the_reason() {
    let server = Server::builder().guest("polite").file("bad.wasm", b"\0asm\x01\0\0\0").start().await;
    let loads = server.wait_for_audit("load", 2).await;
    assert_eq!(outcomes(&loads), ["rejected", "published"]);
    assert!(loads[0]["reason"].as_str().unwrap().contains("core WebAssembly module"), "{loads:?}");
    let digest = "sha256:93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476";
    assert_eq!(loads[0]["digest"], digest, "of what was read");
}
