//! Explicit nulls in the place of arguments that may be left out.
//!
//! A schema that offers `null` for each optional argument is refused or misread by many clients, so schemas leave it out. Some
//! clients and models send null all the same for whatever they have no value for. It means that nothing is given, so the
//! member is taken away before the arguments are checked and handed over, and no plugin needs to know. Where the schema allows
//! null, or may do so in a way that is not understood here, it stays.

use serde_json::Value;

/// References followed one after the other.
const HOPS: usize = 8;

/// Takes away members of `value` that are null, need not be there and may not be null, as `schema` says it. Gives whether
/// there were any.
pub(super) fn leave_out_nulls(schema: &Value, value: &mut Value) -> bool {
    walk(schema, schema, value)
}

fn walk(root: &Value, schema: &Value, value: &mut Value) -> bool {
    let schema = resolved(root, schema);
    match value {
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return false };
            // All of them, whatever came of the first.
            items.iter_mut().fold(false, |changed, item| walk(root, schema, item) | changed)
        }
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
            let before = fields.len();
            fields.retain(|name, value| {
                let stays = !value.is_null() || is_required(schema, name);
                stays || properties.get(name).is_none_or(|property| may_be_null(root, property))
            });
            let inner = fields.iter_mut().fold(false, |changed, (name, value)| {
                properties.get(name).is_some_and(|property| walk(root, property, value)) | changed
            });
            inner || fields.len() < before
        }
        _ => false,
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|required| required == name))
}

/// Whether null may fit. Its depth is that of the schema, which is bounded.
fn may_be_null(root: &Value, schema: &Value) -> bool {
    let schema = resolved(root, schema);
    let kinds_have_it = match schema.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => true,
    };
    let values_have_it = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().any(Value::is_null),
        (_, Some(value)) => value.is_null(),
        _ => true,
    };
    let choices = ["anyOf", "oneOf"].iter().filter_map(|word| schema.get(word)?.as_array());
    let mut choices = choices.map(|choices| choices.iter().any(|choice| may_be_null(root, choice)));
    kinds_have_it && values_have_it && choices.all(|fits| fits)
}

/// The schema that is meant, as far as references lead to a place in it.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let next = |schema: &&'s Value| {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        root.pointer(pointer)
    };
    std::iter::successors(Some(schema), next).take(HOPS).last().unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_null_where_nothing_need_be_is_as_if_nothing_were() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string" },
                "b": { "type": ["integer", "null"] },
                "c": { "$ref": "#/$defs/Place" },
                "d": {},
                "e": { "type": "array", "items": { "$ref": "#/$defs/Place" } },
                "f": { "oneOf": [{ "const": "x" }, { "type": "object" }] },
                "g": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "h": { "enum": ["x", "y"] },
                "must": { "type": "string" },
            },
            "required": ["must"],
            "$defs": { "Place": { "type": "object", "properties": { "name": { "type": "string" }, "more": { "$ref": "#/$defs/Place" } } } },
        });
        for (given, left) in [
            (json!({ "a": null, "must": "x" }), Some(json!({ "must": "x" }))),
            (json!({ "c": null, "f": null, "h": null }), Some(json!({}))),
            (
                json!({ "c": { "name": null, "more": { "name": null, "z": null } } }),
                Some(json!({ "c": { "more": { "z": null } } })),
            ),
            (json!({ "e": [{ "name": null }, {}, { "name": null }] }), Some(json!({ "e": [{}, {}, {}] }))),
            (json!({ "b": null, "d": null, "g": null, "must": null, "unknown": null }), None),
            (json!({ "a": "null", "e": [null], "d": { "a": null } }), None),
        ] {
            let mut value = given.clone();
            let changed = leave_out_nulls(&schema, &mut value);
            assert_eq!((changed, &value), (left.is_some(), left.as_ref().unwrap_or(&given)), "{given}");
        }
    }

    #[test]
    fn references_in_a_circle_end() {
        let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
        assert!(!leave_out_nulls(&schema, &mut json!({ "x": null })));
        let schema = json!({ "properties": { "x": { "$ref": "#/properties/x" } } });
        assert!(!leave_out_nulls(&schema, &mut json!({ "x": null })), "what it may be is not known");
    }
}
