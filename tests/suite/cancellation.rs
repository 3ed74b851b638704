//! A withdrawn request stops its guest: by notification where there are sessions, by hanging up where there are none.

use std::time::{Duration, Instant};

use plugport_tests::guests::folder;
use plugport_tests::http::Client;
use plugport_tests::server::Server;
use plugport_tests::stdio::Pipe;
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
async fn stdio_cancels_in_both_eras() {
    let folder = folder(&["polite"]);
    let mut pipe = Pipe::start(folder.path());
    pipe.initialize("2025-11-25").await;
    let nap = json!({ "name": "polite-nap", "arguments": { "ms": 20_000 } });
    pipe.request(json!(1), "tools/call", nap.clone()).await;
    let mut modern = nap;
    modern["_meta"] = plugport_tests::http::stateless_meta();
    pipe.request(json!("m"), "tools/call", modern).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    for id in [json!(1), json!("m")] {
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        pipe.send(&cancel.to_string()).await;
    }
    let begun = Instant::now();
    let (lines, said, code) = pipe.end().await;
    assert!(lines.is_empty(), "a withdrawn request was answered: {lines:?}");
    assert!(begun.elapsed() < Duration::from_secs(3) && code == Some(0), "{said}");
}
