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

/// A reference that leads out of the schema, or into its data where nothing is counted.
pub(super) fn stray_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(fields) => {
            let own = ["$ref", "$dynamicRef"].iter().filter_map(|key| fields.get(*key)?.as_str());
            let stray = own.into_iter().find(|target| {
                !target.starts_with('#') || target.split('/').any(|part| DATA.contains(&part))
            });
            stray.or_else(|| fields.values().find_map(stray_reference))
        }
        Value::Array(items) => items.iter().find_map(stray_reference),
        _ => None,
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
    fn references_must_stay_where_they_are_counted() {
        assert_eq!(stray_reference(&json!({ "a": [{ "$ref": "#/$defs/x" }] })), None);
        assert_eq!(stray_reference(&json!({ "a": [{ "$ref": "x.json" }] })), Some("x.json"));
        assert_eq!(stray_reference(&json!({ "$ref": "#/enum/0" })), Some("#/enum/0"));
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
