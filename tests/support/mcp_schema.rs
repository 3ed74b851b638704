//! Validates every message that a test receives from the server against the JSON Schemas that MCP publishes.
//!
//! The definition follows from the kind of the message and, for a response, from its request. Each definition is
//! compiled once for all tests.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

/// The revisions and their published schemas.
const REVISIONS: [(&str, &str); 5] = [
    ("2024-11-05", include_str!("../schemas/2024-11-05.json")),
    ("2025-03-26", include_str!("../schemas/2025-03-26.json")),
    ("2025-06-18", include_str!("../schemas/2025-06-18.json")),
    ("2025-11-25", include_str!("../schemas/2025-11-25.json")),
    ("2026-07-28", include_str!("../schemas/2026-07-28.json")),
];

const NEWEST: &str = "2026-07-28";

/// The first revision whose errors may lack an id.
const ERRORS_WITHOUT_ID: &str = "2025-11-25";

/// The name of each method's result in the schema.
const RESULTS: [(&str, &str); 22] = [
    ("initialize", "InitializeResult"),
    ("server/discover", "DiscoverResult"),
    ("ping", "EmptyResult"),
    ("logging/setLevel", "EmptyResult"),
    ("resources/subscribe", "EmptyResult"),
    ("resources/unsubscribe", "EmptyResult"),
    ("subscriptions/listen", "SubscriptionsListenResult"),
    ("tools/list", "ListToolsResult"),
    ("tools/call", "CallToolResult"),
    ("resources/list", "ListResourcesResult"),
    ("resources/templates/list", "ListResourceTemplatesResult"),
    ("resources/read", "ReadResourceResult"),
    ("prompts/list", "ListPromptsResult"),
    ("prompts/get", "GetPromptResult"),
    ("completion/complete", "CompleteResult"),
    ("tasks/get", "GetTaskResult"),
    ("tasks/update", "EmptyResult"),
    ("tasks/cancel", "CancelTaskResult"),
    ("tasks/result", "CallToolResult"),
    // Of extensions, which have no schema there.
    ("skills/list", "Result"),
    ("skills/get", "Result"),
    ("resources/directory/read", "Result"),
];

/// The only methods whose result may be `input_required`, where that exists.
const MAY_REQUIRE_INPUT: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

type Compiled = HashMap<(String, String), Arc<Validator>>;

static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// Checks a message or a batch. `method` is the method of a response's request, if it is known.
pub fn check(revision: &str, method: Option<&str>, message: &Value) {
    if let Value::Array(batch) = message {
        return batch.iter().for_each(|message| check(revision, None, message));
    }
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    match (message.get("method"), message.get("id"), message.get("result"), message.get("error")) {
        (Some(_), Some(_), None, None) => {
            assert_ne!(revision, NEWEST, "no request goes to a client of this revision: {message}");
            fits(revision, "ServerRequest", message);
        }
        (Some(method), None, None, None) if method == "notifications/tasks" => {
            fits(revision, "TaskNotification", message);
        }
        (Some(_), None, None, None) => fits(revision, "ServerNotification", message),
        (None, Some(_), Some(result), None) => {
            let envelope =
                if revision < ERRORS_WITHOUT_ID { "JSONRPCResponse" } else { "JSONRPCResultResponse" };
            fits(revision, envelope, message);
            fits(revision, result_of(method, result), result);
        }
        (None, _, None, Some(_)) => error_fits(revision, message),
        _ => panic!("this is no message: {message}"),
    }
}

fn result_of(method: Option<&str>, result: &Value) -> &'static str {
    let method = method.unwrap_or_else(|| panic!("no request belongs to {result}"));
    if result["resultType"] == "input_required" {
        assert!(
            MAY_REQUIRE_INPUT.contains(&method),
            "{method} must not have the result `input_required`: {result}"
        );
        return "InputRequiredResult";
    }
    if method == "tools/call" && (result["resultType"] == "task" || result.get("task").is_some()) {
        return "CreateTaskResult";
    }
    let known = RESULTS.iter().find(|(name, _)| *name == method);
    known.map(|(_, definition)| definition).unwrap_or_else(|| panic!("{method} has no result: {result}"))
}

fn error_fits(revision: &str, message: &Value) {
    let mut message = message.clone();
    if message.get("id").is_none() && revision < ERRORS_WITHOUT_ID {
        // These schemas have no definition for an error about an unreadable message.
        message["id"] = json!(0);
    }
    let definition = if revision < ERRORS_WITHOUT_ID { "JSONRPCError" } else { "JSONRPCErrorResponse" };
    fits(revision, definition, &message);
}

fn fits(revision: &str, definition: &str, value: &Value) {
    let validator = compiled(revision, definition);
    let faults: Vec<String> =
        validator.iter_errors(value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    let faults = faults.join("\n");
    assert!(faults.is_empty(), "not a {definition} of {revision}: {value}\n{faults}");
}

fn compiled(revision: &str, definition: &str) -> Arc<Validator> {
    let key = (revision.to_owned(), definition.to_owned());
    let mut compiled = COMPILED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Arc::clone(compiled.entry(key).or_insert_with(|| Arc::new(compile(revision, definition))))
}

fn compile(revision: &str, definition: &str) -> Validator {
    let (_, text) = REVISIONS.iter().find(|(name, _)| *name == revision).expect("a published revision");
    let mut schema: Value = serde_json::from_str(text).unwrap();
    let folder = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
    if revision == NEWEST {
        let definitions = schema[folder].as_object_mut().unwrap();
        definitions.extend(task_extension().as_object().unwrap().clone());
    }
    assert!(schema[folder].get(definition).is_some(), "{revision} has no {definition}");
    schema["$ref"] = json!(format!("#/{folder}/{definition}"));
    jsonschema::validator_for(&schema).unwrap()
}

/// The messages of the extension for tasks, after the text of its specification.
fn task_extension() -> Value {
    let has = |names: &[&str]| -> Value {
        json!({ "anyOf": names.iter().map(|name| json!({ "required": [name] })).collect::<Vec<_>>() })
    };
    let time = json!({ "type": "string", "format": "date-time" });
    let with = |status: &[&str], needed: &[&str], absent: &[&str]| {
        let absent = if absent.is_empty() { json!(true) } else { json!({ "not": has(absent) }) };
        json!({ "properties": { "status": { "enum": status } }, "required": needed, "allOf": [absent] })
    };
    let task = json!({
        "type": "object",
        "properties": {
            "taskId": { "type": "string" },
            "status": { "type": "string" },
            "statusMessage": { "type": "string" },
            "createdAt": time,
            "lastUpdatedAt": time,
            "ttlMs": { "type": ["integer", "null"], "exclusiveMinimum": 0 },
            "pollIntervalMs": { "type": "integer", "exclusiveMinimum": 0 },
            "result": { "$ref": "#/$defs/CallToolResult" },
            "error": { "$ref": "#/$defs/Error" },
            "inputRequests": { "$ref": "#/$defs/InputRequests" },
        },
        "required": ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
        "not": has(&["task", "ttl", "pollInterval", "requestState"]),
    });
    let detailed = json!({ "oneOf": [
        with(&["working", "cancelled"], &[], &["result", "error", "inputRequests"]),
        with(&["input_required"], &["inputRequests"], &["result", "error"]),
        with(&["completed"], &["result"], &["error", "inputRequests"]),
        with(&["failed"], &["error"], &["result", "inputRequests"]),
    ] });
    let result = |kind: &str, more: Value| {
        let kind = json!({ "properties": { "resultType": { "const": kind } } });
        json!({ "allOf": [{ "$ref": "#/$defs/Result" }, kind, more] })
    };
    json!({
        "Task": task,
        "DetailedTask": { "allOf": [{ "$ref": "#/$defs/Task" }, detailed] },
        "CreateTaskResult": result("task", json!({
            "$ref": "#/$defs/Task",
            "not": has(&["result", "error", "inputRequests"]),
        })),
        "GetTaskResult": result("complete", json!({ "$ref": "#/$defs/DetailedTask" })),
        "CancelTaskResult": result("complete", json!({ "not": has(&["taskId", "status"]) })),
        "TaskNotification": {
            "properties": { "method": { "const": "notifications/tasks" }, "params": { "$ref": "#/$defs/DetailedTask" } },
            "required": ["jsonrpc", "method", "params"],
        },
    })
}

/// The sent requests by session and id: the revision in the request, if there is one, and the method.
#[derive(Debug, Default)]
struct RequestsById(HashMap<(String, String), (Option<String>, String)>);

/// The requests of a client on all its connections. A response may come on another connection than its request, as on
/// the stream of HTTP+SSE or on a resumed one.
#[derive(Debug, Default, Clone)]
pub struct SentRequests(Arc<Mutex<RequestsById>>);

/// Checks the messages of one connection.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The requests of this connection take precedence over those of others, since tests use ids again.
    own: RequestsById,
    all: SentRequests,
    /// The session's id, if a header has it.
    session: String,
    /// The session's revision, once that is known.
    revision: Option<String>,
}

impl Conversation {
    /// A conversation in a session of this revision, if the revision has sessions.
    pub fn of_session(revision: &str, session: &str, all: &SentRequests) -> Self {
        let revision = Some(revision.to_owned()).filter(|revision| known(revision));
        Self { own: RequestsById::default(), all: all.clone(), session: session.to_owned(), revision }
    }

    /// Records a message or a batch from the client.
    pub fn sent(&mut self, message: &Value) {
        if let Value::Array(batch) = message {
            return batch.iter().for_each(|message| self.sent(message));
        }
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        let Some(id) = message.get("id").filter(|_| !is_response) else { return };
        let stated = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let stated = stated.filter(|revision| known(revision)).map(str::to_owned);
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let key = (self.session.clone(), id.to_string());
        self.own.0.insert(key.clone(), (stated.clone(), method.clone()));
        self.all.lock().0.insert(key, (stated, method));
    }

    /// Checks a message or a batch from the server.
    pub fn received(&mut self, message: &Value) {
        if let Value::Array(batch) = message {
            return batch.iter().for_each(|message| self.received(message));
        }
        if let Some(revision) = message["result"]["protocolVersion"].as_str() {
            self.revision = Some(revision.to_owned());
        }
        let subscribed = !message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_null();
        let revision = self.revision.as_deref().filter(|_| !subscribed).unwrap_or(NEWEST);
        match self.sent_request(message) {
            Some((stated, method)) => check(stated.as_deref().unwrap_or(revision), Some(&method), message),
            None => check(revision, None, message),
        }
    }

    /// The request of this response.
    fn sent_request(&self, message: &Value) -> Option<(Option<String>, String)> {
        if message.get("method").is_some() {
            return None;
        }
        let key = (self.session.clone(), message.get("id")?.to_string());
        self.own.0.get(&key).cloned().or_else(|| self.all.lock().0.get(&key).cloned())
    }
}

impl SentRequests {
    fn lock(&self) -> std::sync::MutexGuard<'_, RequestsById> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn known(revision: &str) -> bool {
    REVISIONS.iter().any(|(name, _)| *name == revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(revision: &str, method: Option<&str>, message: &Value) -> bool {
        std::panic::catch_unwind(|| check(revision, method, message)).is_err()
    }

    #[test]
    fn a_message_that_its_revision_does_not_have_is_found() {
        let good = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } });
        check("2025-11-25", Some("tools/list"), &good);
        assert!(rejected("2026-07-28", Some("tools/list"), &good), "it lacks resultType and hints");
        assert!(rejected("2025-11-25", Some("prompts/list"), &good));
        let asking = json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" });
        check("2025-11-25", None, &asking);
        assert!(rejected("2026-07-28", None, &asking));
        let unknown = json!({ "jsonrpc": "2.0", "method": "notifications/nothing" });
        assert!(rejected("2025-11-25", None, &unknown));
        assert!(rejected("2025-11-25", None, &json!({ "jsonrpc": "2.0" })));
        let nameless = json!({ "jsonrpc": "2.0", "id": null, "result": { "tools": [] } });
        assert!(rejected("2025-11-25", Some("tools/list"), &nameless));
    }

    #[test]
    fn a_response_is_known_by_its_request_whatever_it_comes_on() {
        let memory = SentRequests::default();
        let mut post = Conversation::of_session("2025-11-25", "s", &memory);
        post.sent(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
        let response = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } });
        let received = |session: &str, response: &Value| {
            std::panic::catch_unwind(|| {
                Conversation::of_session("2025-11-25", session, &memory).received(response);
            })
        };
        assert!(received("s", &response).is_ok());
        assert!(received("s", &json!({ "jsonrpc": "2.0", "id": 1, "result": {} })).is_err());
        assert!(received("other", &response).is_err(), "that session has no such request");
    }
}
