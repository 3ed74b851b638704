//! Busy plugins do not slow their neighbours.

use std::time::{Duration, Instant};

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

/// The maximum wait of a neighbour while two tools loop on two cores.
const MAX_WAIT: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_answer_while_two_tools_loop() {
    let limits = "[plugins.hostile_loop_in_call]\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 3000 }\n";
    let server =
        Server::builder().guest("polite").guest("hostile_loop_in_call").config(limits).alone().start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    client.call("polite-echo", json!({ "message": "warm" })).await;
    let loops: Vec<_> = (0..2)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call("hostile_loop_in_call-spin", json!({})).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut waits = Vec::new();
    for _ in 0..40 {
        let begun = Instant::now();
        assert_eq!(session.request("ping", json!({})).await.result(), &json!({}));
        waits.push(begun.elapsed());
        let begun = Instant::now();
        assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
        waits.push(begun.elapsed());
    }
    assert!(loops.iter().all(|task| !task.is_finished()), "the loops ended too soon to show anything");
    for task in loops {
        assert!(task.await.unwrap().tool_error().contains("(limit `cpu_ms`)"));
    }
    waits.sort();
    // The client shares the two cores with the loops, so one slow call in twenty is allowed.
    let typical = waits[waits.len() * 95 / 100 - 1];
    assert!(typical < MAX_WAIT && waits[waits.len() - 1] < 4 * MAX_WAIT, "{waits:?}");
}

/// Host functions run in the guest's time, so they have to yield too.
#[tokio::test(flavor = "multi_thread")]
async fn neighbours_answer_while_two_tools_print_without_end() {
    let limits = "[plugins.hostile_log_flood]\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 3000 }\n";
    let server =
        Server::builder().guest("polite").guest("hostile_log_flood").config(limits).alone().start().await;
    let client = Client::new(server.url());
    let floods: Vec<_> = (0..2)
        .map(|_| {
            let client = client.clone();
            let arguments = json!({ "bytes": 1_000_000_000_000_u64 });
            tokio::spawn(async move { client.call("hostile_log_flood-flood", arguments).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut waits = Vec::new();
    for _ in 0..40 {
        let begun = Instant::now();
        assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
        waits.push(begun.elapsed());
    }
    for flood in floods {
        assert!(flood.await.unwrap().tool_error().contains("(limit `"));
    }
    waits.sort();
    // Twice the maximum, since this server is built without optimisation and shares two cores with its client, which
    // may be delayed once or twice.
    let typical = waits[waits.len() * 95 / 100 - 1];
    assert!(typical < 2 * MAX_WAIT && waits[waits.len() - 1] < 6 * MAX_WAIT, "{waits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_calls_of_one_plugin_are_queued_and_then_rejected() {
    let limits = "[plugins.polite]\nlimits = { concurrent_calls = 1 }\n";
    let server = Server::builder().guest("polite").guest("version_a").config(limits).start().await;
    let client = Client::new(server.url());
    let naps: Vec<_> = (0..9)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call("polite-nap", json!({ "ms": 700 })).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        client.call("version_a-version", json!({})).await.tool_text(),
        "a",
        "a neighbour is not in the queue"
    );
    let mut rested = 0;
    for nap in naps {
        let reply = nap.await.unwrap();
        if reply.result().get("isError").is_some() {
            assert!(reply.tool_error().contains("the plugin is busy"), "{reply:?}");
        } else {
            rested += 1;
        }
    }
    assert_eq!(rested, 5, "one that runs, and four that wait");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_does_not_hold_a_guests_permit() {
    let config = "[plugins.polite]\nlimits = { concurrent_calls = 1, wall_ms = 1500 }\n";
    let server = Server::builder().guest("polite").config(config).start().await;
    let base = server.url().trim_end_matches("/mcp").to_owned();
    // A stream of the first revision that is opened and never read again.
    let mut stream = Client::new(format!("{base}/sse")).listen(&[]).await;
    let post = Client::new(format!("{base}{}", stream.event().await.unwrap().data));
    let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    post.post(
        &[],
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string(),
    )
    .await;
    let narrate = json!({ "name": "polite-narrate", "arguments": { "steps": 2_000 } });
    for id in 1..4 {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": narrate });
        post.post(&[], call.to_string()).await;
    }
    tokio::time::sleep(Duration::from_secs(6)).await;
    let client = Client::new(server.url());
    let reply = client.call("polite-echo", json!({ "message": "x" })).await;
    assert_eq!(reply.tool_text(), "x");
    drop(stream);
}
