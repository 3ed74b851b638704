//! The messages that a client sends.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::plan::{Revision, Task};
use crate::tools::WORK_STEPS;

/// A number that fills the place of an id: each id has as many digits, so that the length of a message stays.
const FIRST_ID: u64 = 1_000_000_000;
const FIRST_ID_TEXT: &[u8] = b"1000000000";

/// The bytes of a request, in which only the id changes.
pub struct PreparedRequest {
    bytes: Vec<u8>,
    id_at: usize,
    next_id: u64,
}

impl PreparedRequest {
    /// `head` makes what comes before the message.
    pub fn new(message: &Value, head: impl FnOnce(&str) -> String) -> Self {
        let body = message.to_string();
        let head = head(&body);
        let id_at = body.find(r#""id":1000000000"#).expect("a request has the first id") + r#""id":"#.len();
        let id_at = head.len() + id_at;
        Self { bytes: format!("{head}{body}").into_bytes(), id_at, next_id: FIRST_ID + 1 }
    }

    /// Adds what comes after the message.
    pub fn end_with(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes with the next id.
    pub fn next(&mut self) -> &[u8] {
        let mut id = self.next_id;
        self.next_id += 1;
        for digit in self.bytes[self.id_at..self.id_at + FIRST_ID_TEXT.len()].iter_mut().rev() {
            *digit = b'0' + (id % 10) as u8;
            id /= 10;
        }
        &self.bytes
    }
}

/// The request of a task.
pub fn request(revision: Revision, task: Task) -> Value {
    let mut params = match task.tool() {
        Some(tool) => json!({ "name": tool, "arguments": arguments(task) }),
        None => json!({}),
    };
    let mut meta = serde_json::Map::new();
    if revision == Revision::Stateless {
        meta.insert("io.modelcontextprotocol/protocolVersion".into(), revision.name().into());
        meta.insert("io.modelcontextprotocol/clientInfo".into(), client_info());
        meta.insert("io.modelcontextprotocol/clientCapabilities".into(), capabilities(task));
    }
    if task == Task::Narrate {
        meta.insert("progressToken".into(), "told".into());
        if revision == Revision::Stateless {
            meta.insert("io.modelcontextprotocol/logLevel".into(), "info".into());
        }
    }
    if !meta.is_empty() {
        params["_meta"] = meta.into();
    }
    json!({ "jsonrpc": "2.0", "id": FIRST_ID, "method": task.method(), "params": params })
}

fn arguments(task: Task) -> Value {
    match task {
        Task::Echo(bytes) => json!({ "message": "0123456789abcdef".repeat(bytes / 16) }),
        Task::Work => json!({ "steps": WORK_STEPS }),
        Task::Narrate | Task::Sample | Task::List(_) => json!({}),
    }
}

fn client_info() -> Value {
    json!({ "name": "load", "version": "1.0.0" })
}

fn capabilities(task: Task) -> Value {
    if task == Task::Sample { json!({ "sampling": {} }) } else { json!({}) }
}

/// What begins a session.
pub fn initialize(revision: Revision, task: Task) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": revision.name(), "capabilities": capabilities(task), "clientInfo": client_info() } })
}

pub fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// Asks for log messages. A server without them responds with an error, which nobody minds.
pub fn set_level() -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": { "level": "info" } })
}

/// The model's answer to a sampling request.
fn sampled() -> Value {
    json!({ "role": "assistant", "model": "none", "stopReason": "endTurn",
            "content": { "type": "text", "text": "Well met." } })
}

/// The response to a sampling request that a session's server sent.
pub fn sampling_response(request: &str) -> Result<Value> {
    let request: Value = serde_json::from_str(request)?;
    Ok(json!({ "jsonrpc": "2.0", "id": request["id"], "result": sampled() }))
}

/// The second request of a call whose result was `input_required`.
pub fn with_responses(request: &Value, reply: &str) -> Result<Value> {
    let reply: Value = serde_json::from_str(reply)?;
    let result = &reply["result"];
    ensure!(result["resultType"] == "input_required", "the server does not ask: {reply}");
    let requests = result["inputRequests"].as_object().context("there are no requests")?;
    let responses: serde_json::Map<_, _> = requests.keys().map(|key| (key.clone(), sampled())).collect();
    let mut request = request.clone();
    request["params"]["inputResponses"] = responses.into();
    if let Some(state) = result.get("requestState") {
        request["params"]["requestState"] = state.clone();
    }
    Ok(request)
}

/// Fails unless a reply holds a result.
pub fn check(reply: &[u8], task: Task) -> Result<()> {
    let shown = || String::from_utf8_lossy(&reply[..reply.len().min(500)]).into_owned();
    ensure!(reply.len() >= task.min_reply_bytes(), "a reply is too short: {}", shown());
    // A long reply holds the client's own text.
    if reply.len() <= 2_048 {
        let text = std::str::from_utf8(reply)?;
        let fails = [r#""error":{"#, r#""isError":true"#].iter().any(|mark| text.contains(mark));
        ensure!(!fails && text.contains(r#""result""#), "a call failed: {}", shown());
        let told = task != Task::Narrate || text.contains("notifications/progress");
        ensure!(told, "a notification is missing: {}", shown());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_changes() {
        let message = request(Revision::Session, Task::Echo(32));
        let mut prepared = PreparedRequest::new(&message, |body| format!("{}\n", body.len()));
        let first = String::from_utf8(prepared.next().to_vec()).unwrap();
        let second = String::from_utf8(prepared.next().to_vec()).unwrap();
        assert!(first.contains(r#""id":1000000001"#) && second.contains(r#""id":1000000002"#), "{second}");
        assert_eq!(first.len(), second.len());
    }

    #[test]
    fn an_error_is_no_result() {
        assert!(check(br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#, Task::Sample).is_ok());
        assert!(check(br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#, Task::Narrate).is_err());
        assert!(check(br#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, Task::Sample).is_err());
        assert!(check(br#"{"result":{}}"#, Task::Echo(32)).is_err());
    }
}
