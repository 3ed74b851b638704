//! JSON Schema 2020-12, compiled once and run on every call.
//!
//! The text is kept as the plugin wrote it, since that is what clients get. Nothing is fetched for a `$ref`, patterns run
//! on a linear-time engine of bounded size, and a check has a budget, so a schema cannot make the server wait or call out.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::RawValue;

use super::absent;
use super::effort::{self, Step};
use crate::config::{Limits, kib};
use crate::json;

/// Faults that one message names; a model mends the first ones first.
const FAULTS: usize = 5;

/// Longest description of one fault, characters.
const FAULT_LENGTH: usize = 300;

/// Steps that any check may take, and how many more for each byte of the value: about 20 ms for a small one.
const STEPS: u64 = 100_000;
const STEPS_PER_BYTE: u64 = 2;

/// A schema: its text and its compiled form.
#[derive(Debug)]
pub struct Schema {
    text: Box<RawValue>,
    plain: Option<Box<RawValue>>,
    validator: Validator,
    object: bool,
    patterns: u64,
    references: bool,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Beyond `schema_kib`.
    #[error("its schema is longer than {0} KiB (limit `schema_kib`)")]
    TooLong(u64),
    /// Beyond `schema_depth`.
    #[error("its schema is nested deeper than {0} levels (limit `schema_depth`)")]
    TooDeep(u64),
    /// Beyond what a plugin may have.
    #[error("its schemas have more than {0} patterns together (limit `patterns`)")]
    Patterns(u64),
    /// A reference that leads out of the schema or into data.
    #[error(
        "its schema refers to `{0}`; only `#`, `#/...` and `#anchor` that lead to a schema within it are followed"
    )]
    Reference(String),
    /// Not JSON, or not an object.
    #[error("its schema is not a JSON object")]
    NotJson(#[source] serde_json::Error),
    /// Not a schema, or one that points elsewhere.
    #[error("its schema cannot be compiled: {0}")]
    Invalid(String),
    /// Arguments are always an object.
    #[error("its input schema must have \"type\": \"object\"")]
    NotAnObject,
}

/// How a value differs from its schema, in words that let a model correct itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(String);

impl Schema {
    /// Compiles a schema within the limits.
    ///
    /// # Errors
    /// When it is not a schema, is too large, or refers to another document.
    pub fn compile(text: &str, limits: &Limits) -> Result<Self, SchemaError> {
        if text.len() > kib(limits.schema_kib) {
            return Err(SchemaError::TooLong(limits.schema_kib));
        }
        let raw = json::raw(text).map_err(SchemaError::NotJson)?;
        let value: Value = serde_json::from_str(raw.get()).map_err(SchemaError::NotJson)?;
        if json::depth(&value) > usize::try_from(limits.schema_depth).unwrap_or(usize::MAX) {
            return Err(SchemaError::TooDeep(limits.schema_depth));
        }
        let patterns = patterns(&value);
        if patterns > limits.patterns {
            return Err(SchemaError::Patterns(limits.patterns));
        }
        let object = value.get("type").and_then(Value::as_str) == Some("object");
        let references = effort::has_references(&value);
        let validator = build(value, kib(limits.pattern_kib))?;
        let plain = super::plain::plain(&raw);
        Ok(Self { text: raw, plain, validator, object, patterns, references })
    }

    fn faults(&self, value: &Value) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let errors = self.validator.iter_errors(value);
        Err(errors.take(FAULTS).map(|error| fault(&error)).collect::<Vec<_>>().join("; "))
    }

    /// Compiles the schema of a tool's arguments.
    ///
    /// # Errors
    /// As [`Schema::compile`], and when the schema is not that of an object.
    pub fn of_arguments(text: &str, limits: &Limits) -> Result<Self, SchemaError> {
        let schema = Self::compile(text, limits)?;
        if schema.object { Ok(schema) } else { Err(SchemaError::NotAnObject) }
    }

    /// Leaves nulls out of arguments where they stand for nothing; gives the text of what is left if there were any.
    /// Numbers beyond 64 bits are rounded in it.
    pub fn leave_out_nulls(&self, text: &str, value: &mut Value) -> Option<String> {
        // Most arguments have none at all.
        let schema =
            if text.contains("null") { serde_json::from_str(self.text.get()).ok()? } else { return None };
        absent::leave_out_nulls(&schema, value).then(|| value.to_string())
    }

    /// The text, as written.
    #[must_use]
    pub fn text(&self) -> &RawValue {
        &self.text
    }

    /// The text for revisions before 2026-07-28, which know objects only where JSON Schema also has `true` and `false`.
    #[must_use]
    pub fn plain_text(&self) -> &RawValue {
        self.plain.as_deref().unwrap_or(&self.text)
    }

    /// Whether it describes an object, which revisions before 2026-07-28 require.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.object
    }

    /// How many regular expressions it holds.
    #[must_use]
    pub fn patterns(&self) -> u64 {
        self.patterns
    }

    /// Whether a check may recurse, and should not run where others wait.
    #[must_use]
    pub fn has_references(&self) -> bool {
        self.references
    }

    /// Checks a value that was `bytes` long as text.
    ///
    /// # Errors
    /// With the JSON pointer of each fault and what was expected there, or when checking takes too many steps.
    pub fn validate(&self, value: &Value, bytes: usize) -> Result<(), Mismatch> {
        let budget = STEPS + STEPS_PER_BYTE * bytes as u64;
        let check = || effort::within(budget, || self.faults(value));
        let checked = if self.references { effort::roomy(check) } else { check() };
        match checked {
            Ok(outcome) => outcome.map_err(Mismatch),
            Err(effort::Exhausted) => {
                Err(Mismatch("checking takes too long; send less, or simplify the schema".into()))
            }
        }
    }
}

fn build(mut value: Value, size: usize) -> Result<Validator, SchemaError> {
    effort::mark(&mut value);
    if let Some(target) = effort::stray_reference(&value) {
        return Err(SchemaError::Reference(shortened(&target)));
    }
    let patterns = PatternOptions::regex().size_limit(size).dfa_size_limit(size);
    let options = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_pattern_options(patterns)
        .with_keyword(effort::KEYWORD, |_, _, _| Ok(Box::new(Step)));
    let built = effort::roomy(|| options.build(&value).map_err(|error| shortened(&error.to_string())));
    built.map_err(SchemaError::Invalid)
}

fn patterns(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(patterns).sum(),
        Value::Object(fields) => {
            let own = u64::from(fields.contains_key("pattern"));
            let named =
                fields.get("patternProperties").and_then(Value::as_object).map_or(0, |map| map.len() as u64);
            own + named + fields.values().map(patterns).sum::<u64>()
        }
        _ => 0,
    }
}

fn fault(error: &jsonschema::ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = escaped(property.as_str().unwrap_or_default());
            shortened(&format!("{at}/{name}: is required and missing"))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<String> =
                unexpected.iter().take(FAULTS).map(|name| format!("{at}/{}", escaped(name))).collect();
            shortened(&format!("{}: not a known property", names.join(", ")))
        }
        _ => {
            let place = if at.is_empty() { "/" } else { &at };
            format!("{place}: {}", shortened(&error.to_string()))
        }
    }
}

/// A name as a step of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(FAULT_LENGTH) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compile(text: &str) -> Result<Schema, SchemaError> {
        Schema::of_arguments(text, &Limits::default())
    }

    #[test]
    fn a_mismatch_names_the_pointer_and_what_was_expected() {
        let schema = compile(
            r#"{"type":"object","properties":{"zone":{"type":"string"},"n":{"type":"integer","maximum":3}},
                "required":["zone"],"additionalProperties":false}"#,
        )
        .unwrap();
        assert_eq!(schema.validate(&json!({"zone": "x"}), 9), Ok(()));
        let message = |value: Value| schema.validate(&value, 99).unwrap_err().to_string();
        assert_eq!(message(json!({})), "/zone: is required and missing");
        assert_eq!(message(json!({"zone": 5})), "/zone: 5 is not of type \"string\"");
        assert_eq!(message(json!({"zone": "x", "n": 4})), "/n: 4 is greater than the maximum of 3");
        assert_eq!(message(json!({"zone": "x", "q": 1})), "/q: not a known property");
    }

    #[test]
    fn the_text_stays_as_written() {
        let schema = compile("{\"type\": \"object\",\n\"x-extra\":  1.0,\"a\":\"\\u00e9\"}").unwrap();
        assert_eq!(schema.text().get(), "{\"type\": \"object\",\n\"x-extra\":  1.0,\"a\":\"\\u00e9\"}");
    }

    #[test]
    fn schemas_that_reach_out_or_are_too_big_are_refused() {
        let remote = compile(r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}"#);
        assert!(matches!(remote, Err(SchemaError::Reference(_))), "{remote:?}");
        let file = compile(r#"{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}"#);
        assert!(matches!(file, Err(SchemaError::Reference(_))), "{file:?}");
        let deep = format!(r#"{{"type":"object","a":{}{}}}"#, "[".repeat(40), "]".repeat(40));
        assert!(matches!(compile(&deep), Err(SchemaError::TooDeep(32))));
        let long = format!(r#"{{"type":"object","a":"{}"}}"#, "x".repeat(70_000));
        assert!(matches!(compile(&long), Err(SchemaError::TooLong(64))));
        assert!(matches!(compile("{\"type\":\"string\"}"), Err(SchemaError::NotAnObject)));
        assert!(matches!(compile("nonsense"), Err(SchemaError::NotJson(_))));
    }

    #[test]
    fn a_small_schema_of_endless_work_ends() {
        let defs: Vec<String> = (0..40)
            .map(|n| {
                format!(
                    r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##,
                    n + 1
                )
            })
            .collect();
        let doubling =
            format!(r##"{{"type":"object","$ref":"#/$defs/d0","$defs":{{{},"d40":{{}}}}}}"##, defs.join(","));
        let twice = r##"{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##;
        let mut nested = json!({});
        for _ in 0..60 {
            nested = json!({ "a": nested });
        }
        for text in [doubling.as_str(), twice] {
            let started = std::time::Instant::now();
            let checked = compile(text).unwrap().validate(&nested, 500);
            let told = checked.err().map(|mismatch| mismatch.to_string()).unwrap_or_default();
            assert!(text == twice || told.contains("takes too long"), "{told}");
            assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
        }
    }

    #[test]
    fn hidden_recursion_through_data_is_refused() {
        let hidden = r##"{"type":"object","$ref":"#/%65num/0","enum":[{"properties":{"a":{"allOf":[
            {"$ref":"#/%65num/0"},{"$ref":"#/%65num/0"}]}}},{}]}"##;
        assert!(matches!(compile(hidden), Err(SchemaError::Reference(_))));
    }

    #[test]
    fn a_long_chain_of_references_does_not_overflow_the_stack() {
        let defs: Vec<String> =
            (0..1_000).map(|n| format!(r##""{n}":{{"$ref":"#/$defs/{}"}}"##, n + 1)).collect();
        let end = r##""1000":{"properties":{"a":{"$ref":"#/$defs/0"}}}"##;
        let chain =
            format!(r##"{{"type":"object","$ref":"#/$defs/0","$defs":{{{},{end}}}}}"##, defs.join(","));
        let mut nested = json!({});
        for _ in 0..40 {
            nested = json!({ "a": nested });
        }
        let schema = std::thread::spawn(move || compile(&chain).unwrap()).join().unwrap();
        assert_eq!(std::thread::spawn(move || schema.validate(&nested, 500)).join().unwrap(), Ok(()));
    }

    #[test]
    fn patterns_are_linear_and_of_bounded_size() {
        let schema = compile(r#"{"type":"object","properties":{"a":{"pattern":"^(a+)+$"}}}"#).unwrap();
        let started = std::time::Instant::now();
        assert!(schema.validate(&json!({"a": format!("{}!", "a".repeat(5_000))}), 5_010).is_err());
        assert!(started.elapsed().as_secs() < 2, "{:?}", started.elapsed());
        let huge =
            compile(r#"{"type":"object","properties":{"a":{"pattern":"((a{1,500}){1,500}){1,500}"}}}"#);
        assert!(matches!(huge, Err(SchemaError::Invalid(_))), "{huge:?}");
    }
}
