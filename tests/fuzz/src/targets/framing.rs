//! Lines are cut where a naive reader cuts them, for any pieces in which they arrive. Over a real connection and for
//! any input, every message to the client is one line of well-formed JSON-RPC, each request gets one response with its
//! own id, notifications get none, and text that is not JSON gets a parse error and nothing else.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use plugport::catalog::{Catalog, Snapshot};
use plugport::config;
use plugport::mcp::{Caller, DuplexReply, DuplexSession, ResponseStream, Server};
use plugport::transport::fuzzing;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{Target, reference};

pub(crate) const TARGET: Target = Target {
    name: "framing",
    check,
    words: &[
        "{\"jsonrpc\":\"2.0\",",
        "\"id\":",
        "\"method\":",
        "\"params\":{",
        "\"result\":{}",
        "\"error\":",
        "\"_meta\":{",
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"",
        "\"io.modelcontextprotocol/clientCapabilities\":{}",
        "\"io.modelcontextprotocol/clientInfo\":{}",
        "\"io.modelcontextprotocol/logLevel\":\"debug\"",
        "\"progressToken\":",
        "\"initialize\"",
        "\"protocolVersion\":\"2025-03-26\"",
        "\"capabilities\":{}",
        "\"clientInfo\":{\"name\":\"n\",\"version\":\"1\"}",
        "\"ping\"",
        "\"tools/list\"",
        "\"tools/call\"",
        "\"resources/list\"",
        "\"resources/read\"",
        "\"resources/subscribe\"",
        "\"resources/unsubscribe\"",
        "\"resources/templates/list\"",
        "\"prompts/list\"",
        "\"prompts/get\"",
        "\"completion/complete\"",
        "\"logging/setLevel\"",
        "\"server/discover\"",
        "\"subscriptions/listen\"",
        "\"notifications/cancelled\"",
        "\"notifications/initialized\"",
        "\"requestId\":",
        "\"cursor\":",
        "\"name\":",
        "\"uri\":",
        "\"arguments\":{}",
        "\"level\":",
        "\"requestState\":",
        "\"inputResponses\":{}",
        "\"ref\":{\"type\":\"ref/prompt\"",
        "\"argument\":{\"name\":\"\",\"value\":\"\"}",
        "[",
        "]",
        "{",
        "}",
        "null",
        "true",
        "1.5",
        "1e999",
        "-0",
        "9223372036854775808",
        "\\u0000",
        "\\ud800",
        "\r\n",
        "\n",
        "\u{feff}",
        "\u{202e}",
    ],
};

/// The first messages of each kind of client; the last kind sends none.
const GREETINGS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"n","version":"1"}}}"#,
    "",
];

/// The kind of client, the size of the buffer, the longest line in units of eight bytes, and what the client sends.
fn check(input: &[u8]) {
    let [client, buffer, max_bytes, sent @ ..] = input else { return };
    let max_bytes = usize::from(*max_bytes) * 8;
    let lines = fuzzing::lines(sent, usize::from(*buffer) + 1, max_bytes).now_or_never().unwrap().unwrap();
    assert_eq!(lines, cut(sent, max_bytes));
    let client = usize::from(*client) % GREETINGS.len();
    RUNTIME.with_borrow_mut(|runtime| {
        runtime.block_on(async {
            let mut connection = DuplexSession::new(Arc::clone(&SERVER), Duration::ZERO, Caller::Stdio, true);
            if !GREETINGS[client].is_empty() {
                let reply = say(&mut connection, GREETINGS[client].as_bytes()).messages;
                assert!(reply.len() == 1 && reply[0].get("result").is_some(), "{reply:?}");
            }
            // As over stdio, empty lines are ignored.
            for line in cut(sent, usize::MAX).into_iter().flatten().filter(|line| !line.is_empty()) {
                let said = say(&mut connection, &line);
                answers_fit(&line, &said);
            }
            drop(connection);
            let_tasks_end().await;
        });
    });
}

thread_local! {
    static RUNTIME: RefCell<Runtime> =
        RefCell::new(tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap());
}

static SERVER: LazyLock<Arc<Server>> = LazyLock::new(|| {
    let catalog = Catalog::new(Snapshot::new(Vec::new()));
    Arc::new(Server::new(Arc::new(catalog), config::ServerConfig::default()))
});

/// Gives the runtime time to end dropped tasks.
async fn let_tasks_end() {
    let mut left = 2;
    std::future::poll_fn(|context| {
        left -= 1;
        context.waker().wake_by_ref();
        if left > 0 { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
}

fn cut(sent: &[u8], max_bytes: usize) -> Vec<Option<Vec<u8>>> {
    let mut lines: Vec<&[u8]> = sent.split(|byte| *byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    let whole = |line: &&[u8]| {
        let whole = line.len() <= max_bytes;
        whole.then(|| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
    };
    lines.iter().map(whole).collect()
}

/// The messages to the client for one line.
struct Replies {
    messages: Vec<Value>,
    /// Whether the request still runs, as a subscription does.
    open: bool,
}

fn say(connection: &mut DuplexSession, line: &[u8]) -> Replies {
    match connection.receive(line) {
        DuplexReply::Nothing => Replies { messages: Vec::new(), open: false },
        DuplexReply::Message(reply) => Replies { messages: vec![read(reply)], open: false },
        DuplexReply::Stream(stream) => drive(stream),
    }
}

fn drive(mut stream: ResponseStream) -> Replies {
    let mut messages = Vec::new();
    loop {
        match stream.next().now_or_never() {
            Some(Some(part)) => messages.push(read(part.into_bytes())),
            Some(None) => return Replies { messages, open: false },
            None => return Replies { messages, open: true },
        }
    }
}

/// Reads the server's messages as strictly as a client can.
fn read(message: Bytes) -> Value {
    assert!(!message.iter().any(|byte| matches!(byte, b'\n' | b'\r')), "two lines: {message:?}");
    assert!(reference::is_json(&message), "not JSON: {message:?}");
    let value: Value = serde_json::from_slice(&message).unwrap();
    match value.as_array() {
        Some(answers) => answers.iter().for_each(assert_message),
        None => assert_message(&value),
    }
    value
}

fn assert_message(value: &Value) {
    assert_eq!(value["jsonrpc"], "2.0", "{value}");
    let has = |name: &str| value.get(name).is_some();
    assert_eq!(1, [has("method"), has("result"), has("error")].iter().filter(|has| **has).count(), "{value}");
    if let Some(error) = value.get("error") {
        assert!(error["code"].is_i64() && error["message"].is_string(), "{value}");
    }
    assert!(value.get("id").is_none_or(is_id), "{value}");
    assert!(!has("result") || has("id"), "{value}");
}

/// A string or a whole number: what does not fit 64 bits is read here as a fraction.
fn is_id(value: &Value) -> bool {
    value.is_string() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn answers_fit(line: &[u8], said: &Replies) {
    let answers = || said.messages.iter().filter(|message| message.get("method").is_none());
    if !reference::is_json(line) {
        let codes: Vec<&Value> = said.messages.iter().map(|message| &message["error"]["code"]).collect();
        assert_eq!(codes, [-32_700], "not JSON: {:?}", String::from_utf8_lossy(line));
        return;
    }
    match expected(line) {
        Expected::Unknown => {}
        Expected::Silence => assert_eq!(said.messages.len(), 0, "a notification: {}", text(line)),
        Expected::Answer(id) => {
            let ids: Vec<&Value> = answers().map(|answer| &answer["id"]).collect();
            assert!(ids == [&id] || (ids.is_empty() && said.open), "{ids:?} for {}", text(line));
        }
        Expected::Answers(ids) => {
            // A batch gets one array of responses, or one error.
            let Some(answers) = said.messages.iter().find_map(Value::as_array) else {
                assert!(
                    said.open || ids.is_empty() || said.messages.iter().any(|one| one.get("error").is_some())
                );
                return;
            };
            let mut answered: Vec<&Value> = answers.iter().filter_map(|answer| answer.get("id")).collect();
            for id in &ids {
                let at = answered.iter().position(|other| *other == id);
                assert!(at.is_some(), "no answer to {id}: {}", text(line));
                at.map(|at| answered.remove(at));
            }
        }
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// The expected messages, where a naive reader knows them.
enum Expected {
    Unknown,
    Silence,
    Answer(Value),
    Answers(Vec<Value>),
}

fn expected(line: &[u8]) -> Expected {
    match serde_json::from_slice(line) {
        // Another message of the batch can cancel a request, which then gets no response.
        Ok(Value::Array(messages)) if !text(line).contains("cancelled") && !text(line).contains('\\') => {
            let raw: Vec<&serde_json::value::RawValue> = serde_json::from_slice(line).unwrap();
            let single = |(value, raw): (&Value, &&serde_json::value::RawValue)| match one(value, raw.get()) {
                Expected::Answer(id) => Some(id),
                _ => None,
            };
            Expected::Answers(messages.iter().zip(&raw).filter_map(single).collect())
        }
        Ok(value) => one(&value, &text(line)),
        Err(_) => Expected::Unknown,
    }
}

fn one(value: &Value, raw: &str) -> Expected {
    let names = serde_json::from_str::<Names>(raw).map_or(usize::MAX, |names| names.0);
    let Some(message) = value.as_object().filter(|message| message.len() == names) else {
        return Expected::Unknown;
    };
    let params = message.get("params").is_none_or(Value::is_object);
    let method = message.get("method").is_some_and(Value::is_string);
    if message.get("jsonrpc") != Some(&Value::from("2.0")) || !params || !method {
        return Expected::Unknown;
    }
    match message.get("id") {
        None => Expected::Silence,
        Some(id) if id.is_string() || id.is_i64() => Expected::Answer(id.clone()),
        Some(_) => Expected::Unknown,
    }
}

/// How many names an object has, one that stands there twice counted twice.
struct Names(usize);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl<'de> Visitor<'de> for Count {
            type Value = Names;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut count = 0;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Names(count))
            }
        }
        deserializer.deserialize_map(Count)
    }
}
