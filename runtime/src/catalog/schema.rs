//! JSON Schema 2020-12, compiled once and run on every call.
//!
//! Clients get the text as the plugin wrote it. Nothing is fetched for a `$ref`, patterns run on a linear-time engine
//! of bounded size, and a validation has a budget, so a schema cannot make the server wait or connect somewhere. The
//! usual arguments of most tools need no validator. A short validation is done in place; a longer one starts again on a
//! thread for large work.

mod budget;
mod charged_json;
mod regex_cost;
mod scalar_object;
mod subschema_charge;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::RawValue;

use self::budget::{BudgetError, SchemaBudget};
use self::charged_json::{ChargedJson, ChargedValue};
use self::regex_cost::{rewriting, states};
use self::scalar_object::ScalarObject;
use self::subschema_charge::StepKeyword;
use super::remove_null_arguments;
use crate::config::fixed_limits::{PATTERN_KIB, PATTERNS, SCHEMA_DEPTH};
use crate::config::{Limits, kib};
use crate::json;
use crate::observe::truncate;
use crate::sandbox::{WorkBudget, WorkStopped};

/// Faults that one message names.
const FAULTS: usize = 5;

/// Longest description of one fault, bytes.
const FAULT_LENGTH: usize = 300;

/// Steps for any validation, and further ones for each byte of the value. A step takes some 10 to 50 ns.
const STEPS: u64 = 1_000_000;
const STEPS_PER_BYTE: u64 = 20;

/// Steps of a validation that is done in place: about 100 microseconds. Further ones let a long text be read once.
const SHORT_STEPS: u64 = 4_000;
const SHORT_BYTES_PER_STEP: usize = 100;

/// Bytes of a schema with references that a validation in place may recurse through: some thousand references.
const SHORT_RECURSION: usize = 64 << 10;

/// Largest cost of [`rewriting`] all patterns of a schema: seconds at worst, which nothing interrupts.
const MAX_REWRITING: u64 = 4 << 20;

/// A schema: its text and its compiled form.
#[derive(Debug)]
pub struct Schema {
    text: Box<RawValue>,
    legacy: Option<Box<RawValue>>,
    validator: Validator<ChargedJson>,
    object: bool,
    patterns: u64,
    /// States of the largest pattern.
    states: u64,
    /// See [`subschema_charge::subschemas_per_level`].
    subschemas_per_level: usize,
    /// `None`: the schema says more than names and scalar types.
    scalars: Option<ScalarObject>,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Beyond `schema_kib`.
    #[error("its schema is longer than {0} KiB (limit `schema_kib`)")]
    TooLong(u64),
    /// Beyond [`SCHEMA_DEPTH`].
    #[error("its schema is nested deeper than {SCHEMA_DEPTH} levels")]
    TooDeep,
    /// Beyond [`PATTERNS`].
    #[error("the schemas of all tools together have more than {PATTERNS} patterns")]
    Patterns,
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

/// How a value differs from its schema, as text from which a model can correct the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaMismatch(String);

impl Schema {
    /// Compiles a schema within the limits. `patterns_left`: how many patterns it may have.
    ///
    /// # Errors
    /// When it is not a schema, is too large, or refers to another document.
    pub fn compile(text: &str, limits: &Limits, patterns_left: u64) -> Result<Self, SchemaError> {
        if text.len() > kib(limits.schema_kib) {
            return Err(SchemaError::TooLong(limits.schema_kib));
        }
        let raw = json::raw(text).map_err(SchemaError::NotJson)?;
        let value = json::value(raw.get()).map_err(SchemaError::NotJson)?;
        if json::depth(&value) > SCHEMA_DEPTH as usize {
            return Err(SchemaError::TooDeep);
        }
        let texts = patterns(&value);
        let patterns = texts.len() as u64;
        if patterns > patterns_left {
            return Err(SchemaError::Patterns);
        }
        if texts.iter().map(|text| rewriting(text)).fold(0, u64::saturating_add) > MAX_REWRITING {
            let why =
                "its patterns are too long for as many escapes; write classes such as [0-9] instead of \\d";
            return Err(SchemaError::Invalid(why.to_owned()));
        }
        let size = kib(PATTERN_KIB);
        let states =
            budget::with_big_stack(|| texts.iter().map(|text| states(text, size)).max()).unwrap_or(1);
        let object = value.get("type").and_then(Value::as_str) == Some("object");
        let subschemas_per_level = subschema_charge::subschemas_per_level(&value);
        let scalars = ScalarObject::of(&value);
        let validator = build(value, size)?;
        let legacy = super::legacy_revision_schema::convert(&raw);
        Ok(Self { text: raw, legacy, validator, object, patterns, states, subschemas_per_level, scalars })
    }

    /// Compiles the schema of a tool's arguments.
    ///
    /// # Errors
    /// As [`Schema::compile`], and when the schema is not that of an object.
    pub fn of_arguments(text: &str, limits: &Limits, patterns_left: u64) -> Result<Self, SchemaError> {
        let schema = Self::compile(text, limits, patterns_left)?;
        if schema.object { Ok(schema) } else { Err(SchemaError::NotAnObject) }
    }

    /// Removes nulls that stand for missing arguments; returns the new text if there were any. Numbers beyond 64 bits
    /// are rounded in it. Nulls may stay when `work_budget` is used up, so the caller checks the budget afterwards.
    pub(crate) fn remove_nulls(
        &self,
        text: &str,
        value: &mut Value,
        work_budget: Option<&WorkBudget>,
    ) -> Option<String> {
        // Most arguments have none at all.
        let schema =
            if text.contains("null") { serde_json::from_str(self.text.get()).ok()? } else { return None };
        remove_null_arguments::remove_nulls(&schema, value, text.len(), work_budget)
            .then(|| value.to_string())
    }

    /// The text, as written.
    #[must_use]
    pub fn text(&self) -> &RawValue {
        &self.text
    }

    /// The text for revisions before 2026-07-28, which know objects only where JSON Schema also has `true` and `false`.
    #[must_use]
    pub fn legacy_text(&self) -> &RawValue {
        self.legacy.as_deref().unwrap_or(&self.text)
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

    /// Whether a JSON text certainly fits, without nulls that might be removed. If not, the text has to be parsed and
    /// validated.
    pub(crate) fn certainly_fits(&self, text: &str) -> bool {
        self.scalars.as_ref().is_some_and(|scalars| scalars.certainly_fits(text))
    }

    /// Validates a value that was `bytes` long as text; `None` if that might take long.
    pub(crate) fn validate_if_short(
        &self,
        value: &Value,
        bytes: usize,
    ) -> Option<Result<(), SchemaMismatch>> {
        let steps = SHORT_STEPS + (bytes / SHORT_BYTES_PER_STEP) as u64;
        let budget = self.budget(steps, bytes, None);
        let check = || match self.fits(value, &budget).ok()? {
            true => Some(Ok(())),
            false => self.explain(value, &budget).ok().map(Err),
        };
        if self.subschemas_per_level == 0 {
            return check();
        }
        // Steps are charged only when references return. Before that, each level of the value may recurse through the
        // whole schema.
        let levels = json::depth(value);
        let recursion = self.text.get().len().saturating_mul(levels + 1);
        if recursion <= SHORT_RECURSION {
            budget::with_stack_for(self.subschemas_per_level, levels, check)
        } else {
            None
        }
    }

    /// Validates a value that was `bytes` long as text. A mismatch has the JSON pointer of each fault and what was
    /// expected there; a validation that takes too many steps is a mismatch too.
    ///
    /// # Errors
    /// When `work_budget` is used up or the work was abandoned.
    pub(crate) fn validate(
        &self,
        value: &Value,
        bytes: usize,
        work_budget: &WorkBudget,
    ) -> Result<Result<(), SchemaMismatch>, WorkStopped> {
        let steps = STEPS + STEPS_PER_BYTE * bytes as u64;
        let budget = self.budget(steps, bytes, Some(work_budget.clone()));
        let check = || match self.fits(value, &budget) {
            Ok(true) => Ok(Ok(())),
            Ok(false) => {
                // When there are too many faults to describe, the first one is described alone.
                let mismatch = self.explain(value, &budget).or_else(|_| self.explain_first(value, &budget));
                mismatch.map(Err)
            }
            Err(ended) => Err(ended),
        };
        let checked = match self.subschemas_per_level {
            0 => check(),
            subschemas_per_level => budget::with_stack_for(subschemas_per_level, json::depth(value), check),
        };
        match checked {
            Ok(checked) => Ok(checked),
            Err(BudgetError::Stopped(stopped)) => Err(stopped),
            Err(BudgetError::Exhausted) => Ok(Err(SchemaMismatch::too_much())),
            Err(BudgetError::Faults) => {
                Ok(Err(SchemaMismatch("it has more faults than can be listed".to_owned())))
            }
        }
    }

    fn budget(&self, steps: u64, value: usize, work_budget: Option<WorkBudget>) -> SchemaBudget {
        let (states, schema, subschemas_per_level) =
            (self.states, self.text.get().len(), self.subschemas_per_level);
        SchemaBudget { steps, work_budget, states, schema, value, subschemas_per_level }
    }

    fn fits(&self, value: &Value, budget: &SchemaBudget) -> Result<bool, BudgetError> {
        budget::with_budget(budget, || self.validator.is_valid(ChargedValue(value)))
    }

    fn explain(&self, value: &Value, budget: &SchemaBudget) -> Result<SchemaMismatch, BudgetError> {
        budget::with_budget(budget, || {
            let faults = self.validator.iter_errors(ChargedValue(value)).take(FAULTS);
            SchemaMismatch(faults.map(|error| fault(&error)).collect::<Vec<_>>().join("; "))
        })
    }

    fn explain_first(&self, value: &Value, budget: &SchemaBudget) -> Result<SchemaMismatch, BudgetError> {
        budget::with_budget(budget, || {
            let first = self.validator.validate(ChargedValue(value)).err();
            SchemaMismatch(first.map(|error| fault(&error)).unwrap_or_default())
        })
    }
}

impl SchemaMismatch {
    /// The mismatch for a validation that takes too long.
    pub(crate) fn too_much() -> Self {
        Self("checking takes too long; send less, or simplify the schema".to_owned())
    }
}

fn build(mut value: Value, size: usize) -> Result<Validator<ChargedJson>, SchemaError> {
    subschema_charge::insert(&mut value);
    if let Some(target) = subschema_charge::stray_reference(&value) {
        return Err(SchemaError::Reference(shortened(&target)));
    }
    let patterns = PatternOptions::regex().size_limit(size).dfa_size_limit(size);
    let options = jsonschema::options_for::<ChargedJson>()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_pattern_options(patterns)
        .with_keyword(subschema_charge::KEYWORD, |_, _, _| Ok(Box::new(StepKeyword)));
    let built =
        budget::with_big_stack(|| options.build(&value).map_err(|error| shortened(&error.to_string())));
    built.map_err(SchemaError::Invalid)
}

/// The text of every pattern, and of all that may be one.
fn patterns(value: &Value) -> Vec<&str> {
    let (mut texts, mut pending) = (Vec::new(), vec![value]);
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => {
                let named = fields.get("patternProperties").and_then(Value::as_object);
                texts.extend(named.into_iter().flat_map(|map| map.keys().map(String::as_str)));
                texts.extend(fields.get("pattern").map(|own| own.as_str().unwrap_or_default()));
                pending.extend(fields.values());
            }
            _ => {}
        }
    }
    texts
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
        // This `not` is written for `false`.
        ValidationErrorKind::Not { schema } if *schema == subschema_charge::anything() => {
            shortened(&format!("{at}: nothing is allowed here"))
        }
        // The message has the value, which may be large.
        _ => truncate(FAULT_LENGTH, format_args!("{}: {error}", if at.is_empty() { "/" } else { &at })),
    }
}

/// A name as a step of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn shortened(text: &str) -> String {
    truncate(FAULT_LENGTH, format_args!("{text}"))
}

#[cfg(test)]
mod tests;
