//! What belongs to one principal does not exist for another: sessions, streams, suspended calls, cancellations and
//! progress. Where a thief gets a response, it is compared byte for byte with the one for something that never existed.

use std::time::Duration;

use plugport_tests::http_client::{Client, HttpResponse, LEGACY, STATELESS, Stream};
use plugport_tests::server::Server;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{ADA, BOB, as_caller, both, listen};
use crate::mcp::session_client_requests::{GRANTED, capabilities, form};

/// Each revision with sessions.
const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// An id that no session ever had.
const NEVER: &str = "AAAAAAAAAAAAAAAAAAAAAA";

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

async fn server() -> Server {
    Server::builder()
        .guest("polite")
        .guest("client_requests")
        .config(&format!("{GRANTED}{}", both()))
        .start()
        .await
}

/// Everything of a response that a client sees, but for its date.
fn seen(response: &HttpResponse) -> (u16, String, Vec<(String, String)>) {
    let headers = response.headers.iter().filter(|(name, _)| *name != "date");
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    (response.status, response.text.clone(), headers.collect())
}

/// The response to a request without a body, which must be 404. An event stream would never end.
async fn rejected(client: &Client, method: Method, headers: &[(&str, &str)]) -> HttpResponse {
    let response = tokio::time::timeout(Duration::from_secs(20), client.response_to(method, headers)).await;
    let response = response.expect("a rejected request has an end");
    assert_eq!(response.status, 404, "{response:?}");
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_another_principal_is_unknown() {
    let server = server().await;
    for revision in REVISIONS {
        let own = as_caller(&server, ADA).session(revision).await;
        {
            let thief = as_caller(&server, BOB);
            for body in [
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }),
                json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
                json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]),
                json!({ "jsonrpc": "2.0", "id": 1, "method": "nothing" }),
            ] {
                let with = async |id: &str| {
                    let headers = [("mcp-session-id", id), ("mcp-protocol-version", revision)];
                    seen(&thief.post(&headers, body.to_string()).await)
                };
                assert_eq!(with(&own.id).await, with(NEVER).await, "{revision}: {body}");
            }
            for last_event in [None, Some("0-0")] {
                let with = async |id: &str| {
                    let mut headers = vec![("mcp-session-id", id), ("accept", "text/event-stream")];
                    headers.extend(last_event.map(|event| ("last-event-id", event)));
                    seen(&rejected(&thief, Method::GET, &headers).await)
                };
                assert_eq!(with(&own.id).await, with(NEVER).await, "{revision}");
            }
            let deleted =
                async |id: &str| seen(&rejected(&thief, Method::DELETE, &[("mcp-session-id", id)]).await);
            assert_eq!(deleted(&own.id).await, deleted(NEVER).await, "{revision}");
        }
        assert_eq!(own.request("tools/list", json!({})).await.status, 200, "{revision}: the session goes on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_began_without_a_token_is_no_principals_and_the_other_way_round() {
    let config = format!("[auth]\nanonymous = \"allow\"\n{}", both());
    let server = Server::builder().guest("polite").config(&config).start().await;
    let (ada, nobody) = (as_caller(&server, ADA), Client::new(server.url()));
    let (of_ada, of_nobody) = (ada.session(LEGACY).await, nobody.session(LEGACY).await);
    assert_eq!((ada.delete(&of_nobody.id).await, nobody.delete(&of_ada.id).await), (404, 404));
    assert_eq!((ada.delete(&of_ada.id).await, nobody.delete(&of_nobody.id).await), (204, 204));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_state_of_another_principal_is_unknown() {
    let server = server().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let call = async |client: &Client, more: Value| {
        let arguments = json!({ "key": "who", "method": "elicitation/create", "params": form() });
        let mut params = json!({ "name": "ask", "arguments": arguments });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request_with_meta("tools/call", params, json!({ CAPABILITIES: capabilities() })).await
    };
    let with = |state: &Value| {
        let responses = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
        json!({ "requestState": state, "inputResponses": responses })
    };
    // Bob's own state is used up, so that its call exists no more.
    let gone = call(&bob, json!({})).await.result()["requestState"].clone();
    assert!(call(&bob, with(&gone)).await.tool_text().contains("Ada"));
    let state = call(&ada, json!({})).await.result()["requestState"].clone();
    assert_eq!(seen(&call(&bob, with(&state)).await), seen(&call(&bob, with(&gone)).await));
    assert!(call(&ada, with(&state)).await.tool_text().contains("Ada"), "her call still waits for her");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_http_and_sse_takes_messages_of_its_principal_only() {
    let server = server().await;
    let base = server.url().trim_end_matches("/mcp").to_owned();
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let mut stream = ada.at(format!("{base}/sse")).listen(&[]).await;
    let endpoint = stream.event().await.unwrap().data;
    let ping = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }).to_string();
    let stolen = bob.at(format!("{base}{endpoint}")).post(&[], ping.clone()).await;
    let never = bob.at(format!("{base}/messages?sessionId={NEVER}")).post(&[], ping.clone()).await;
    assert_eq!(seen(&stolen), seen(&never));
    assert_eq!(ada.at(format!("{base}{endpoint}")).post(&[], ping).await.status, 202);
    assert_eq!(stream.message().await["id"], 9, "the first message on the stream is her own");
}

/// Begins a session over HTTP+SSE. Returns its stream, a client that posts to it, and the address to post to.
async fn sse_session(server: &Server, token: &str) -> (Stream, Client, String) {
    let base = server.url().trim_end_matches("/mcp").to_owned();
    let client = as_caller(server, token);
    let mut stream = client.at(format!("{base}/sse")).listen(&[]).await;
    let address = format!("{base}{}", stream.event().await.unwrap().data);
    let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {},
                         "clientInfo": { "name": "suite", "version": "1" } });
    let posts = client.at(&address);
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    assert_eq!(posts.post(&[], initialize.to_string()).await.status, 202);
    assert_eq!(stream.message().await["result"]["protocolVersion"], "2024-11-05");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(posts.post(&[], initialized.to_string()).await.status, 202);
    (stream, posts, address)
}

/// All calls have the id 1, which the thief names in sessions of its own and in those of the others.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_cancels_the_call_of_another() {
    let server = server().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let mut sessions = Vec::new();
    for revision in REVISIONS {
        sessions.push((ada.session(revision).await, bob.session(revision).await));
    }
    let (mut of_ada, ada_posts, address) = sse_session(&server, ADA).await;
    let (_of_bob, bob_posts, _) = sse_session(&server, BOB).await;

    let arguments = json!({ "ms": 2000 });
    let nap = json!({ "name": "polite-nap", "arguments": arguments });
    let mut calls = JoinSet::new();
    for own in sessions.iter().map(|(own, _)| own.clone()) {
        let nap = nap.clone();
        calls.spawn(async move { own.request_as(json!(1), "tools/call", nap).await });
    }
    let stateless = ada.clone();
    calls.spawn(async move { stateless.call("polite-nap", arguments).await });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": nap }).to_string();
    assert_eq!(ada_posts.post(&[], call).await.status, 202);
    tokio::time::sleep(Duration::from_millis(300)).await;

    let params = json!({ "requestId": 1 });
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string();
    let cancelled =
        async |client: &Client, headers: &[(&str, &str)]| client.post(headers, cancel.clone()).await.status;
    for (own, other) in &sessions {
        other.notify("notifications/cancelled", params.clone()).await;
        let headers = [("mcp-session-id", &*own.id), ("mcp-protocol-version", &*own.revision)];
        assert_eq!(cancelled(&bob, &headers).await, 404, "{}", own.revision);
    }
    assert_eq!(cancelled(&bob, &[("mcp-protocol-version", STATELESS)]).await, 202);
    assert_eq!(cancelled(&bob_posts, &[]).await, 202);
    assert_eq!(cancelled(&bob.at(&address), &[]).await, 404);
    for reply in calls.join_all().await {
        assert_eq!(reply.tool_text(), "rested");
    }
    let reply = of_ada.message().await;
    assert_eq!((&reply["id"], &reply["result"]["content"][0]["text"]), (&json!(1), &json!("rested")));
}

/// Both listen by a request with the id `l`, which the thief cancels wherever it can.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_cancels_the_subscription_of_another() {
    let server = Server::builder().guest("library").config(&both()).start().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let notifications = json!({ "resourceSubscriptions": ["lib:page/static"] });
    let mut ada_hears = listen(&ada, notifications.clone()).await;
    let _bob_listens = listen(&bob, notifications).await;
    let params = json!({ "requestId": "l" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    let cancelled = bob.post(&[("mcp-protocol-version", STATELESS)], cancel.to_string()).await;
    assert_eq!(cancelled.status, 202, "{cancelled:?}");
    bob.session(LEGACY).await.notify("notifications/cancelled", params).await;
    bob.call("library-touch", json!({})).await.result();
    assert_eq!(ada_hears.message().await["params"]["uri"], "lib:page/static");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_goes_to_the_caller_whoever_else_has_its_token_and_id() {
    let server = server().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let narrate = |steps: u32| {
        let arguments = json!({ "steps": steps });
        json!({ "name": "polite-narrate", "arguments": arguments, "_meta": { "progressToken": "t" } })
    };
    let heard = |one: &HttpResponse, other: &HttpResponse| {
        [one, other].map(|reply| reply.notifications("notifications/progress").len())
    };
    for revision in REVISIONS {
        let (of_ada, of_bob) = (ada.session(revision).await, bob.session(revision).await);
        let (two, three) = tokio::join!(
            of_ada.request_as(json!(1), "tools/call", narrate(2)),
            of_bob.request_as(json!(1), "tools/call", narrate(3))
        );
        assert_eq!(heard(&two, &three), [2, 3], "{revision}: {two:?} {three:?}");
    }
    let token = json!({ "progressToken": "t" });
    let (two, three) = tokio::join!(
        ada.request_with_meta("tools/call", narrate(2), token.clone()),
        bob.request_with_meta("tools/call", narrate(3), token)
    );
    assert_eq!(heard(&two, &three), [2, 3], "{two:?} {three:?}");
}
