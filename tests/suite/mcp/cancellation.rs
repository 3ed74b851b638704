//! A cancelled request stops its guest: by notification with a session, by closing the response stream without one.

use std::time::{Duration, Instant};

use plugport_tests::guests::{folder, guest};
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use serde_json::json;

/// One call at a time, so that a call which is not stopped keeps the next one waiting.
const ONE_AT_A_TIME: &str = "[plugins.polite]\nlimits = { concurrent_calls = 1 }\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_cancels_and_nothing_is_answered() {
    let server = Server::builder().guest("polite").config(ONE_AT_A_TIME).start().await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    let sleeper = session.clone();
    let params = json!({ "name": "polite-nap", "arguments": { "ms": 20_000 } });
    let nap = tokio::spawn(async move { sleeper.request_as(json!("nap"), "tools/call", params).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    session.notify("notifications/cancelled", json!({ "requestId": "nap", "reason": "test" })).await;
    assert!(nap.await.unwrap().messages.is_empty());
    assert_eq!(session.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_cancels_a_stateless_request() {
    let server = Server::builder().guest("polite").config(ONE_AT_A_TIME).start().await;
    let client = Client::new(server.url());
    let gone =
        tokio::time::timeout(Duration::from_millis(500), client.call("polite-nap", json!({ "ms": 20_000 })))
            .await;
    assert!(gone.is_err(), "the nap was answered");
    let begun = Instant::now();
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_does_not_cancel_a_request_of_a_session() {
    let server = Server::builder().guest("polite").config(ONE_AT_A_TIME).start().await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    let params = json!({ "name": "polite-nap", "arguments": { "ms": 1_500 } });
    let nap = session.request_as(json!("nap"), "tools/call", params);
    assert!(tokio::time::timeout(Duration::from_millis(300), nap).await.is_err());
    let begun = Instant::now();
    assert_eq!(session.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    assert!(begun.elapsed() > Duration::from_millis(500), "the nap was cut short: {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn stdio_cancels_with_and_without_sessions() {
    let folder = folder(&["polite"]);
    // The input may end directly after the last line.
    for delay in [300, 0, 0, 0, 0, 0] {
        cancel_with_and_without_session(folder.path(), Duration::from_millis(delay)).await;
    }
}

async fn cancel_with_and_without_session(folder: &std::path::Path, delay: Duration) {
    let mut pipe = StdioClient::start(folder);
    pipe.initialize("2025-11-25").await;
    let nap = json!({ "name": "polite-nap", "arguments": { "ms": 20_000 } });
    pipe.request(json!(1), "tools/call", nap.clone()).await;
    let mut modern = nap;
    modern["_meta"] = plugport_tests::http_client::stateless_meta();
    pipe.request(json!("m"), "tools/call", modern).await;
    tokio::time::sleep(delay).await;
    for id in [json!(1), json!("m")] {
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        pipe.send(&cancel.to_string()).await;
    }
    let begun = Instant::now();
    let (lines, said, code) = pipe.end().await;
    assert!(lines.is_empty(), "a withdrawn request was answered: {lines:?}");
    // Shorter than the time for running requests after the end of input.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3) && code == Some(0), "{took:?}, {code:?}: {said}");
}

/// The sleeping guest has the only permit, so a later call gets its result only after the guest was stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_is_stopped_within_200_ms() {
    let server = Server::builder().guest("polite").config(ONE_AT_A_TIME).alone().start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    let nap = json!({ "name": "polite-nap", "arguments": { "ms": 20_000 } });
    let mut times = Vec::new();
    for at in 0..10 {
        let (sleeper, params, id) = (session.clone(), nap.clone(), json!(format!("nap-{at}")));
        let (call_id, hangs_up) = (id.clone(), at % 2 == 0);
        let call = tokio::spawn({
            let client = client.clone();
            async move {
                match hangs_up {
                    true => client.request("tools/call", params).await,
                    false => sleeper.request_as(call_id, "tools/call", params).await,
                }
            }
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        if hangs_up {
            call.abort();
        } else {
            session.notify("notifications/cancelled", json!({ "requestId": id })).await;
        }
        assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
        times.push(begun.elapsed());
    }
    times.sort();
    // A busy machine may delay one or two calls.
    assert!(times[7] < Duration::from_millis(200), "{times:?}");
}

/// The number of calls at the same time.
const ABANDONING: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_given_up_leave_nothing_behind() {
    give_up_calls(2_000, 4 << 10).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: ten thousand calls take 40 seconds"]
async fn soak_ten_thousand_calls_that_are_given_up_leave_nothing_behind() {
    give_up_calls(10_000, 8 << 10).await;
}

/// Gives up `calls` calls, in three ways; the memory of the server may grow by at most `max_growth` KiB.
async fn give_up_calls(calls: usize, max_growth: u64) {
    let repeats = calls / 3 + 1;
    let hurried = std::fs::read(guest("polite")).unwrap();
    let config = "[plugins.hurried]\nlimits = { wall_ms = 10, quarantine_failures = 1_000_000 }\n";
    let server =
        Server::builder().guest("polite").file("hurried.wasm", &hurried).config(config).alone().start().await;
    let client = Client::new(server.url());
    abandon(&client, repeats / 3).await;
    let (rss, files) = (server.rss(), server.open_files());
    abandon(&client, repeats).await;
    let begun = Instant::now();
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    let grown = server.rss().saturating_sub(rss) >> 10;
    assert!(grown < max_growth, "memory grew by {grown} KiB over {calls} calls");
    let open = server.open_files();
    assert!(open <= files + ABANDONING, "{files} files were open and now {open}");
}

/// Disconnects from as many calls, cancels as many, and lets as many exceed their time.
async fn abandon(client: &Client, repeats: usize) {
    let mut tasks = tokio::task::JoinSet::new();
    for part in 0..ABANDONING {
        let client = client.clone();
        tasks.spawn(async move {
            let session = client.session("2025-11-25").await;
            for at in 0..repeats / ABANDONING {
                let nap = json!({ "ms": 20_000 });
                let hung_up =
                    tokio::time::timeout(Duration::from_millis(3), client.call("polite-nap", nap.clone()));
                assert!(hung_up.await.is_err());
                let id = json!(format!("{part}-{at}"));
                let call = session.request_as(
                    id.clone(),
                    "tools/call",
                    json!({ "name": "polite-nap", "arguments": nap }),
                );
                let cancel = async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    session.notify("notifications/cancelled", json!({ "requestId": id })).await;
                };
                // The server may see the cancellation first and then has nothing to cancel.
                let (reply, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(5), call), cancel);
                assert!(reply.is_err() || reply.unwrap().messages.is_empty());
                let late = client.call("hurried-nap", json!({ "ms": 20_000 })).await;
                assert!(late.tool_error().contains("wall_ms"), "{late:?}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}
