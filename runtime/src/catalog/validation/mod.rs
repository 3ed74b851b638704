//! Validation of the items that a plugin lists.
//!
//! Models and people will read these texts, so they are validated before clients see them: sizes, names, URIs, schemas,
//! and no characters that hide or reorder words. Intent is not checked. One file per kind of item.

mod json_strings;
mod prompt;
mod resource;
mod tool;

pub(super) use prompt::validate as prompt;
pub(super) use tool::{ValidatedTool, validate as tool};

use serde_json::Value;

use super::param_headers::ParamHeaderError;
use super::published_name::NameError;
use super::schema::SchemaError;
use super::uri::UriError;
use super::uri_template::UriTemplateError;
use crate::config::fixed_limits::{DESCRIPTION_KIB, PROMPT_ARGUMENTS};
use crate::config::{InvalidUi, kib};
use crate::json::RawObject;
use crate::observe::is_deceptive;
use crate::plugin::Annotations;
use json_strings::all_readable;

/// Longest media type and longest time, bytes.
const SHORT: usize = 256;

/// Why an item is not published.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidItem {
    /// Its name.
    #[error("{0}")]
    Name(#[from] NameError),
    /// Its input or output schema.
    #[error("{0}")]
    Schema(#[from] SchemaError),
    /// An `x-mcp-header` in its input schema.
    #[error("{0}")]
    Header(#[from] ParamHeaderError),
    /// Its URI.
    #[error("{0}")]
    Uri(#[from] UriError),
    /// Its URI template.
    #[error("its URI template cannot be used: {0}")]
    Template(#[from] UriTemplateError),
    /// A resource or an argument needs something to show.
    #[error("it, or an argument of it, has no name; give it one")]
    Nameless,
    /// Beyond [`DESCRIPTION_KIB`].
    #[error("its name, title and description, or its extra fields, are longer than {DESCRIPTION_KIB} KiB")]
    TooLong,
    /// Beyond [`SHORT`].
    #[error("its {0} is longer than {SHORT} bytes; shorten it")]
    NotShort(&'static str),
    /// Beyond [`PROMPT_ARGUMENTS`].
    #[error("it has more than {PROMPT_ARGUMENTS} arguments")]
    Arguments,
    /// Two arguments of one name.
    #[error("it has two arguments of one name; rename one")]
    Twice,
    /// A control, bidi, zero-width or tag character.
    #[error("its {field} has the character {}, which can hide words from a reader; remove it", .character.escape_unicode())]
    Deceptive {
        /// Title, description or extra.
        field: &'static str,
        /// The first one found.
        character: char,
    },
    /// One name twice in an object of a schema or of its extra fields.
    #[error("its {0} has a field twice, and programs disagree on which one counts; remove one")]
    Doubled(&'static str),
    /// Its `extra` is not a JSON object.
    #[error("its extra fields are not a JSON object")]
    Extra(#[source] serde_json::Error),
    /// The URI of a file in the component.
    #[error("a file that the plugin ships has this URI; give it another")]
    Shipped,
    /// What it asks for as an app.
    #[error("{0}")]
    Ui(#[from] InvalidUi),
    /// A field of `extra` that MCP gives another type.
    #[error("its extra field `{0}` is not what MCP says; write {1}")]
    Field(&'static str, &'static str),
}

/// The fields that all kinds of items have.
struct CommonFields<'a> {
    /// Empty for items whose names have rules of their own.
    name: &'a str,
    title: Option<&'a str>,
    description: Option<&'a str>,
    extra: Option<&'a str>,
}

impl CommonFields<'_> {
    /// Checks the texts and reads the further fields.
    fn check(&self) -> Result<RawObject, InvalidItem> {
        let title = self.title.unwrap_or_default();
        let description = self.description.unwrap_or_default();
        let extra = self.extra.unwrap_or_default();
        let max = kib(DESCRIPTION_KIB);
        if self.name.len() + title.len() + description.len() > max || extra.len() > max {
            return Err(InvalidItem::TooLong);
        }
        readable("name", self.name)?;
        readable("title", title)?;
        readable("description", description)?;
        if extra.is_empty() {
            return Ok(RawObject::default());
        }
        all_readable("extra", extra)?;
        let extra = RawObject::parse(extra).map_err(InvalidItem::Extra)?;
        known_fields(&extra)?;
        Ok(extra)
    }
}

/// Checks the types of fields that MCP defines. Because of one wrong type strict clients would reject the whole list.
fn known_fields(extra: &RawObject) -> Result<(), InvalidItem> {
    let field = |name: &str| extra.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    if field("_meta").is_some_and(|meta| !meta.is_object()) {
        return Err(InvalidItem::Field("_meta", "an object"));
    }
    if field("size").is_some_and(|size| !size.is_u64()) {
        return Err(InvalidItem::Field("size", "a whole number of bytes"));
    }
    let icons = |icons: &Value| icons.as_array().is_some_and(|icons| icons.iter().all(is_icon));
    if field("icons").is_some_and(|value| !icons(&value)) {
        return Err(InvalidItem::Field("icons", "a list of icons as MCP has them, each with a text `src`"));
    }
    if field("execution").is_some_and(|execution| !is_execution(&execution)) {
        return Err(InvalidItem::Field("execution", "an object whose `taskSupport` is one that MCP has"));
    }
    Ok(())
}

fn is_icon(icon: &Value) -> bool {
    let text = |name: &str| icon.get(name).is_none_or(Value::is_string);
    let sizes = |sizes: &Value| sizes.as_array().is_some_and(|sizes| sizes.iter().all(Value::is_string));
    let theme = |theme: &Value| matches!(theme.as_str(), Some("light" | "dark"));
    icon.get("src").is_some_and(Value::is_string)
        && text("mimeType")
        && icon.get("sizes").is_none_or(sizes)
        && icon.get("theme").is_none_or(theme)
}

fn is_execution(execution: &Value) -> bool {
    let known = |support: &Value| matches!(support.as_str(), Some("forbidden" | "optional" | "required"));
    execution.is_object() && execution.get("taskSupport").is_none_or(known)
}

/// Checks a short text that programs read.
fn short(field: &'static str, text: Option<&str>) -> Result<(), InvalidItem> {
    let text = text.unwrap_or_default();
    if text.len() > SHORT {
        return Err(InvalidItem::NotShort(field));
    }
    readable(field, text)
}

/// Checks annotations. A priority outside 0 to 1 passes here and is omitted when annotations are written.
fn annotated(annotations: Option<&Annotations>) -> Result<(), InvalidItem> {
    short("last-modified", annotations.and_then(|annotations| annotations.last_modified.as_deref()))
}

/// Rejects deceptive characters, except line breaks and tabs, which lay out text.
fn readable(field: &'static str, text: &str) -> Result<(), InvalidItem> {
    let hidden = |character: &char| is_deceptive(*character) && !matches!(character, '\n' | '\r' | '\t');
    match text.chars().find(hidden) {
        Some(character) => Err(InvalidItem::Deceptive { field, character }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(extra: &str) -> Result<(), String> {
        let common = CommonFields { name: "n", title: None, description: None, extra: Some(extra) };
        common.check().map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_that_mcp_knows_must_be_what_it_says() {
        assert_eq!(check(r#"{"_meta":{"a":1},"size":3,"icons":[{"src":"data:,"}],"other":[1]}"#), Ok(()));
        for bad in
            [r#"{"_meta":1}"#, r#"{"size":-1}"#, r#"{"size":"1"}"#, r#"{"icons":{}}"#, r#"{"icons":[{}]}"#]
        {
            assert!(check(bad).unwrap_err().contains("is not what MCP says"), "{bad}");
        }
    }
}
