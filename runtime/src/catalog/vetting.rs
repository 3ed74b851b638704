//! Bounds on everything that a plugin says of itself.
//!
//! What a plugin describes is data that models and people will read, so it is checked before anyone sees it: sizes,
//! names, schemas, and no characters that hide or reorder words. Intent is not judged.

use serde_json::Value;

use super::naming::{self, NameError};
use super::schema::{Schema, SchemaError};
use crate::config::{Limits, kib};
use crate::json::RawObject;
use crate::observe::is_deceptive;
use crate::plugin::Tool;

/// Why a tool is not published.
#[derive(Debug, thiserror::Error)]
pub(super) enum VettingError {
    /// Its name.
    #[error("{0}")]
    Name(#[from] NameError),
    /// Its input or output schema.
    #[error("{0}")]
    Schema(#[from] SchemaError),
    /// Beyond `description_kib`.
    #[error("its title and description are longer than {0} KiB (limit `description_kib`)")]
    TooLong(u64),
    /// A control, bidi, zero-width or tag character.
    #[error("its {place} has the character {}, which can hide words from a reader; remove it", .character.escape_unicode())]
    Deceptive {
        /// Title, description or extra.
        place: &'static str,
        /// The first one found.
        character: char,
    },
    /// Its `extra` is not a JSON object.
    #[error("its extra fields are not a JSON object")]
    Extra(#[source] serde_json::Error),
}

/// A tool that may be published.
#[derive(Debug)]
pub(super) struct Vetted {
    pub(super) name: String,
    pub(super) input: Schema,
    pub(super) output: Option<Schema>,
    pub(super) extra: RawObject,
}

/// Checks one tool.
pub(super) fn vet(tool: &Tool, prefix: &str, limits: &Limits) -> Result<Vetted, VettingError> {
    let name = naming::public(prefix, &tool.name)?;
    let title = tool.title.as_deref().unwrap_or_default();
    let description = tool.description.as_deref().unwrap_or_default();
    let extra = tool.extra.as_deref().unwrap_or_default();
    if title.len() + description.len() > kib(limits.description_kib)
        || extra.len() > kib(limits.description_kib)
    {
        return Err(VettingError::TooLong(limits.description_kib));
    }
    readable("title", title)?;
    readable("description", description)?;
    let output = tool.output_schema.as_deref().map(|text| Schema::compile(text, limits)).transpose()?;
    let input = Schema::of_arguments(&tool.input_schema, limits)?;
    for schema in [Some(&input), output.as_ref()].into_iter().flatten() {
        all_readable("schema", schema.text().get())?;
    }
    let extra = if extra.is_empty() {
        RawObject::default()
    } else {
        all_readable("extra", extra)?;
        RawObject::parse(extra).map_err(VettingError::Extra)?
    };
    Ok(Vetted { name, input, output, extra })
}

/// Checks every name and string of JSON as a client will decode it, whatever escapes it was written with.
fn all_readable(place: &'static str, json: &str) -> Result<(), VettingError> {
    let value: Value = serde_json::from_str(json).map_err(VettingError::Extra)?;
    let mut pending = vec![&value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => readable(place, text)?,
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => {
                fields.keys().try_for_each(|name| readable(place, name))?;
                pending.extend(fields.values());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Lines and tabs are how text is laid out; everything else that does not show is refused.
fn readable(place: &'static str, text: &str) -> Result<(), VettingError> {
    let hidden = |character: &char| is_deceptive(*character) && !matches!(character, '\n' | '\r' | '\t');
    match text.chars().find(hidden) {
        Some(character) => Err(VettingError::Deceptive { place, character }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        Tool {
            name: "t".to_owned(),
            title: None,
            description: Some("Does it.\nWell.".to_owned()),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            annotations: None,
            extra: None,
        }
    }

    fn fault(tool: &Tool) -> String {
        vet(tool, "p", &Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_tool_passes() {
        assert_eq!(vet(&tool(), "p", &Limits::default()).unwrap().name, "p-t");
    }

    #[test]
    fn hidden_words_are_refused_wherever_they_stand() {
        let hidden = "Adds.\u{e0041}\u{200b}".to_owned();
        assert!(fault(&Tool { description: Some(hidden.clone()), ..tool() }).contains("its description has"));
        assert!(fault(&Tool { title: Some(hidden.clone()), ..tool() }).contains("its title has"));
        let schema = format!(r#"{{"type":"object","description":"{hidden}"}}"#);
        assert!(fault(&Tool { input_schema: schema, ..tool() }).contains("its schema has"));
        let schema = r#"{"type":"object","description":"x\u202e\udb40\udc41"}"#.to_owned();
        assert!(fault(&Tool { input_schema: schema, ..tool() }).contains("its schema has"));
        let extra = Some(r#"{"a":{"b\u200b":1}}"#.to_owned());
        assert!(fault(&Tool { extra, ..tool() }).contains("its extra has"));
    }

    #[test]
    fn long_descriptions_and_broken_extras_are_refused() {
        assert!(fault(&Tool { description: Some("x".repeat(5_000)), ..tool() }).contains("description_kib"));
        assert!(fault(&Tool { extra: Some("[]".to_owned()), ..tool() }).contains("not a JSON object"));
    }
}
