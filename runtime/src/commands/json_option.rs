//! Options whose value is a JSON object.

use anyhow::anyhow;
use serde_json::Value;

use super::CommandError;
use crate::json;

/// Parses the value of an option; `example` is shown if it is no JSON object.
pub(super) fn object(option: &str, text: &str, example: &str) -> Result<Value, CommandError> {
    match json::value(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(CommandError::Usage(anyhow!("{option} must be a JSON object, such as '{example}'"))),
        Err(error) => Err(CommandError::Usage(anyhow!(
            "{option} is not JSON: {error}; write an object such as '{example}'"
        ))),
    }
}
