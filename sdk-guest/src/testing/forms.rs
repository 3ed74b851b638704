//! Checks what a person filled in as the server does before a plugin gets it.
//!
//! MCP has few keywords for the fields of a form, and the server checks those. Formats, and keywords that MCP does not
//! have, are for the client.

use serde_json::{Map, Value};

use crate::{Error, RpcError};

/// Checks a result of `elicitation/create` for a form with this schema.
///
/// # Errors
/// What the plugin gets instead.
pub(super) fn check(schema: &Value, result: &Value) -> Result<(), Error> {
    if result.get("action").is_none_or(|action| action != "accept") {
        return Ok(());
    }
    match fault(schema, result.get("content").and_then(Value::as_object)) {
        None => Ok(()),
        Some(why) => {
            let message = format!("the client's response cannot be used: {why}");
            Err(Error::Rpc(RpcError { code: -32603, message, data: None }))
        }
    }
}

fn fault(schema: &Value, content: Option<&Map<String, Value>>) -> Option<String> {
    let Some(content) = content else { return Some("`content` is missing".to_owned()) };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(name) = required.filter_map(Value::as_str).find(|name| !content.contains_key(*name)) {
        return Some(format!("the field `{name}` is missing"));
    }
    content.iter().find_map(|(name, value)| {
        match schema.get("properties").and_then(|fields| fields.get(name)) {
            None => (!is_plain(value)).then(|| format!("the field `{name}` is not part of the form")),
            Some(field) => (!fits(field, value)).then(|| format!("the field `{name}` does not fit the form")),
        }
    })
}

/// Whether a client may add a field with this value.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        value => value.is_string() || value.is_number() || value.is_boolean(),
    }
}

fn fits(field: &Value, value: &Value) -> bool {
    let bound = |name: &str| field.get(name).and_then(Value::as_f64);
    let within = |size: f64, min: &str, max: &str| {
        bound(min).is_none_or(|min| size >= min) && bound(max).is_none_or(|max| size <= max)
    };
    match (field.get("type").and_then(Value::as_str), value) {
        (Some("string"), Value::String(text)) => {
            let choices = choices(field);
            within(text.chars().count() as f64, "minLength", "maxLength")
                && (choices.is_empty() || choices.contains(&value))
        }
        (Some("number"), Value::Number(_)) => value.as_f64().is_some_and(|n| within(n, "minimum", "maximum")),
        (Some("integer"), Value::Number(_)) => {
            value.as_f64().is_some_and(|n| n.fract() == 0.0 && within(n, "minimum", "maximum"))
        }
        (Some("boolean"), Value::Bool(_)) => true,
        (Some("array"), Value::Array(chosen)) => {
            let choices = field.get("items").map(choices).unwrap_or_default();
            within(chosen.len() as f64, "minItems", "maxItems")
                && chosen.iter().all(|item| item.is_string() && choices.contains(&item))
        }
        _ => false,
    }
}

/// The values that a field lets a person choose from; empty for any other field.
fn choices(field: &Value) -> Vec<&Value> {
    if let Some(untitled) = field.get("enum").and_then(Value::as_array) {
        return untitled.iter().collect();
    }
    let titled = field.get("oneOf").or_else(|| field.get("anyOf")).and_then(Value::as_array);
    titled.into_iter().flatten().filter_map(|choice| choice.get("const")).collect()
}
