//! What a collector that is gone, slow or broken does to calls, and how many traces it gets: the server never waits.

use std::time::{Duration, Instant};

use plugport_tests::http_client::Client;
use plugport_tests::otlp_receiver::{Manner, OtlpReceiver};
use plugport_tests::prometheus_text::Scrape;
use plugport_tests::server::Server;
use serde_json::json;

use super::metrics::{TELEMETRY, scrape_until};
use super::traces::context;

/// The time in which 99 of 100 calls end. Each call must succeed.
async fn slow_calls(client: &Client, calls: usize) -> Duration {
    let mut times = Vec::new();
    for _ in 0..calls {
        let begun = Instant::now();
        let reply = client.call("polite-echo", json!({ "message": "m" })).await;
        times.push(begun.elapsed());
        assert_eq!(reply.tool_text(), "m");
    }
    times.sort();
    times[times.len() * 99 / 100]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_collector_slows_no_call_and_holds_up_no_end() {
    let plain = Server::builder().guest("polite").start().await;
    let without = slow_calls(&Client::new(plain.url()), 500).await;
    drop(plain);
    for manner in [None, Some(Manner::Fail), Some(Manner::Silent), Some(Manner::Endless)] {
        let collector = OtlpReceiver::start(manner.unwrap_or(Manner::Accept)).await;
        let config = format!("{TELEMETRY}{}", collector.config(1_000));
        // Without a manner there is no collector: nobody listens at its port any more.
        let collector = manner.map(|_| collector);
        let server = Server::builder().guest("polite").config(&config).start().await;
        let client = Client::new(server.url());
        let with = slow_calls(&client, 500).await;
        println!("p99 of a call with the collector {manner:?}: {with:?}, without traces: {without:?}");
        // A call that waited for the collector would take the second for which a batch lingers, or the ten of a batch.
        assert!(
            with < without * 10 + Duration::from_millis(500),
            "{manner:?}: {with:?}, without {without:?}"
        );
        if manner != Some(Manner::Endless) && manner != Some(Manner::Silent) {
            server.wait_for_log("spans were lost on their way to the collector").await;
            let is_counted = |scraped: &Scrape| scraped.sum("plugport_spans_dropped_total") > 0.0;
            let scraped = scrape_until(&server, is_counted).await;
            assert_eq!(scraped.get("plugport_spans_exported_total", &[]), Some(0.0));
        }
        assert!(server.log().matches("spans were lost").count() <= 1, "{}", server.log());
        let begun = Instant::now();
        assert_eq!(server.terminate().await, Some(0));
        // Two seconds are for the flush.
        assert!(begun.elapsed() < Duration::from_secs(8), "{manner:?}: {:?}", begun.elapsed());
        drop(collector);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_traces_in_a_second_are_recorded_however_many_calls_there_are() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let server = Server::builder().guest("polite").config(&collector.config(10)).start().await;
    let begun = Instant::now();
    let calls = (0..8).map(|_| {
        let client = Client::new(server.url());
        tokio::spawn(async move {
            for _ in 0..1_250 {
                let params = json!({ "name": "polite-echo", "arguments": { "message": "m" } });
                // Each client wants to be recorded.
                client.request_with_meta("tools/call", params, context()).await;
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(server.terminate().await, Some(0));
    let recorded = collector.spans().iter().filter(|span| span.kind == 2).count() as f64;
    println!("10,000 calls in {seconds:.1} s: {recorded} were recorded");
    assert!(recorded <= 10.0 * (seconds + 2.0), "{recorded} in {seconds} s");
    // A machine that stands still for more than a second loses the traces of that time.
    assert!(recorded >= 10.0 * (seconds / 2.0).max(1.0), "{recorded} in {seconds} s");
}
