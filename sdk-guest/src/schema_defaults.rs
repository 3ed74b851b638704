//! Defaults that fit the schemas in which they stand.
//!
//! A default is written as serde writes the value, with `null` for an empty `Option`. The schema of such a member has
//! no `null`, so a client that fills in the default would send what the schema rejects. Here those members are left
//! out.

use serde_json::Value;

use crate::schema::{DATA, NAMED};

/// Removes the nulls of every default in a schema that their own schemas do not allow.
pub(crate) fn without_null(mut schema: Value) -> Value {
    let root = schema.clone();
    visit(&root, &mut schema);
    schema
}

fn visit(root: &Value, schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| visit(root, schema)),
        Value::Object(object) => {
            if object.get("default").is_some_and(|default| default.is_object() || default.is_array()) {
                let own = Value::Object(object.clone());
                if let Some(default) = object.get_mut("default") {
                    fit(root, &own, default);
                }
            }
            for (keyword, value) in object.iter_mut() {
                match value {
                    _ if DATA.contains(&keyword.as_str()) => {}
                    Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                        named.values_mut().for_each(|schema| visit(root, schema));
                    }
                    value => visit(root, value),
                }
            }
        }
        _ => {}
    }
}

/// Removes null members that the schema describes and does not allow.
fn fit(root: &Value, schema: &Value, value: &mut Value) {
    let schema = described(root, schema);
    match value {
        Value::Array(items) => {
            if let Some(of_items) = schema.get("items") {
                items.iter_mut().for_each(|item| fit(root, of_items, item));
            }
        }
        Value::Object(members) => {
            let property = |name: &str| schema.get("properties")?.get(name);
            members.retain(|name, value| {
                !value.is_null() || property(name).is_none_or(|schema| allows_null(root, schema))
            });
            for (name, value) in members.iter_mut() {
                if let Some(schema) = property(name).or_else(|| schema.get("additionalProperties")) {
                    fit(root, schema, value);
                }
            }
        }
        _ => {}
    }
}

/// The schema that a reference names, and that of an optional value.
fn described<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let choices = schema.get("anyOf").and_then(Value::as_array);
    let some = choices.and_then(|choices| choices.iter().find(|choice| !is_null_type(choice)));
    referenced(root, some.unwrap_or(schema))
}

fn is_null_type(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

fn referenced<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let pointer =
        schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

fn allows_null(root: &Value, schema: &Value) -> bool {
    let schema = referenced(root, schema);
    if let Some(kind) = schema.get("type") {
        return kind == "null"
            || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.contains(&Value::Null);
    }
    let choices = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(*keyword)?.as_array());
    choices.is_none_or(|choices| choices.iter().any(|choice| allows_null(root, choice)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_default_has_no_null_that_its_schema_rejects() {
        let place = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "note": { "type": ["string", "null"] },
                "unit": { "$ref": "#/$defs/Unit" },
                "any": {},
                "others": { "type": "array", "items": { "$ref": "#/$defs/Place" } },
            },
        });
        let unset = json!({ "name": null, "note": null, "unit": null, "any": null,
                            "others": [{ "name": null }] });
        let fitting = json!({ "note": null, "any": null, "others": [{}] });
        let schema = |default: &Value| {
            json!({
                "properties": {
                    "default": { "$ref": "#/$defs/Place", "default": default },
                    "perhaps": { "anyOf": [{ "$ref": "#/$defs/Place" }, { "type": "null" }], "default": default },
                    "map": { "additionalProperties": { "$ref": "#/$defs/Place" }, "default": { "k": default } },
                },
                "$defs": { "Place": place, "Unit": { "enum": ["m", "ft"] } },
            })
        };
        assert_eq!(without_null(schema(&unset)), schema(&fitting));
    }
}
