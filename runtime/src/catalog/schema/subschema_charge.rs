//! A keyword that is added to every subschema, so that each evaluation of one costs a step.
//!
//! A subschema that reads nothing of the value, such as one of references only, costs nothing in the
//! [budget](super::budget), and a few dozen of them can be evaluated more often than there are atoms. So each
//! subschema gets a keyword that charges a step. The validator evaluates custom keywords last and skips them when
//! another keyword has failed, but a keyword that fails has read something. Only `false` fails without a read, so it is
//! written as a subschema with this keyword. Every cycle passes through an object with a `$ref`, and every such object
//! has the keyword.

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value, json};

use super::budget::charge;
use super::charged_json::{ChargedJson, ChargedValue};

/// The keyword that charges. It has no other meaning in a plugin's schema.
pub(super) const KEYWORD: &str = "plugport:step";

/// Keywords whose value maps names to schemas, so that the map itself is no schema.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Keywords whose value is a list of schemas, or one schema, for the same value.
const APPLICATORS: [&str; 5] = ["allOf", "anyOf", "oneOf", "not", "if"];

/// Keywords whose value is data.
const DATA: [&str; 6] = ["const", "enum", "default", "examples", "dependentRequired", "$vocabulary"];

/// Charges for one evaluation of a subschema.
#[derive(Debug)]
pub(super) struct StepKeyword;

impl Keyword<'_, ChargedJson> for StepKeyword {
    fn validate(&self, _: ChargedValue<'_>) -> Result<(), ValidationError<'static>> {
        charge(1);
        Ok(())
    }

    fn is_valid(&self, _: ChargedValue<'_>) -> bool {
        charge(1);
        true
    }
}

/// Adds the keyword to every subschema, and to every object that a reference could lead to.
pub(super) fn insert(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            insert_into_fields(fields);
            fields.insert(KEYWORD.to_owned(), Value::Bool(true));
        }
        Value::Array(items) => items.iter_mut().for_each(insert),
        _ => {}
    }
}

fn insert_into_fields(fields: &mut Map<String, Value>) {
    for (name, value) in fields {
        let is = |names: &[&str]| names.contains(&name.as_str());
        match value {
            Value::Object(map) if is(&MAPS) => map.values_mut().for_each(insert_into_schema),
            Value::Array(schemas) if is(&APPLICATORS) => schemas.iter_mut().for_each(insert_into_schema),
            _ if is(&DATA) => {}
            schema if is(&APPLICATORS) => insert_into_schema(schema),
            value => insert(value),
        }
    }
}

/// The same for a value that is certainly a schema.
fn insert_into_schema(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = anything(),
        Value::Bool(false) => *schema = json!({ "not": anything(), KEYWORD: true }),
        schema => insert(schema),
    }
}

/// The subschema that is written for `true`; its `not` is written for `false`.
pub(super) fn anything() -> Value {
    json!({ KEYWORD: true })
}

/// A reference that leads out of the schema, or to something without the keyword. `root` has the keywords already.
/// References are accepted only in forms that this function and the validator read alike: without percent-encoding, and
/// without an `$id` below the root, which would change the meaning of `#`.
pub(super) fn stray_reference(root: &Value) -> Option<String> {
    let mut pending = vec![(root, true)];
    while let Some((value, is_root)) = pending.pop() {
        match value {
            Value::Object(fields) => {
                if let (Some(id), false) = (fields.get("$id").and_then(Value::as_str), is_root) {
                    return Some(id.to_owned());
                }
                let own = ["$ref", "$dynamicRef"].iter().filter_map(|key| fields.get(*key)?.as_str());
                if let Some(stray) = own.into_iter().find(|target| !is_counted(root, target)) {
                    return Some(stray.to_owned());
                }
                pending.extend(fields.values().map(|value| (value, false)));
            }
            Value::Array(items) => pending.extend(items.iter().map(|value| (value, false))),
            _ => {}
        }
    }
    None
}

/// Whether a reference leads to a subschema with the keyword. Anchors are in subschemas, which all have it.
fn is_counted(root: &Value, target: &str) -> bool {
    let Some(fragment) = target.strip_prefix('#') else { return false };
    if !fragment.starts_with('/') {
        return fragment.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    }
    if fragment.contains('%') {
        return false;
    }
    match root.pointer(fragment) {
        Some(Value::Object(fields)) => fields.contains_key(KEYWORD),
        Some(Value::Bool(allows)) => *allows,
        _ => false,
    }
}

/// How many subschemas a validation may go through at one level of the value: all of them, if the schema has
/// references. Without references a validation is never deeper than the schema, and this is zero.
pub(super) fn subschemas_per_level(schema: &Value) -> usize {
    if has_references(schema) { objects(schema) } else { 0 }
}

/// Objects in a schema: all subschemas that contain others or refer to others are objects.
fn objects(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(objects).sum::<usize>(),
        Value::Array(items) => items.iter().map(objects).sum(),
        _ => 0,
    }
}

fn has_references(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let own = ["$ref", "$dynamicRef"].iter().any(|key| fields.contains_key(*key));
            own || fields.values().any(has_references)
        }
        Value::Array(items) => items.iter().any(has_references),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subschemas_are_marked_and_maps_and_data_are_not() {
        let mut schema = json!({ "properties": { "a": { "enum": [{}] } }, "allOf": [{}], "dependentRequired": { "a": [] } });
        insert(&mut schema);
        assert_eq!(
            schema,
            json!({ "properties": { "a": { "enum": [{}], KEYWORD: true } }, "allOf": [{ KEYWORD: true }],
                    "dependentRequired": { "a": [] }, KEYWORD: true })
        );
    }

    #[test]
    fn only_references_make_a_check_deeper_than_its_schema() {
        assert_eq!(subschemas_per_level(&json!({ "properties": { "a": { "allOf": [{}, {}] } } })), 0);
        assert_eq!(
            subschemas_per_level(&json!({ "properties": { "a": { "allOf": [{}, { "$ref": "#" }] } } })),
            5
        );
    }

    #[test]
    fn what_fails_without_a_look_is_written_so_that_it_counts() {
        let mut schema = json!({ "anyOf": [false, true], "properties": { "a": false }, "items": false });
        insert(&mut schema);
        let never = json!({ "not": { KEYWORD: true }, KEYWORD: true });
        assert_eq!(
            schema,
            json!({ "anyOf": [never, { KEYWORD: true }], "properties": { "a": never }, "items": false, KEYWORD: true })
        );
    }

    #[test]
    fn references_must_lead_to_what_is_counted() {
        let stray = |mut schema: Value| {
            insert(&mut schema);
            stray_reference(&schema)
        };
        let defs = json!({ "x": {}, "default": {}, "a/b": {}, "yes": true });
        for good in ["#", "#/$defs/x", "#/$defs/default", "#/$defs/a~1b", "#/$defs/yes", "#here"] {
            assert_eq!(stray(json!({ "$defs": defs, "items": { "$ref": good } })), None, "{good}");
        }
        let data = json!([{}, {}]);
        for bad in
            ["x.json", "#/enum/0", "#/%65num/0", "#/%24defs/x", "#/$defs", "#/$defs/none", "https://a/b"]
        {
            let schema = json!({ "$defs": defs, "enum": data, "items": { "$ref": bad } });
            assert_eq!(stray(schema).as_deref(), Some(bad));
        }
        assert_eq!(stray(json!({ "items": { "$id": "inner", "$ref": "#" } })).as_deref(), Some("inner"));
    }
}
