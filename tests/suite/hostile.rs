//! Guests that mean harm: each call ends at its wall with one sentence, and neighbours notice nothing.

use std::time::{Duration, Instant};

use plugport_tests::http::{Client, Reply};
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// What must hold after a hostile call: one clear sentence, no backtrace, and the plugin and its neighbour still work.
async fn contained(client: &Client, reply: &Reply, plugin: &str, expected: &str) {
    let told = reply.tool_error();
    assert!(told.contains(expected), "expected {expected:?} in {told:?}");
    assert!(told.len() < 250 && !told.contains('\n') && !told.contains("wasm"), "not one sentence: {told}");
    let again = client.call(&format!("{plugin}-ok"), json!({})).await;
    assert_eq!(again.tool_text(), "ok", "the next call to {plugin}");
    assert_eq!(
        client.call("polite-echo", json!({ "message": "still here" })).await.tool_text(),
        "still here"
    );
}

async fn attacked(plugin: &str, tool: &str, arguments: Value, expected: &str) -> Server {
    let server = Server::builder().guest("polite").guest(plugin).start().await;
    let client = Client::new(server.url());
    let reply = client.call(&format!("{plugin}-{tool}"), arguments).await;
    contained(&client, &reply, plugin, expected).await;
    server
}

#[tokio::test]
async fn hostile_panic() {
    let server =
        attacked("hostile_panic", "boom", json!({ "message": "kaboom" }), "it panicked or aborted").await;
    server.says("kaboom").await;
    server.says("wasm backtrace").await;
}

#[tokio::test]
async fn hostile_recursion() {
    attacked("hostile_recursion", "recurse", json!({}), "endless recursion").await;
}

#[tokio::test]
async fn hostile_memory() {
    let server =
        attacked("hostile_memory", "allocate", json!({}), "more than 64 MiB of memory (limit `memory_mib`)")
            .await;
    let client = Client::new(server.url());
    let before = server.rss();
    for _ in 0..20 {
        client.call("hostile_memory-allocate", json!({})).await.tool_error();
    }
    let after = server.rss();
    assert!(after < before + (32 << 20), "resident memory went from {before} to {after}");
}

#[tokio::test]
async fn hostile_exit() {
    let server = attacked("hostile_exit", "exit", json!({ "code": 1 }), "ended itself").await;
    let reply = Client::new(server.url()).call("hostile_exit-exit", json!({ "code": 0 })).await;
    assert!(reply.tool_error().contains("ended itself"), "{reply:?}");
}

#[tokio::test]
async fn hostile_loop_in_call() {
    attacked("hostile_loop_in_call", "spin", json!({}), "2000000000 units of fuel (limit `fuel`)").await;
}

#[tokio::test]
async fn time_is_bounded_when_fuel_is_not() {
    let limits = "[plugins.hostile_loop_in_call]\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 200 }\n\
                  [plugins.polite]\nlimits = { wall_ms = 200 }\n";
    let server = Server::builder().guest("polite").guest("hostile_loop_in_call").config(limits).start().await;
    let client = Client::new(server.url());
    let begun = Instant::now();
    let reply = client.call("hostile_loop_in_call-spin", json!({})).await;
    assert!(reply.tool_error().contains("longer than 200 ms (limit `cpu_ms`)"), "{reply:?}");
    let reply = client.call("polite-nap", json!({ "ms": 60_000 })).await;
    assert!(reply.tool_error().contains("longer than 200 ms (limit `wall_ms`)"), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn hostile_host_calls() {
    let server = Server::builder().guest("polite").guest("hostile_host_calls").start().await;
    let begun = Instant::now();
    let reply = Client::new(server.url()).call("hostile_host_calls-busy", json!({})).await;
    assert!(reply.tool_error().contains("(limit `"), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn hostile_loop_in_list_tools() {
    let server = Server::builder().guest("polite").guest("hostile_loop_in_list_tools").start().await;
    server.says("hostile_loop_in_list_tools.wasm: could not be started: the tool was stopped").await;
    assert_eq!(
        Client::new(server.url()).call("polite-echo", json!({ "message": "x" })).await.tool_text(),
        "x"
    );
}

#[tokio::test]
async fn hostile_result() {
    let server = Server::builder().guest("polite").guest("hostile_result").start().await;
    let client = Client::new(server.url());
    let reply = client.call("hostile_result-huge_text", json!({ "bytes": 5 << 20 })).await;
    assert!(reply.tool_error().contains("larger than 4096 KiB (limit `result_kib`)"), "{reply:?}");
    let reply = client.call("hostile_result-huge_text", json!({ "bytes": 20 << 20 })).await;
    assert!(reply.tool_error().contains("more than 8 MiB at once (limit `transfer_mib`)"), "{reply:?}");
    let reply = client.call("hostile_result-many_items", json!({ "count": 2_000 })).await;
    assert!(reply.tool_error().contains("more than 1000 content items (limit `content_items`)"), "{reply:?}");
    let reply = client.call("hostile_result-bad_structured", json!({})).await;
    assert!(reply.tool_error().contains("is not JSON"), "{reply:?}");
}

#[tokio::test]
async fn hostile_stdout() {
    let server = Server::builder().guest("polite").guest("hostile_stdout").start().await;
    let client = Client::new(server.url());
    let reply = client.call("hostile_stdout-flood", json!({ "bytes": 1_500_000 })).await;
    assert_eq!(reply.tool_text(), "flooded", "a flood is cut, it does not trap");
    server.says("log output beyond `log_kib` and `log_kib_per_second` was dropped").await;
    assert!(server.said().len() < 2 << 20, "{} bytes of log", server.said().len());
    client.call("hostile_stdout-forge", json!({})).await;
    server.says("forged").await;
    assert!(!server.said().contains('\u{1b}'), "a terminal sequence got through");
}

#[tokio::test]
async fn log_messages_have_one_budget_with_everything_else() {
    let server = Server::builder().guest("polite").config("[limits]\nlog_kib = 4\n").start().await;
    let client = Client::new(server.url());
    let params = json!({ "name": "polite-narrate", "arguments": { "steps": 5_000 } });
    let more = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let reply = client.request_with_meta("tools/call", params, more).await;
    let heard = reply.notifications("notifications/message").len();
    assert!((1..=64).contains(&heard), "{heard} messages from a budget of 4 KiB");
    assert!(reply.tool_text().contains("5000"), "the tool itself is not stopped");
    server.says("log output beyond `log_kib` and `log_kib_per_second` was dropped").await;
}

#[tokio::test]
async fn handles_and_memory_return_after_many_failures() {
    let server = Server::builder().guest("polite").guest("hostile_panic").start().await;
    let client = Client::new(server.url());
    for _ in 0..20 {
        client.call("hostile_panic-boom", json!({ "message": "x" })).await.tool_error();
    }
    let (files, memory) = (server.open_files(), server.rss());
    for _ in 0..200 {
        client.call("hostile_panic-boom", json!({ "message": "x" })).await.tool_error();
    }
    assert!(server.open_files() <= files + 2, "{} files, then {}", files, server.open_files());
    assert!(server.rss() < memory + (32 << 20), "{memory} bytes, then {}", server.rss());
}
