//! A client that is asked: the same calls and the same answers in both eras of the protocol.
//!
//! With a session a question is a request on the stream of the call; without one the call is answered with its questions
//! and comes again. What a guest does must not depend on it, so a test that says everything once can run twice.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::http::{Client, LEGACY, Reply, STATELESS, Session};

/// What such a client says that it can.
fn able() -> Value {
    json!({ "sampling": {}, "elicitation": { "form": {} }, "roots": {} })
}

/// A client of one era that can answer everything.
pub enum Caller {
    Session(Session),
    Stateless(Client),
}

/// A call from its request to its answer.
#[derive(Debug, Default)]
pub struct Talk {
    /// The params of the questions, in order.
    pub asked: Vec<Value>,
    /// Everything else that came before the answer.
    pub told: Vec<Value>,
    /// The result, or the error, of the call.
    pub answer: Value,
}

impl Talk {
    /// The text of the result.
    pub fn text(&self) -> &str {
        let text = self.answer["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {self:?}"))
    }

    /// The params of the notifications of this method, in order.
    pub fn notifications(&self, method: &str) -> Vec<&Value> {
        let fitting = self.told.iter().filter(|message| message["method"] == method);
        fitting.map(|message| &message["params"]).collect()
    }
}

impl Caller {
    /// One for each era.
    pub async fn both(url: String) -> [Self; 2] {
        let client = Client::new(url);
        let session = client.session_with(LEGACY, able()).await;
        [Self::Session(session), Self::Stateless(client)]
    }

    /// The revision that it speaks.
    pub fn revision(&self) -> &'static str {
        match self {
            Self::Session(_) => LEGACY,
            Self::Stateless(_) => STATELESS,
        }
    }

    /// The result of a request that asks nothing.
    pub async fn request(&self, method: &str, params: Value) -> Value {
        let reply = match self {
            Self::Session(session) => session.request(method, params).await,
            Self::Stateless(client) => client.request(method, params).await,
        };
        reply.result().clone()
    }

    /// Calls a tool, and gives these answers to what it asks, in order.
    pub async fn call(&self, tool: &str, arguments: Value, answers: &[Value]) -> Talk {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut answers: VecDeque<Value> = answers.iter().cloned().collect();
        let talk = match self {
            Self::Session(session) => in_session(session, params, &mut answers).await,
            Self::Stateless(client) => in_rounds(client, params, &mut answers).await,
        };
        assert!(answers.is_empty(), "{tool} did not ask for {answers:?}: {talk:?}");
        talk
    }
}

async fn in_session(session: &Session, mut params: Value, answers: &mut VecDeque<Value>) -> Talk {
    params["_meta"] = json!({ "progressToken": "p" });
    // A session takes an id again once the call before has ended, which its client may know before the server does.
    static IDS: AtomicU64 = AtomicU64::new(1_000_000);
    let id = IDS.fetch_add(1, Ordering::Relaxed);
    let mut stream = session.stream(json!(id), "tools/call", params).await;
    let mut talk = Talk::default();
    loop {
        let message = stream.message().await;
        if message["method"].is_null() {
            talk.answer = answer_of(&message);
            return talk;
        }
        if message["id"].is_null() {
            talk.told.push(message);
            continue;
        }
        let answer = next(answers, &message);
        session.answer(&message, answer).await;
        talk.asked.push(message["params"].clone());
    }
}

async fn in_rounds(client: &Client, mut params: Value, answers: &mut VecDeque<Value>) -> Talk {
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": able(),
                       "io.modelcontextprotocol/logLevel": "debug", "progressToken": "p" });
    let mut talk = Talk::default();
    loop {
        let reply: Reply = client.request_with_meta("tools/call", params.clone(), meta.clone()).await;
        let (last, before) = reply.messages.split_last().unwrap_or_else(|| panic!("nothing in {reply:?}"));
        talk.told.extend(before.iter().cloned());
        let answer = answer_of(last);
        if answer["resultType"] != "input_required" {
            talk.answer = answer;
            return talk;
        }
        let mut responses = json!({});
        for (key, question) in answer["inputRequests"].as_object().expect("questions have keys") {
            responses[key] = next(answers, question);
            talk.asked.push(question["params"].clone());
        }
        params["requestState"] = answer["requestState"].clone();
        params["inputResponses"] = responses;
    }
}

fn answer_of(message: &Value) -> Value {
    let part = if message["result"].is_null() { "error" } else { "result" };
    message[part].clone()
}

fn next(answers: &mut VecDeque<Value>, question: &Value) -> Value {
    answers.pop_front().unwrap_or_else(|| panic!("nobody expected the question {question}"))
}
