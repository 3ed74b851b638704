//! Forms of `elicitation/create`: flat objects of plain fields.
//!
//! MCP allows only such forms, so that every client can show them. A guest's form is checked before it is sent. The
//! submitted content is checked before the guest gets it, because content from a user is untrusted input.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Maximum number of choices of one field: clients show them all, and users do not choose from more.
const MAX_CHOICES: usize = 1_000;

/// The keywords that limit the value of a field.
const BOUNDS: [&str; 6] = ["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"];

/// Checks that `schema` is a form.
///
/// # Errors
/// With the first rule that the schema breaks.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("`requestedSchema` must have the type `object`".to_owned());
    }
    let known = |name: &String| matches!(name.as_str(), "$schema" | "type" | "properties" | "required");
    if let Some(other) = schema.as_object().and_then(|schema| schema.keys().find(|name| !known(name))) {
        return Err(format!("`{other}` is not allowed in `requestedSchema`"));
    }
    let names =
        |required: &Value| required.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    if schema.get("required").is_some_and(|required| !names(required)) {
        return Err("`required` must be a list of texts".to_owned());
    }
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.ok_or("`requestedSchema` needs `properties`")?;
    for (name, field) in fields {
        let is_allowed = match kind(field) {
            "string" | "number" | "integer" | "boolean" => true,
            "array" => {
                let items = field.get("items").unwrap_or(&Value::Null);
                items.get("oneOf").is_none() && choices(items).next().is_some()
            }
            _ => false,
        };
        let source = field.get("items").unwrap_or(field);
        if choices(source).nth(MAX_CHOICES).is_some() {
            return Err(format!("the field `{name}` has more than {MAX_CHOICES} choices"));
        }
        if !choices(source).all(Value::is_string) {
            return Err(format!("the choices of the field `{name}` must be texts"));
        }
        if let Some(bound) =
            BOUNDS.iter().find(|bound| field.get(**bound).is_some_and(|value| !value.is_number()))
        {
            return Err(format!("`{bound}` of the field `{name}` must be a number"));
        }
        if !is_allowed {
            return Err(format!(
                "the field `{name}` is not a plain value or a list of choices; forms are flat"
            ));
        }
    }
    Ok(())
}

/// Checks that `content` fits the form. Formats such as `email` are hints for the client and are not checked.
///
/// # Errors
/// With the first field that does not fit.
pub(crate) fn fits(schema: &Value, content: &Map<String, Value>) -> Result<(), String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !content.contains_key(name) {
            return Err(format!("the field `{name}` is missing"));
        }
    }
    for (name, value) in content {
        let Some(field) = schema.get("properties").and_then(|fields| fields.get(name)) else {
            // A client may add fields, but only with values that a form could have.
            if is_plain(value) {
                continue;
            }
            return Err(format!("the field `{name}` is not part of the form"));
        };
        if !value_fits(field, value) {
            return Err(format!("the field `{name}` does not fit the form"));
        }
    }
    Ok(())
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        value => value.is_string() || value.is_number() || value.is_boolean(),
    }
}

fn value_fits(field: &Value, value: &Value) -> bool {
    let bound = |name: &str| field.get(name).and_then(Value::as_f64);
    let within = |number: f64, min: &str, max: &str| {
        bound(min).is_none_or(|min| number >= min) && bound(max).is_none_or(|max| number <= max)
    };
    match (kind(field), value) {
        ("string", Value::String(text)) => {
            within(text.chars().count() as f64, "minLength", "maxLength")
                && (choices(field).next().is_none() || choices(field).any(|choice| choice == text))
        }
        ("number", Value::Number(number)) => number.as_f64().is_some_and(|n| within(n, "minimum", "maximum")),
        ("integer", Value::Number(number)) => {
            number.as_f64().is_some_and(|n| n.fract() == 0.0 && within(n, "minimum", "maximum"))
        }
        ("boolean", Value::Bool(_)) => true,
        ("array", Value::Array(chosen)) => {
            let items = field.get("items").unwrap_or(&Value::Null);
            let choices: HashSet<&str> = choices(items).filter_map(Value::as_str).collect();
            let is_choice = |item: &Value| item.as_str().is_some_and(|item| choices.contains(item));
            within(chosen.len() as f64, "minItems", "maxItems") && chosen.iter().all(is_choice)
        }
        _ => false,
    }
}

pub(in crate::mcp) fn kind(field: &Value) -> &str {
    field.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The values of a field with choices; empty for any other field.
pub(in crate::mcp) fn choices(field: &Value) -> impl Iterator<Item = &Value> {
    let list = |name: &str| field.get(name).and_then(Value::as_array);
    let untitled = list("enum");
    let titled = if untitled.is_some() { None } else { field.get("oneOf").or_else(|| field.get("anyOf")) };
    let titled = titled.and_then(Value::as_array).into_iter().flatten();
    untitled.into_iter().flatten().chain(titled.filter_map(|choice| choice.get("const")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form() -> Value {
        json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "minLength": 2},
            "age": {"type": "integer", "minimum": 0},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        }})
    }

    fn check_content(content: &Value) -> Result<(), String> {
        fits(&form(), content.as_object().unwrap())
    }

    #[test]
    fn content_must_fit_its_form() {
        assert_eq!(check_content(&json!({"name": "Ada", "age": 36, "size": "s", "more": 1})), Ok(()));
        assert!(check_content(&json!({"age": 36})).unwrap_err().contains("`name` is missing"));
        for bad in [json!({"name": "A"}), json!({"name": 5}), json!({"name": "Ada", "age": 1.5})] {
            assert!(check_content(&bad).is_err(), "{bad}");
        }
        assert!(check_content(&json!({"name": "Ada", "size": "m"})).unwrap_err().contains("`size`"));
    }

    #[test]
    fn lists_are_made_of_their_choices() {
        let form =
            json!({"type": "object", "properties": {"c": {"type": "array", "items": {"enum": ["a", "b"]}}}});
        assert_eq!(check(&form), Ok(()));
        let fits = |value: Value| fits(&form, json!({ "c": value }).as_object().unwrap());
        assert!(fits(json!(["a"])).is_ok() && fits(json!(["x"])).is_err() && fits(json!("a")).is_err());
    }

    #[test]
    fn choices_are_texts_and_few_and_large_content_is_checked_in_time() {
        let form = |choices: Vec<Value>| json!({"type": "object", "properties": {"c": {"type": "array", "items": {"enum": choices}}}});
        let named = |count: usize| (0..count).map(|n| json!(format!("choice {n}"))).collect::<Vec<_>>();
        assert!(check(&form(named(1_001))).unwrap_err().contains("more than 1000 choices"));
        assert!(check(&form(vec![json!(1)])).unwrap_err().contains("must be texts"));
        let largest = form(named(1_000));
        assert_eq!(check(&largest), Ok(()));
        let content = json!({"c": vec![json!("choice 999"); 200_000]});
        let started = std::time::Instant::now();
        assert_eq!(fits(&largest, content.as_object().unwrap()), Ok(()));
        assert!(started.elapsed().as_secs() < 3, "{:?}", started.elapsed());
    }

    #[test]
    fn forms_are_flat() {
        assert_eq!(check(&form()), Ok(()));
        let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
        assert!(check(&nested).unwrap_err().contains("`a`"));
        assert!(check(&json!({"type": "string"})).is_err());
        assert!(check(&json!({"type": "object"})).is_err());
    }
}
