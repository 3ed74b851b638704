//! The JSON Schemas that MCP publishes: every message that a test receives from the server is held against them.
//!
//! Which definition a message must fit follows from what it is and from the request that it answers. A definition is
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

/// What the result of each method is called.
const RESULTS: [(&str, &str); 16] = [
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
    ("", "Result"),
];

type Compiled = HashMap<(String, String), Arc<Validator>>;

static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// Checks a message, or a batch of them. `method` is that of the request which it answers, as far as that is known.
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
        (Some(_), None, None, None) => fits(revision, "ServerNotification", message),
        (None, Some(_), Some(result), None) => fits(revision, result_of(method, result), result),
        (None, _, None, Some(_)) => error_fits(revision, message),
        _ => panic!("this is no message: {message}"),
    }
}

fn result_of(method: Option<&str>, result: &Value) -> &'static str {
    if result["resultType"] == "input_required" {
        return "InputRequiredResult";
    }
    let known = RESULTS.iter().find(|(name, _)| Some(*name) == method);
    known.map_or("Result", |(_, definition)| definition)
}

fn error_fits(revision: &str, message: &Value) {
    let mut message = message.clone();
    if message.get("id").is_none() && revision < ERRORS_WITHOUT_ID {
        // These schemas have no form for an error about what could not be read.
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
    assert!(schema[folder].get(definition).is_some(), "{revision} has no {definition}");
    schema["$ref"] = json!(format!("#/{folder}/{definition}"));
    jsonschema::validator_for(&schema).unwrap()
}

/// Remembers what a client asked, so that what comes back can be checked.
#[derive(Debug, Default)]
pub struct Conversation {
    /// Revision and method of each request, by its id.
    asked: HashMap<String, (String, String)>,
    /// Of the session, once it has begun.
    session: Option<String>,
}

impl Conversation {
    /// In a session of this revision, if that is one.
    pub fn of_session(revision: &str) -> Self {
        Self { session: Some(revision.to_owned()).filter(|revision| known(revision)), ..Self::default() }
    }

    /// Notes a message from the client, or a batch.
    pub fn sent(&mut self, message: &Value) {
        if let Value::Array(batch) = message {
            return batch.iter().for_each(|message| self.sent(message));
        }
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return };
        let stated = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let revision = stated.or(self.session.as_deref()).unwrap_or(NEWEST).to_owned();
        self.asked.insert(id.to_string(), (revision, method.to_owned()));
    }

    /// Checks a message from the server, or a batch.
    pub fn received(&mut self, message: &Value) {
        if let Value::Array(batch) = message {
            return batch.iter().for_each(|message| self.received(message));
        }
        if let Some(revision) = message["result"]["protocolVersion"].as_str() {
            self.session = Some(revision.to_owned());
        }
        let subscribed = !message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_null();
        let session = self.session.clone().filter(|_| !subscribed).unwrap_or_else(|| NEWEST.to_owned());
        match message.get("id").and_then(|id| self.asked.get(&id.to_string())) {
            Some((_, method)) if method == "initialize" => check(&session, Some("initialize"), message),
            Some((revision, method)) if known(revision) => check(revision, Some(method), message),
            _ => check(&session, None, message),
        }
    }
}

fn known(revision: &str) -> bool {
    REVISIONS.iter().any(|(name, _)| *name == revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(revision: &str, method: Option<&str>, message: &Value) -> bool {
        std::panic::catch_unwind(|| check(revision, method, message)).is_err()
    }

    #[test]
    fn a_message_that_its_revision_does_not_have_is_found() {
        let good = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } });
        check("2025-11-25", Some("tools/list"), &good);
        assert!(refused("2026-07-28", Some("tools/list"), &good), "it lacks resultType and hints");
        assert!(refused("2025-11-25", Some("prompts/list"), &good));
        let asking = json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" });
        check("2025-11-25", None, &asking);
        assert!(refused("2026-07-28", None, &asking));
        let unknown = json!({ "jsonrpc": "2.0", "method": "notifications/nothing" });
        assert!(refused("2025-11-25", None, &unknown));
        assert!(refused("2025-11-25", None, &json!({ "jsonrpc": "2.0" })));
    }
}
