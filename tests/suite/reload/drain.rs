//! Versions are replaced, rejected or deleted while calls run, and the server is told to stop. Calls end with the
//! version that they began with, within the drain time. Faults of the machine are in `faults`.

use std::time::{Duration, Instant};

use plugport_tests::containment::{Neighbour, Source};
use plugport_tests::guests::{folder, guest};
use plugport_tests::hostile_files;
use plugport_tests::http_client::{Client, LEGACY, STATELESS, Session, Stream, stateless_meta};
use plugport_tests::reload::{install_bytes, install_guest, tool_names, wait_for_log_times, wait_for_result};
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};

use crate::cli::status::versions;
use crate::mcp::mrtr::{AnsweringClient, accepted, state};
use crate::mcp::session_client_requests::{capabilities, model_says};

/// The default maximum of one plugin's suspended calls.
const SUSPENDED: usize = 32;

/// The guest `version_reporter` without a prefix, with its grants.
const REPORTER: &str =
    "[plugins.r]\nprefix = \"\"\n[plugins.r.grants]\nsampling = true\nelicitation = true\n";

/// A build of the guest, with its number in its descriptions and results.
pub(crate) fn version_reporter(variant: u8) -> Vec<u8> {
    Source::Variant("version_reporter", variant).bytes()
}

async fn first_reporter(more: &str) -> Server {
    let config = format!("{REPORTER}{more}");
    Server::builder().file("r.wasm", &version_reporter(1)).config(&config).start().await
}

/// Installs the second build and waits until it is published.
async fn replace(server: &Server) {
    install_bytes(&version_reporter(2), server.folder(), "r.wasm");
    wait_for_result(&Client::new(server.url()), "version", Some("2")).await;
}

/// The tool for the client request of this number: half of them are sampling requests.
fn tool(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "ask_model" } else { "ask_person" }
}

/// The response to such a client request.
fn reply(number: usize) -> Value {
    match tool(number) {
        "ask_model" => model_says("Ada"),
        _ => json!({ "action": "accept", "content": { "name": "Ada" } }),
    }
}

/// Calls that have each sent a client request on their stream.
async fn ask_in(session: &Session, calls: usize) -> Vec<(Stream, Value)> {
    let mut suspended = Vec::new();
    for number in 0..calls {
        let call = json!({ "name": tool(number), "arguments": {} });
        let mut stream = session.stream(json!(number), "tools/call", call).await;
        let client_request = stream.message().await;
        assert!(
            client_request["method"].is_string() && client_request["id"] != json!(null),
            "{client_request}"
        );
        suspended.push((stream, client_request));
    }
    suspended
}

/// C2, with sessions.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_sessions_that_wait_for_an_answer_end_with_the_version_that_asked() {
    let server = first_reporter("").await;
    let session = Client::new(server.url()).session_with(LEGACY, capabilities()).await;
    let suspended = ask_in(&session, SUSPENDED).await;
    replace(&server).await;
    for (number, (mut stream, client_request)) in suspended.into_iter().enumerate() {
        session.respond(&client_request, reply(number)).await;
        let message = stream.message().await;
        let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("1 asked, 1 heard ") && text.contains("Ada"), "{message}");
    }
    let (mut stream, client_request) = ask_in(&session, 1).await.remove(0);
    session.respond(&client_request, reply(0)).await;
    assert!(stream.message().await.to_string().contains("2 asked, 2 heard "), "a call that begins now");
}

/// C2, without sessions: the retried call resumes in the version that it began with.
#[tokio::test(flavor = "multi_thread")]
async fn stateless_calls_that_wait_for_an_answer_end_with_the_version_that_asked() {
    let server = first_reporter("").await;
    let caller = AnsweringClient::of(&server);
    let mut states = Vec::new();
    for number in 0..SUSPENDED {
        states.push(state(&caller.call(tool(number), &json!({}), json!({})).await));
    }
    replace(&server).await;
    for (number, state) in states.into_iter().enumerate() {
        let responses = match tool(number) {
            "ask_model" => json!({ "who": reply(number) }),
            _ => accepted("who", "Ada"),
        };
        let retry = json!({ "requestState": state, "inputResponses": responses });
        let done = caller.call(tool(number), &json!({}), retry).await;
        let text = done.tool_text();
        assert!(text.starts_with("1 asked, 1 heard ") && text.contains("Ada"), "{done:?}");
    }
    let responses = json!({ "inputResponses": accepted("who", "Ada") });
    let done = caller.call("ask_person", &json!({}), responses).await;
    assert!(done.tool_text().starts_with("2 asked, 2 heard "), "{done:?}");
}

/// C2, beyond the drain time: a suspended call that waits longer gets an error that says so, and never the new
/// version's result.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_beyond_the_drain_limit_are_told_that_their_plugin_was_replaced() {
    let server = first_reporter("[server]\ndrain_s = 1\n").await;
    let session = Client::new(server.url()).session_with(LEGACY, capabilities()).await;
    let suspended = ask_in(&session, 4).await;
    let caller = AnsweringClient::of(&server);
    let request_state = state(&caller.call("ask_person", &json!({}), json!({})).await);
    replace(&server).await;
    for (mut stream, _) in suspended {
        let mut message = stream.message().await;
        if message["method"] == "notifications/cancelled" {
            message = stream.message().await;
        }
        assert!(message.get("method").is_none() && message.to_string().contains("replaced"), "{message}");
    }
    let retry = json!({ "requestState": request_state, "inputResponses": accepted("who", "Ada") });
    let late = caller.call("ask_person", &json!({}), retry).await;
    assert!(late.text.contains("replaced") && !late.text.contains("heard"), "{late:?}");
}

/// C3: a working version stays when its file is replaced by a broken one.
#[tokio::test(flavor = "multi_thread")]
async fn bad_versions_between_good_ones_are_reported_once_and_noticed_by_no_caller() {
    let first = std::fs::read(guest("version_a")).unwrap();
    let server = Server::builder().file("v.wasm", &first).guest("polite").start().await;
    let client = Client::new(server.url());
    let neighbour_loop = Neighbour::new(server.url()).start_loop();
    let listed = tool_names(&client).await;
    let good = versions(&server, "v")[0]["digest"].clone();
    let never_lists = || std::fs::read(guest("hostile_loop_in_list_tools")).unwrap();
    let made = ["half", "noise", "core_module", "other_world", "text", "empty"].map(hostile_files::made);
    let bad: Vec<Vec<u8>> = made.into_iter().chain([never_lists()]).collect();
    for (number, bytes) in bad.iter().enumerate() {
        install_bytes(bytes, server.folder(), "v.wasm");
        wait_for_log_times(&server, "rejected ", number + 1).await;
        assert_eq!(client.call("v-version", json!({})).await.tool_text(), "a");
        assert_eq!(tool_names(&client).await, listed);
        let known = versions(&server, "v");
        let [served, failed] = known.as_slice() else { panic!("two entries were expected: {known:?}") };
        assert_eq!((&served["state"], &served["digest"]), (&json!("serving"), &good));
        assert_eq!(failed["state"], "failed");
        assert!(failed["reason"].as_str().is_some_and(|why| !why.is_empty()), "{failed}");
    }
    install_guest("version_b", server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("b")).await;
    let known = versions(&server, "v");
    let failed = known.iter().filter(|version| version["state"] == "failed").count();
    assert!(failed == 0 && known[0]["digest"] != good, "{known:?}");
    assert_eq!(server.log().matches("rejected ").count(), bad.len(), "{}", server.log());
    assert_eq!(server.log().matches("removed ").count(), 0, "{}", server.log());
    neighbour_loop.end().await;
}

/// Opens a `subscriptions/listen` stream, and waits until it is open.
async fn listen(client: &Client) -> Stream {
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": stateless_meta() });
    let body = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "subscriptions/listen")];
    let mut stream = client.stream(&headers, &body).await;
    assert_eq!(stream.message().await["method"], "notifications/subscriptions/acknowledged");
    stream
}

/// C4.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_deleted_under_its_calls_finishes_them_and_is_unknown_then() {
    let server = Server::builder().guest("polite").guest("version_a").start().await;
    let client = Client::new(server.url());
    let session = client.session(LEGACY).await;
    let (mut unasked, mut listening) = (session.listen(None).await, listen(&client).await);
    let naps: Vec<_> = (0..16)
        .map(|number| {
            let (client, session) = (client.clone(), session.clone());
            let ms = json!({ "ms": 2_000 });
            tokio::spawn(async move {
                match number % 2 {
                    0 => client.call("polite-nap", ms).await,
                    _ => {
                        let call = json!({ "name": "polite-nap", "arguments": ms });
                        session.request_as(json!(100 + number), "tools/call", call).await
                    }
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(400)).await;
    std::fs::remove_file(server.folder().join("polite.wasm")).unwrap();
    for stream in [&mut unasked, &mut listening] {
        assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    }
    assert_eq!(tool_names(&client).await, ["version_a-version"]);
    for reply in [
        client.call("polite-echo", json!({ "message": "x" })).await,
        session.call("polite-echo", json!({ "message": "x" })).await,
    ] {
        assert_eq!(reply.error_code(), -32602, "{reply:?}");
    }
    let running = naps.iter().filter(|nap| !nap.is_finished()).count();
    assert!(running > 0, "the calls were over before the plugin was gone, so nothing was tried");
    for nap in naps {
        assert_eq!(nap.await.unwrap().tool_text(), "rested");
    }
}

/// C6. That a stdio server ends with its input is tested in `mcp::stdio`.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_stop_takes_nobody_new_and_finishes_what_it_has() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let nap = tokio::spawn(async move { client.call("polite-nap", json!({ "ms": 3_000 })).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.signal("-TERM").await;
    let address = server.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let begun = Instant::now();
    while tokio::net::TcpStream::connect(&address).await.is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(1), "the server still accepts connections");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!nap.is_finished(), "the call was over before the server took no more");
    assert_eq!(nap.await.unwrap().tool_text(), "rested");
    assert_eq!(server.wait_for_exit().await, Some(0));
}

/// C6, over stdio.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_a_pipe_that_is_told_to_stop_finishes_what_it_has() {
    let plugins = folder(&["polite"]);
    let mut pipe = StdioClient::start(plugins.path());
    pipe.initialize(LEGACY).await;
    // The list waits for compiling, so the call after it runs at once.
    pipe.request(json!("list"), "tools/list", json!({})).await;
    let listed = pipe.next().await;
    assert!(listed["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{listed}");
    let nap = json!({ "name": "polite-nap", "arguments": { "ms": 1_500 } });
    pipe.request(json!("nap"), "tools/call", nap).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    pipe.signal("-TERM").await;
    let response = pipe.next().await;
    assert_eq!(response["result"]["content"][0]["text"], "rested", "{response}");
    assert_eq!(pipe.wait_for_exit().await, Some(0));
}

/// C6.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_server_at_once() {
    let server = Server::builder().guest("polite").start().await;
    let session = Client::new(server.url()).session(LEGACY).await;
    // A disconnection does not cancel a call of a session, so the server waits for the call.
    let nap = session.call("polite-nap", json!({ "ms": 25_000 }));
    assert!(tokio::time::timeout(Duration::from_millis(300), nap).await.is_err());
    server.signal("-TERM").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    server.signal("-TERM").await;
    assert_eq!(server.wait_for_exit().await, Some(1), "it did not finish what it had");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
