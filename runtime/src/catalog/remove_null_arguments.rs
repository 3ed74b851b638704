//! Removes explicit nulls that stand for optional arguments.
//!
//! Many clients reject or misread a schema that allows `null` for each optional argument, so most schemas do not allow
//! it. Some clients and models still send null for an argument without a value. So such a member is removed before the
//! arguments are validated, and plugins need no code for it. A null stays where the schema allows it, or may allow it
//! in a way that this module does not understand.

use serde_json::Value;

use crate::sandbox::WorkBudget;

/// References followed one after the other.
const HOPS: usize = 8;

/// Levels of nested choices (`anyOf`, `oneOf`) that are followed.
const DEPTH: usize = 16;

/// Steps for any value, and one more for each [`BYTES_PER_STEP`] of its text. A schema can cause many steps for each
/// null: nested choices, and references that are long or circular.
const STEPS: usize = 20_000;
const BYTES_PER_STEP: usize = 4;

/// Bytes of a reference or members of a list in a schema that one step reads.
const READ_PER_STEP: usize = 16;

/// Steps between two checks of the work budget.
const CHECK_INTERVAL: usize = 1_024;

/// Removes members of `value` that are null and that `schema` neither requires nor allows to be null. The text of
/// `value` has `length` bytes. Returns whether there were any. When the steps or the work budget are used up, the
/// remaining nulls stay.
pub(super) fn remove_nulls(
    schema: &Value,
    value: &mut Value,
    length: usize,
    work_budget: Option<&WorkBudget>,
) -> bool {
    walk(schema, schema, value, &mut StepBudget { remaining: STEPS + length / BYTES_PER_STEP, work_budget })
}

/// Steps that may still be taken.
struct StepBudget<'a> {
    remaining: usize,
    work_budget: Option<&'a WorkBudget>,
}

impl StepBudget<'_> {
    /// Takes one step, and more for a large `size`; `None` when there are too few.
    fn spend(&mut self, size: usize) -> Option<()> {
        let before = self.remaining;
        let remaining = before.checked_sub(1 + size / READ_PER_STEP);
        self.remaining = remaining.unwrap_or_default();
        let is_due = before / CHECK_INTERVAL != self.remaining / CHECK_INTERVAL;
        if is_due && self.work_budget.is_some_and(|work_budget| work_budget.check().is_err()) {
            self.remaining = 0;
            return None;
        }
        remaining.map(drop)
    }
}

fn walk(root: &Value, schema: &Value, value: &mut Value, steps: &mut StepBudget<'_>) -> bool {
    let Some(schema) = resolved(root, schema, steps) else { return false };
    match value {
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return false };
            // No short circuit: every item is visited.
            items.iter_mut().fold(false, |changed, item| walk(root, schema, item, steps) | changed)
        }
        Value::Object(fields) => {
            let property = |name: &str| schema.get("properties")?.get(name);
            let others = additional_properties(schema);
            let before = fields.len();
            // Only a property that the schema names can be optional: a null among the others stays.
            fields.retain(|name, value| {
                let stays = !value.is_null() || is_required(schema, name, steps);
                stays
                    || property(name)
                        .is_none_or(|property| may_be_null(root, property, steps, DEPTH).unwrap_or(true))
            });
            let inner = fields.iter_mut().fold(false, |changed, (name, value)| {
                let subschema = property(name).or(others);
                subschema.is_some_and(|subschema| walk(root, subschema, value, steps)) | changed
            });
            inner || fields.len() < before
        }
        _ => false,
    }
}

/// The schema of the properties without one of their own.
fn additional_properties(schema: &Value) -> Option<&Value> {
    if schema.get("patternProperties").is_some() { None } else { schema.get("additionalProperties") }
}

fn is_required(schema: &Value, name: &str, steps: &mut StepBudget<'_>) -> bool {
    let Some(required) = schema.get("required").and_then(Value::as_array) else { return false };
    steps.spend(required.len()).is_none() || required.iter().any(|required| required == name)
}

/// Whether null may fit; `None` when that takes too long to find out.
fn may_be_null(root: &Value, schema: &Value, steps: &mut StepBudget<'_>, depth: usize) -> Option<bool> {
    let (schema, depth) = (resolved(root, schema, steps)?, depth.checked_sub(1)?);
    let type_allows = match schema.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => {
            steps.spend(kinds.len())?;
            kinds.iter().any(|kind| kind == "null")
        }
        _ => true,
    };
    let values_allow = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => {
            steps.spend(values.len())?;
            values.iter().any(Value::is_null)
        }
        (_, Some(value)) => value.is_null(),
        _ => true,
    };
    if !type_allows || !values_allow {
        return Some(false);
    }
    for choices in ["anyOf", "oneOf"].iter().filter_map(|word| schema.get(word)?.as_array()) {
        if !any_may_be_null(root, choices, steps, depth)? {
            return Some(false);
        }
    }
    Some(true)
}

fn any_may_be_null(
    root: &Value,
    choices: &[Value],
    steps: &mut StepBudget<'_>,
    depth: usize,
) -> Option<bool> {
    for choice in choices {
        if may_be_null(root, choice, steps, depth)? {
            return Some(true);
        }
    }
    Some(false)
}

/// Follows local references from a schema; `None` when that takes too long.
fn resolved<'s>(root: &'s Value, schema: &'s Value, steps: &mut StepBudget<'_>) -> Option<&'s Value> {
    let mut target = schema;
    for _ in 0..HOPS {
        let reference = target.get("$ref").and_then(Value::as_str).unwrap_or_default();
        steps.spend(reference.len())?;
        // `#` alone is the whole schema.
        match reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
            Some(next) => target = next,
            None => break,
        }
    }
    Some(target)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
                "i": { "type": "object", "additionalProperties": { "$ref": "#/$defs/Place" } },
                "j": { "patternProperties": { "^x": true }, "additionalProperties": { "$ref": "#/$defs/Place" } },
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
            (
                json!({ "i": { "k": { "name": null, "z": null }, "l": null } }),
                Some(json!({ "i": { "k": { "z": null }, "l": null } })),
            ),
            (json!({ "j": { "x": { "name": null } } }), None),
            (json!({ "b": null, "d": null, "g": null, "must": null, "unknown": null }), None),
            (json!({ "a": "null", "e": [null], "d": { "a": null } }), None),
        ] {
            let mut value = given.clone();
            let changed = remove_nulls(&schema, &mut value, 0, None);
            assert_eq!((changed, &value), (left.is_some(), left.as_ref().unwrap_or(&given)), "{given}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_all_of_itself_is_followed() {
        let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
        for (given, left) in [
            (json!({ "next": null }), json!({})),
            (json!({ "next": { "next": { "next": null } } }), json!({ "next": { "next": {} } })),
        ] {
            let mut value = given;
            assert!(remove_nulls(&schema, &mut value, 0, None));
            assert_eq!(value, left);
        }
        let circle = json!({ "$ref": "#", "properties": { "x": { "type": "string" } } });
        assert!(remove_nulls(&circle, &mut json!({ "x": null }), 0, None));
    }

    #[test]
    fn references_in_a_circle_end() {
        let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
        assert!(!remove_nulls(&schema, &mut json!({ "x": null }), 0, None));
        let schema = json!({ "properties": { "x": { "$ref": "#/properties/x" } } });
        assert!(!remove_nulls(&schema, &mut json!({ "x": null }), 0, None), "what it may be is not known");
    }

    #[test]
    fn what_a_schema_makes_of_a_null_is_bounded() {
        // A choice that leads back to itself.
        let circle = json!({ "properties": { "p": { "anyOf": [{ "$ref": "#/properties/p" }] } } });
        assert!(!remove_nulls(&circle, &mut json!({ "p": null }), 0, None));
        // Each of forty choices leads to the next one twice.
        let mut doubling = json!({ "properties": { "p": { "$ref": "#/$defs/d0" } }, "$defs": {} });
        for at in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
            doubling["$defs"][format!("d{at}")] = json!({ "anyOf": [next, next] });
        }
        doubling["$defs"]["d40"] = json!({ "type": "string" });
        assert!(!remove_nulls(&doubling, &mut json!({ "p": null }), 0, None));
        // Many choices for many nulls.
        let choices = vec![json!({ "type": "string" }); 3_000];
        let wide = json!({ "items": { "properties": { "p": { "anyOf": choices } } } });
        let mut many = json!(vec![json!({ "p": null }); 100_000]);
        let begun = std::time::Instant::now();
        remove_nulls(&wide, &mut many, 1_200_000, None);
        assert!(begun.elapsed() < std::time::Duration::from_secs(2));
        assert_eq!((&many[0], &many[99_999]), (&json!({}), &json!({ "p": null })));
    }

    #[test]
    fn a_choice_that_fits_ends_the_search_and_each_before_it_is_a_step() {
        let steps = |choices: Vec<Value>| {
            let schema = json!({ "anyOf": choices });
            let mut steps = StepBudget { remaining: STEPS, work_budget: None };
            may_be_null(&schema, &schema, &mut steps, DEPTH).map(|may| (may, STEPS - steps.remaining))
        };
        assert_eq!(steps(vec![json!({}); 10_000]), Some((true, 2)));
        assert_eq!(steps(vec![json!({ "type": "string" }); 10_000]), Some((false, 10_001)));
        assert_eq!(steps(vec![json!({ "type": "string" }); STEPS]), None);
    }

    #[test]
    fn an_allowance_that_is_used_up_ends_it() {
        let schema = json!({ "items": { "properties": { "p": { "type": "string" } } } });
        let given = json!(vec![json!({ "p": null }); 6_000]);
        let left = |work_budget: Option<&WorkBudget>| {
            let mut value = given.clone();
            remove_nulls(&schema, &mut value, 0, work_budget);
            value.as_array().unwrap().iter().filter(|item| item.get("p").is_some()).count()
        };
        assert_eq!(left(None), 0);
        assert_eq!(left(Some(&WorkBudget::of(Duration::from_secs(60)))), 0);
        let stopped = left(Some(&WorkBudget::of(Duration::ZERO)));
        assert!((5_000..6_000).contains(&stopped), "{stopped}");
    }
}
