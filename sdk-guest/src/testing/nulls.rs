//! Removes explicit nulls that stand for optional arguments, as the server does before it validates.

use serde_json::Value;

/// References followed one after the other.
const HOPS: usize = 8;

/// Levels of nested choices (`anyOf`, `oneOf`) that are followed.
const DEPTH: usize = 16;

/// Removes members that are null and that the schema neither requires nor allows to be null.
pub(super) fn remove(schema: &Value, value: &mut Value) {
    walk(schema, schema, value);
}

fn walk(root: &Value, schema: &Value, value: &mut Value) {
    let schema = resolved(root, schema);
    match value {
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| walk(root, schema, item));
            }
        }
        Value::Object(fields) => {
            let property = |name: &str| schema.get("properties")?.get(name);
            let others = additional_properties(schema);
            // Only a property that the schema names can be optional: a null among the others stays.
            fields.retain(|name, value| {
                let stays = !value.is_null() || is_required(schema, name);
                stays || property(name).is_none_or(|property| may_be_null(root, property, DEPTH))
            });
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = property(name).or(others) {
                    walk(root, schema, value);
                }
            }
        }
        _ => {}
    }
}

/// The schema of the properties without one of their own.
fn additional_properties(schema: &Value) -> Option<&Value> {
    if schema.get("patternProperties").is_some() { None } else { schema.get("additionalProperties") }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|required| required == name))
}

/// Whether null fits, or may fit in a way that is not understood here.
fn may_be_null(root: &Value, schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let schema = resolved(root, schema);
    let type_allows = match schema.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => true,
    };
    let values_allow = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().any(Value::is_null),
        (_, Some(value)) => value.is_null(),
        _ => true,
    };
    let mut choices = ["anyOf", "oneOf"].iter().filter_map(|word| schema.get(*word)?.as_array());
    type_allows
        && values_allow
        && choices.all(|choices| choices.iter().any(|choice| may_be_null(root, choice, depth)))
}

/// Follows local references from a schema.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut target = schema;
    for _ in 0..HOPS {
        let reference = target.get("$ref").and_then(Value::as_str).unwrap_or_default();
        match reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
            Some(next) => target = next,
            None => break,
        }
    }
    target
}
