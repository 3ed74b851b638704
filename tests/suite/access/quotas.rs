//! Quotas: how much each caller may use, also of many calls at once and over a server that is killed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plugport_tests::guests::{LONG_START, folder};
use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};

use super::{ADA, BOB, as_caller, both};
use crate::limits::rates::{assert_sampled, rejected_for};
use crate::mcp::session_client_requests::{GRANTED, capabilities};

/// How long a changed configuration may take until it holds.
const RELOAD: Duration = Duration::from_secs(10);

/// A role of all callers, with this quota.
fn role(quota: &str) -> String {
    format!("[roles.team]\nwho = [\"anyone\"]\nallow = [\"*\"]\nquota = {{ {quota} }}\n")
}

async fn server(quota: &str) -> Server {
    let config = format!("{}{}", role(quota), both());
    Server::builder().guest("polite").guest("library").config(&config).start().await
}

async fn echo(client: &Client) -> HttpResponse {
    client.call("polite-echo", json!({ "message": "x" })).await
}

/// Checks that a call was over quota because of this limit.
fn assert_over_quota(response: &HttpResponse, key: &str) {
    assert_eq!((response.status, response.error_code()), (429, -32011), "{response:?}");
    let retry_after: u64 = response.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(retry_after >= 1, "{response:?}");
    let error = &response.response()["error"];
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("`team`") && text.contains(&format!("`{key}`")), "{text}");
    assert_eq!(error["data"]["limit"], format!("quota:{key}"));
    assert_eq!(error["data"]["retryAfter"], retry_after);
}

/// The responses to 64 calls at once.
async fn many(client: &Client) -> Vec<HttpResponse> {
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { echo(&client).await })
        })
        .collect();
    let mut responses = Vec::new();
    for call in calls {
        responses.push(call.await.unwrap());
    }
    responses
}

fn passed(responses: &[HttpResponse]) -> usize {
    responses.iter().filter(|response| response.status == 200).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_calls_at_once_as_many_pass_as_the_quota_has() {
    // Of a day, since a third of a minute may pass until all responses are here.
    let server = server("calls_per_day = 3").await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let responses = many(&ada).await;
    assert_eq!(passed(&responses), 3);
    let over: Vec<_> = responses.iter().filter(|response| response.status != 200).collect();
    over.iter().for_each(|response| assert_over_quota(response, "calls_per_day"));
    assert_eq!(echo(&bob).await.tool_text(), "x", "another principal has a quota of its own");
    let listed = ada.request("tools/list", json!({})).await;
    assert_eq!(listed.status, 200, "a list is no call");
    let is_over = |line: &Value| line["limit"] == "quota:calls_per_day";
    let line = server.wait_for_audit_lines(is_over, 1).await.remove(0);
    assert_eq!(
        (&line["event"], &line["caller"], &line["value"]),
        (&json!("call"), &json!("token:ada"), &json!(3))
    );
}

async fn server_with_state(state: &Path, quota: &str) -> Server {
    let config = format!("[server]\nstate_dir = \"{}\"\n{}{}", state.display(), role(quota), both());
    Server::builder().guest("polite").config(&config).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_gives_no_more_than_the_quota() {
    let state = tempfile::tempdir().unwrap();
    let mut sum = 0;
    for round in 0..4 {
        let server = server_with_state(state.path(), "calls_per_day = 20").await;
        let ada = as_caller(&server, ADA);
        for _ in 0..6 {
            sum += passed(&[echo(&ada).await]);
        }
        if round == 3 {
            sum += passed(&many(&ada).await);
            assert_over_quota(&echo(&ada).await, "calls_per_day");
            assert_eq!(echo(&as_caller(&server, BOB)).await.status, 200);
        }
        server.signal("-KILL").await;
        server.wait_for_exit().await;
    }
    assert!((14..=20).contains(&sum), "{sum} calls of 20");
}

/// Waits until a file has so many whole lines with this text.
async fn wait_for_lines(file: &Path, text: &str, count: usize) {
    let begun = Instant::now();
    loop {
        let written = std::fs::read_to_string(file).unwrap_or_default();
        let whole = written.rsplit_once('\n').map_or("", |(lines, _)| lines);
        if whole.lines().filter(|line| line.contains(text)).count() >= count {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "not {count} lines with `{text}` in:\n{written}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_gives_no_fuel_back() {
    let state = tempfile::tempdir().unwrap();
    let server = server_with_state(state.path(), "fuel_per_hour = 1_000").await;
    assert_eq!(echo(&as_caller(&server, ADA)).await.status, 200);
    assert_over_quota(&echo(&as_caller(&server, ADA)).await, "fuel_per_hour");
    // The first line was written before the call ran, and the second when it had ended.
    wait_for_lines(&state.path().join("quotas"), " fuel_per_hour ", 2).await;
    server.signal("-KILL").await;
    server.wait_for_exit().await;
    let server = server_with_state(state.path(), "fuel_per_hour = 1_000").await;
    assert_over_quota(&echo(&as_caller(&server, ADA)).await, "fuel_per_hour");
    assert_eq!(echo(&as_caller(&server, BOB)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minute_gives_calls_back() {
    let server = server("calls_per_minute = 20").await;
    let ada = as_caller(&server, ADA);
    let over = many(&ada).await.into_iter().find(|response| response.status != 200).unwrap();
    assert_over_quota(&over, "calls_per_minute");
    let begun = Instant::now();
    while echo(&ada).await.status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "a call is free every three seconds");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Ada's quota is used up by one call, and Bob's by none.
const FLOODER: &str = "\
[roles.flooder]\nwho = [\"token:ada\"]\nallow = [\"*\"]\nquota = { calls_per_day = 1 }\n\
[roles.neighbour]\nwho = [\"token:bob\"]\nallow = [\"*\"]\nquota = { calls_per_day = 1_000_000 }\n";

/// Calls without a pause until `is_over`. Returns how many were over quota: all.
async fn flood(client: Client, is_over: Arc<AtomicBool>) -> u32 {
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        assert_eq!(echo(&client).await.status, 429);
        count += 1;
    }
    count
}

/// The times of some calls.
async fn times(client: &Client) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..100 {
        let begun = Instant::now();
        assert_eq!(echo(client).await.status, 200);
        times.push(begun.elapsed());
    }
    times
}

fn median_and_p99(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_at_the_quota_does_not_slow_another() {
    let config = format!("{FLOODER}{}", both());
    let server = Server::builder().guest("polite").config(&config).alone().start().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    assert_eq!((echo(&ada).await.status, echo(&bob).await.status), (200, 200));
    let (mut calm, mut flooded, mut rejected) = (Vec::new(), Vec::new(), 0);
    // In turns, since the machine is not always equally fast.
    for _ in 0..3 {
        calm.extend(times(&bob).await);
        let is_over = Arc::new(AtomicBool::new(false));
        let floods = [(); 2].map(|()| tokio::spawn(flood(ada.clone(), Arc::clone(&is_over))));
        flooded.extend(times(&bob).await);
        is_over.store(true, Ordering::Relaxed);
        for flood in floods {
            rejected += flood.await.unwrap();
        }
    }
    let ((median, p99), (flooded_median, flooded_p99)) = (median_and_p99(calm), median_and_p99(flooded));
    println!(
        "median and p99 of a caller: {median:?} and {p99:?}; while another has {rejected} calls over quota: \
         {flooded_median:?} and {flooded_p99:?}"
    );
    assert!(rejected >= 100, "{rejected} calls are no flood");
    // Server and clients share two cores, and nothing is optimised: what shows here is waiting, such as for the disk.
    assert!(flooded_median < 5 * median + Duration::from_millis(20), "{median:?}, {flooded_median:?}");
    assert!(flooded_p99 < 5 * p99 + Duration::from_millis(150), "{p99:?}, {flooded_p99:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heavy_caller_is_stopped_when_its_fuel_is_used_up() {
    let server = server("fuel_per_hour = 1_000").await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    assert_eq!(echo(&ada).await.status, 200, "a call begins while anything is left");
    assert_over_quota(&echo(&ada).await, "fuel_per_hour");
    assert_eq!(echo(&bob).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heavy_caller_is_stopped_when_its_processor_time_is_used_up() {
    let limits = "[plugins.hostile_loop_in_call]\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 1500 }\n";
    let config = format!("{limits}{}{}", role("cpu_s_per_hour = 1"), both());
    let server =
        Server::builder().guest("polite").guest("hostile_loop_in_call").config(&config).start().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let looped = ada.call("hostile_loop_in_call-spin", json!({})).await;
    assert!(looped.tool_error().contains("(limit `cpu_ms`)"), "{looped:?}");
    assert_over_quota(&echo(&ada).await, "cpu_s_per_hour");
    assert_eq!(echo(&bob).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_the_model_are_counted_for_each_caller() {
    let config = format!("{}{GRANTED}{}", role("sampling_tokens_per_day = 900"), both());
    let server = Server::builder().guest("client_requests").config(&config).start().await;
    let session = as_caller(&server, ADA).session_with("2025-11-25", capabilities()).await;
    assert_sampled(&session, 1_001, 500).await;
    let why = rejected_for(&session, 500).await;
    assert!(why.contains("`team`") && why.contains("quota `sampling_tokens_per_day`"), "{why}");
    // The rejected request took nothing.
    assert_sampled(&session, 1_002, 10).await;
    let of_bob = as_caller(&server, BOB).session_with("2025-11-25", capabilities()).await;
    assert_sampled(&of_bob, 1_001, 500).await;
    let noted = server.wait_for_audit("limit", 1).await;
    assert!(noted[0]["reason"].as_str().unwrap().contains("quota `sampling_tokens_per_day`"), "{noted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_run_at_the_same_time_are_counted() {
    let server = server("concurrent = 1").await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let napping = ada.clone();
    // The two callers below may meet: whoever is second is rejected.
    let nap = tokio::spawn(async move {
        while napping.call("polite-nap", json!({ "ms": 3_000 })).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let begun = Instant::now();
    let over = loop {
        let response = echo(&ada).await;
        if response.status != 200 {
            break response;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no call was rejected");
    };
    assert_over_quota(&over, "concurrent");
    assert_eq!(echo(&bob).await.status, 200);
    nap.await.unwrap();
    assert_eq!(echo(&ada).await.status, 200, "the calls before it have ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_role_keeps_what_was_used() {
    let server = server("calls_per_day = 3").await;
    let ada = as_caller(&server, ADA);
    assert_eq!(passed(&many(&ada).await), 3);
    let changed = format!("{}{}", role("calls_per_day = 5"), both());
    std::fs::write(server.folder().join("plugport.toml"), changed).unwrap();
    let begun = Instant::now();
    while echo(&ada).await.status != 200 {
        assert!(begun.elapsed() < RELOAD, "{}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(passed(&many(&ada).await), 1, "three of five were used, and one a moment ago");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_that_calls_a_plugin_counts() {
    let server = server("calls_per_day = 1").await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let read =
        async |client: &Client| client.request("resources/read", json!({ "uri": "lib:page/static" })).await;
    assert_eq!(read(&ada).await.status, 200);
    assert_over_quota(&read(&ada).await, "calls_per_day");
    assert_over_quota(&echo(&ada).await, "calls_per_day");
    let prompt = json!({ "name": "library-nothing" });
    assert_eq!(ada.request("prompts/get", prompt).await.error_code(), -32602, "nothing is called");
    let session = bob.session("2025-03-26").await;
    let call = |id: u32| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "polite-echo", "arguments": { "message": "x" } } })
    };
    let both = session.post(json!([call(1), call(2)])).await;
    assert_eq!(both.status, 200);
    assert!(
        both.text.contains("quota `calls_per_day`") && both.text.contains("\"isError\":true"),
        "{both:?}"
    );
    assert_eq!(session.call("polite-echo", json!({ "message": "x" })).await.status, 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_stdio_the_model_gets_the_text() {
    let plugins = folder(&["polite"]);
    let config = format!("{LONG_START}{}", role("calls_per_day = 1"));
    std::fs::write(plugins.path().join("plugport.toml"), config).unwrap();
    let mut client = StdioClient::start(plugins.path());
    client.initialize("2025-11-25").await;
    let mut texts = Vec::new();
    for id in 1..=2 {
        let params = json!({ "name": "polite-echo", "arguments": { "message": "x" } });
        client.request(json!(id), "tools/call", params).await;
        let response = loop {
            let message = client.next().await;
            if message["id"] == json!(id) {
                break message;
            }
        };
        texts.push((
            response["result"]["isError"] == json!(true),
            response["result"]["content"][0]["text"].clone(),
        ));
    }
    assert_eq!(texts[0], (false, json!("x")));
    let text = texts[1].1.as_str().unwrap();
    assert!(texts[1].0 && text.contains("quota `calls_per_day`"), "{text}");
    client.end().await;
}
