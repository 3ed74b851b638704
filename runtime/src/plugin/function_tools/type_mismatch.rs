//! How an argument differs from its type, with its path.

use serde_json::Value;

/// The first fault and its path, such as `$.point.x`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("${path}: {what}")]
pub(super) struct Mismatch {
    path: String,
    what: String,
}

impl Mismatch {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { path: String::new(), what: what.into() }
    }

    pub(super) fn expected(expected: &str, actual: &Value) -> Self {
        Self::new(format!("must be {expected}, and is {}", kind(actual)))
    }

    /// The same with a path that begins one level higher.
    pub(super) fn below(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
