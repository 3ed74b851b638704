//! A client that responds to client requests, with a session and without one.
//!
//! In a session, the server sends a client request on the stream of the call. A stateless call gets the result
//! `input_required`, and the client repeats it (MRTR). Guests must not notice the difference, so one test can run with
//! both.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::http_client::{Client, HttpResponse, LEGACY, STATELESS, Session};

/// The capabilities that such a client declares.
fn capabilities() -> Value {
    json!({ "sampling": {}, "elicitation": { "form": {} }, "roots": {} })
}

/// A client that supports every client request, with or without a session.
pub enum AnsweringClient {
    Session(Session),
    Stateless(Client),
}

/// All messages of one call, from its request to its result.
#[derive(Debug, Default)]
pub struct CallTranscript {
    /// The params of the client requests, in order.
    pub client_requests: Vec<Value>,
    /// The notifications that came before the result.
    pub notifications: Vec<Value>,
    /// The result, or the error, of the call.
    pub outcome: Value,
}

impl CallTranscript {
    /// The text of the result.
    pub fn text(&self) -> &str {
        let text = self.outcome["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {self:?}"))
    }

    /// The params of the notifications of this method, in order.
    pub fn notifications(&self, method: &str) -> Vec<&Value> {
        let fitting = self.notifications.iter().filter(|message| message["method"] == method);
        fitting.map(|message| &message["params"]).collect()
    }
}

impl AnsweringClient {
    /// One with a session and one without.
    pub async fn both(url: String) -> [Self; 2] {
        let client = Client::new(url);
        let session = client.session_with(LEGACY, capabilities()).await;
        [Self::Session(session), Self::Stateless(client)]
    }

    /// The client's revision.
    pub fn revision(&self) -> &'static str {
        match self {
            Self::Session(_) => LEGACY,
            Self::Stateless(_) => STATELESS,
        }
    }

    /// The result of a request without client requests.
    pub async fn request(&self, method: &str, params: Value) -> Value {
        let reply = match self {
            Self::Session(session) => session.request(method, params).await,
            Self::Stateless(client) => client.request(method, params).await,
        };
        reply.result().clone()
    }

    /// Calls a tool, and responds to its client requests with these results, in order.
    pub async fn call(&self, tool: &str, arguments: Value, results: &[Value]) -> CallTranscript {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut results: VecDeque<Value> = results.iter().cloned().collect();
        let transcript = match self {
            Self::Session(session) => call_in_session(session, params, &mut results).await,
            Self::Stateless(client) => call_with_mrtr(client, params, &mut results).await,
        };
        assert!(results.is_empty(), "{tool} did not ask for {results:?}: {transcript:?}");
        transcript
    }
}

async fn call_in_session(
    session: &Session,
    mut params: Value,
    results: &mut VecDeque<Value>,
) -> CallTranscript {
    params["_meta"] = json!({ "progressToken": "p" });
    // A session accepts an id again only after its earlier call has ended, which a client may see before the server.
    static IDS: AtomicU64 = AtomicU64::new(1_000_000);
    let id = IDS.fetch_add(1, Ordering::Relaxed);
    let mut stream = session.stream(json!(id), "tools/call", params).await;
    let mut transcript = CallTranscript::default();
    loop {
        let message = stream.message().await;
        if message["method"].is_null() {
            transcript.outcome = result_or_error(&message);
            return transcript;
        }
        if message["id"].is_null() {
            transcript.notifications.push(message);
            continue;
        }
        let result = next(results, &message);
        session.respond(&message, result).await;
        transcript.client_requests.push(message["params"].clone());
    }
}

async fn call_with_mrtr(client: &Client, mut params: Value, results: &mut VecDeque<Value>) -> CallTranscript {
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities(),
                       "io.modelcontextprotocol/logLevel": "debug", "progressToken": "p" });
    let mut transcript = CallTranscript::default();
    loop {
        let reply: HttpResponse = client.request_with_meta("tools/call", params.clone(), meta.clone()).await;
        let (last, before) = reply.messages.split_last().unwrap_or_else(|| panic!("nothing in {reply:?}"));
        transcript.notifications.extend(before.iter().cloned());
        let result = result_or_error(last);
        if result["resultType"] != "input_required" {
            transcript.outcome = result;
            return transcript;
        }
        let mut responses = json!({});
        for (key, client_request) in result["inputRequests"].as_object().expect("client requests have keys") {
            responses[key] = next(results, client_request);
            transcript.client_requests.push(client_request["params"].clone());
        }
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = responses;
    }
}

fn result_or_error(message: &Value) -> Value {
    let part = if message["result"].is_null() { "error" } else { "result" };
    message[part].clone()
}

fn next(results: &mut VecDeque<Value>, client_request: &Value) -> Value {
    results.pop_front().unwrap_or_else(|| panic!("nobody expected the request {client_request}"))
}
