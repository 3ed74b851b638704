//! Validates arguments as the server does before it calls a tool, and results afterwards: with the same validator, and
//! in the same words.
//!
//! Only what the server does against hostile schemas is missing: bounds on sizes, and a budget of steps.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;

use super::nulls;
use crate::{Content, Error, Tool, ToolResult};

/// Faults that one message names.
const FAULTS: usize = 5;

/// Longest description of one fault, bytes.
const FAULT_LENGTH: usize = 300;

/// What a client gets when the server does not call the tool.
pub(super) type Rejected = Result<ToolResult, Error>;

/// The arguments that the server gives to the tool.
///
/// # Errors
/// When they do not fit the tool's schema, or the schema is one that the server would reject.
pub(super) fn arguments<T: Tool>(mut given: Value) -> Result<Value, Rejected> {
    let schema = T::describe().and_then(|tool| parse(&tool.input_schema)).map_err(Rejected::Err)?;
    nulls::remove(&schema, &mut given);
    match mismatch(&schema, &given).map_err(Rejected::Err)? {
        None => Ok(given),
        Some(faults) => Err(Ok(failed(format!("the arguments do not fit the tool's schema: {faults}")))),
    }
}

/// The result that the client gets: an error where structured content does not fit the tool's schema.
///
/// # Errors
/// When the schema is one that the server would reject.
pub(super) fn result<T: Tool>(returned: ToolResult) -> Result<ToolResult, Error> {
    let promised = T::describe()?.output_schema.filter(|_| !returned.is_error);
    let Some(schema) = promised else { return Ok(returned) };
    let fault = output_fault(&schema, returned.structured.as_deref())?;
    Ok(fault.map_or(returned, |why| failed(format!("the tool returned an invalid result: {why}"))))
}

fn output_fault(schema: &str, structured: Option<&str>) -> Result<Option<String>, Error> {
    let Some(text) = structured else {
        return Ok(Some("it promises structured content and gave none".to_owned()));
    };
    let schema: Value =
        serde_json::from_str(schema).map_err(|_| unusable("its schema is not a JSON object".to_owned()))?;
    match serde_json::from_str(text) {
        Ok(value) => Ok(mismatch(&schema, &value)?
            .map(|faults| format!("its structured content does not fit its schema: {faults}"))),
        Err(error) => Ok(Some(error.to_string())),
    }
}

fn failed(text: String) -> ToolResult {
    ToolResult { content: vec![Content::text(text)], structured: None, is_error: true, extra: None }
}

fn parse(text: &str) -> Result<Value, Error> {
    let schema: Value =
        serde_json::from_str(text).map_err(|_| unusable("its schema is not a JSON object".to_owned()))?;
    match schema.get("type") {
        Some(kind) if kind == "object" => Ok(schema),
        _ => Err(unusable("its input schema must have \"type\": \"object\"".to_owned())),
    }
}

/// What is wrong with a value, if anything is.
fn mismatch(schema: &Value, value: &Value) -> Result<Option<String>, Error> {
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| unusable(format!("its schema cannot be compiled: {error}")))?;
    let faults: Vec<String> =
        validator.iter_errors(value).take(FAULTS).map(|error| truncated(fault(&error))).collect();
    Ok((!faults.is_empty()).then(|| faults.join("; ")))
}

fn unusable(reason: String) -> Error {
    Error::Internal(format!("the server would reject this tool: {reason}"))
}

fn fault(error: &ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = escaped(property.as_str().unwrap_or_default());
            format!("{at}/{name}: is required and missing")
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<String> =
                unexpected.iter().take(FAULTS).map(|name| format!("{at}/{}", escaped(name))).collect();
            format!("{}: not a known property", names.join(", "))
        }
        ValidationErrorKind::FalseSchema => format!("{at}: nothing is allowed here"),
        _ => format!("{}: {error}", if at.is_empty() { "/" } else { &at }),
    }
}

/// A name as a step of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn truncated(mut text: String) -> String {
    if text.len() > FAULT_LENGTH {
        text.truncate(text.floor_char_boundary(FAULT_LENGTH));
        text.push('…');
    }
    text
}
