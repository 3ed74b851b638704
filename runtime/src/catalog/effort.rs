//! A budget for checking one value against one schema.
//!
//! A few kilobytes of `allOf` and `$ref` can describe more work than the age of the universe, and a plugin writes its own
//! schemas. The validator cannot be interrupted from outside, so each subschema is given one more keyword that counts:
//! it unwinds when the budget is used up. Every cycle passes through an object that holds a `$ref`, and every such object
//! is counted, so no schema escapes. Recursion is deep where references are chained, hence the roomy stack.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

/// The counting keyword. No plugin's schema can mean anything by it.
pub(super) const KEYWORD: &str = "plugport:step";

/// Keywords whose value maps names to schemas, so that the map itself is no schema.
const MAPS: [&str; 8] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "$vocabulary",
];

/// Keywords whose value is data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Enough for a chain of a thousand references at the deepest value that is accepted. Address space until it is used.
const STACK: usize = 512 << 20;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// The budget was used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exhausted;

/// Counts one subschema at one place of the value, and what reading that place costs.
#[derive(Debug)]
pub(super) struct Step;

impl Keyword<'_> for Step {
    fn validate(&self, instance: &Value) -> Result<(), ValidationError<'static>> {
        self.is_valid(instance);
        Ok(())
    }

    fn is_valid(&self, instance: &Value) -> bool {
        let cost = match instance {
            Value::String(text) => 1 + text.len() as u64 / 16,
            Value::Array(items) => 1 + items.len() as u64,
            Value::Object(fields) => 1 + fields.len() as u64,
            _ => 1,
        };
        let left = LEFT.get().checked_sub(cost);
        // Not a panic: nothing is printed, and only `within` ever sees it.
        LEFT.set(left.unwrap_or_else(|| resume_unwind(Box::new(Exhausted))));
        true
    }
}

/// Puts the keyword into every subschema, and into whatever a reference could take for one.
pub(super) fn mark(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            mark_fields(fields);
            fields.insert(KEYWORD.to_owned(), Value::Bool(true));
        }
        Value::Array(items) => items.iter_mut().for_each(mark),
        _ => {}
    }
}

fn mark_fields(fields: &mut Map<String, Value>) {
    for (name, value) in fields {
        match value {
            Value::Object(map) if MAPS.contains(&name.as_str()) => map.values_mut().for_each(mark),
            _ if DATA.contains(&name.as_str()) => {}
            value => mark(value),
        }
    }
}

/// A reference that cannot be followed here: one that leads out of the schema, or to something that is not counted.
/// `root` is marked. Only forms that mean the same to the validator and to us are let through: no percent-encoding, and
/// no `$id` below the root, which would change what `#` stands for.
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

/// Whether a reference leads to a subschema that carries the keyword. Anchors stand in subschemas, which all do.
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
        Some(Value::Bool(_)) => true,
        _ => false,
    }
}

/// Whether anything in a schema refers to anything else. Without, a check is never deeper than the schema.
pub(super) fn has_references(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let own = ["$ref", "$dynamicRef"].iter().any(|key| fields.contains_key(*key));
            own || fields.values().any(has_references)
        }
        Value::Array(items) => items.iter().any(has_references),
        _ => false,
    }
}

/// Runs `work` with a budget of steps.
pub(super) fn within<T>(budget: u64, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
    let outer = LEFT.replace(budget);
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT.set(outer);
    done.map_err(|cause| if cause.is::<Exhausted>() { Exhausted } else { resume_unwind(cause) })
}

/// Runs `work` with room for deep recursion, which costs some microseconds.
pub(super) fn roomy<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK / 2, STACK, work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subschemas_are_marked_and_maps_and_data_are_not() {
        let mut schema = json!({ "properties": { "a": { "enum": [{}] } }, "allOf": [{}], "dependentRequired": { "a": [] } });
        mark(&mut schema);
        assert_eq!(
            schema,
            json!({ "properties": { "a": { "enum": [{}], KEYWORD: true } }, "allOf": [{ KEYWORD: true }],
                    "dependentRequired": { "a": [] }, KEYWORD: true })
        );
    }

    #[test]
    fn references_must_lead_to_what_is_counted() {
        let stray = |mut schema: Value| {
            mark(&mut schema);
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

    #[test]
    fn a_budget_ends_the_work_and_leaves_the_outer_one() {
        let endless = || {
            loop {
                Step.is_valid(&Value::Null);
            }
        };
        assert_eq!(within::<()>(1_000, endless), Err(Exhausted));
        assert_eq!(within(10, || 7), Ok(7));
    }
}
