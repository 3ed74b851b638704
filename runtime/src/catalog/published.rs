//! Items that clients can see: what a plugin said of each, vetted, and who runs it.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::headers::ParamHeader;
use super::list::{Fingerprint, Item, Kind, Print};
use super::schema::{Mismatch, Schema};
use super::template::Template;
use crate::json::RawObject;
use crate::plugin::{Plugin, Prompt, ResourceDescriptor, ResourceTemplate, Tool};
use crate::sandbox::{Allowance, SMALL, Stopped};

/// A tool that clients can see and call.
#[derive(Debug)]
pub struct PublishedTool {
    /// The name that clients use.
    pub name: String,
    /// Who runs it.
    pub plugin: Arc<Plugin>,
    /// What the plugin says of it; its own name for it is in here.
    pub tool: Tool,
    /// Schema of its arguments.
    pub input: Schema,
    /// Schema of its structured content.
    pub output: Option<Schema>,
    /// Arguments that a client repeats in headers.
    pub headers: Vec<ParamHeader>,
    /// Further MCP fields.
    pub extra: RawObject,
    /// See [`Item::print`].
    pub(super) print: Print,
}

/// A resource that clients can see and read, by its URI.
#[derive(Debug)]
pub struct PublishedResource {
    /// Who reads it.
    pub plugin: Arc<Plugin>,
    /// What the plugin says of it.
    pub resource: ResourceDescriptor,
    /// Further MCP fields.
    pub extra: RawObject,
    /// See [`Item::print`].
    pub(super) print: Print,
}

/// A family of resources that clients can read without seeing each.
#[derive(Debug)]
pub struct PublishedTemplate {
    /// Who reads them.
    pub plugin: Arc<Plugin>,
    /// What the plugin says of it.
    pub template: ResourceTemplate,
    /// Which URIs are meant.
    pub(super) pattern: Template,
    /// Further MCP fields.
    pub extra: RawObject,
    /// See [`Item::print`].
    pub(super) print: Print,
}

/// A prompt that clients can see and fill in.
#[derive(Debug)]
pub struct PublishedPrompt {
    /// The name that clients use.
    pub name: String,
    /// Who fills it in.
    pub plugin: Arc<Plugin>,
    /// What the plugin says of it; its own name for it is in here.
    pub prompt: Prompt,
    /// Further MCP fields.
    pub extra: RawObject,
    /// See [`Item::print`].
    pub(super) print: Print,
}

impl PublishedTool {
    /// A tool with an output schema owes structured content that fits it, unless it failed. Says so at once if that is sure to
    /// be short, else `None`.
    pub(crate) fn keeps_promise_at_once(
        &self,
        structured: Option<&RawValue>,
        is_error: bool,
    ) -> Option<Result<(), String>> {
        let (schema, text) = match self.owed(structured, is_error).transpose() {
            None => return Some(Ok(())),
            Some(Ok(owed)) => owed,
            Some(Err(fault)) => return Some(Err(fault)),
        };
        if text.len() > SMALL {
            return None;
        }
        match serde_json::from_str(text) {
            Ok(value) => schema.validate_at_once(&value).map(unfit),
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// The same, however long it takes.
    ///
    /// # Errors
    /// When the allowance ends it.
    pub(crate) fn keeps_promise(
        &self,
        structured: Option<&RawValue>,
        is_error: bool,
        allowance: &Allowance,
    ) -> Result<Result<(), String>, Stopped> {
        let (schema, text) = match self.owed(structured, is_error) {
            Ok(Some(owed)) => owed,
            Ok(None) => return Ok(Ok(())),
            Err(fault) => return Ok(Err(fault)),
        };
        match serde_json::from_str(text) {
            Ok(value) => schema.validate(&value, text.len(), allowance).map(unfit),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// The schema that the structured content has to fit.
    fn owed<'s>(
        &self,
        structured: Option<&'s RawValue>,
        is_error: bool,
    ) -> Result<Option<(&Schema, &'s str)>, String> {
        let Some(schema) = self.output.as_ref().filter(|_| !is_error) else { return Ok(None) };
        let text = structured.ok_or("it promises structured content and gave none")?.get();
        Ok(Some((schema, text)))
    }

    pub(super) fn patterns(&self) -> u64 {
        self.input.patterns() + self.output.as_ref().map_or(0, Schema::patterns)
    }
}

fn unfit(checked: Result<(), Mismatch>) -> Result<(), String> {
    checked.map_err(|mismatch| format!("its structured content does not fit its schema: {mismatch}"))
}

impl PublishedTemplate {
    /// Whether a URI can come from it.
    #[must_use]
    pub fn matches(&self, uri: &str) -> bool {
        self.pattern.matches(uri)
    }
}

impl Item for PublishedTool {
    const KIND: Kind = Kind::Tool;

    fn key(&self) -> &str {
        &self.name
    }

    fn own_name(&self) -> &str {
        &self.tool.name
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn print(&self) -> &Print {
        &self.print
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let Tool { title, description, annotations, extra, .. } = &self.tool;
        print.text(&self.name).text(self.input.text().get());
        print.text(self.output.as_ref().map(|schema| schema.text().get()).unwrap_or_default());
        print.optional(title).optional(description).optional(extra).debug(annotations);
    }
}

impl Item for PublishedResource {
    const KIND: Kind = Kind::Resource;

    fn key(&self) -> &str {
        &self.resource.uri
    }

    fn own_name(&self) -> &str {
        &self.resource.uri
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn print(&self) -> &Print {
        &self.print
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let ResourceDescriptor { uri, name, title, description, mime_type, annotations, extra } =
            &self.resource;
        print.text(uri).text(name).optional(title).optional(description).optional(mime_type);
        print.optional(extra).debug(annotations);
    }
}

impl Item for PublishedTemplate {
    const KIND: Kind = Kind::Template;

    fn key(&self) -> &str {
        &self.template.uri_template
    }

    fn own_name(&self) -> &str {
        &self.template.uri_template
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn print(&self) -> &Print {
        &self.print
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let ResourceTemplate { uri_template, name, title, description, mime_type, annotations, extra } =
            &self.template;
        print.text(uri_template).text(name).optional(title).optional(description).optional(mime_type);
        print.optional(extra).debug(annotations);
    }
}

impl Item for PublishedPrompt {
    const KIND: Kind = Kind::Prompt;

    fn key(&self) -> &str {
        &self.name
    }

    fn own_name(&self) -> &str {
        &self.prompt.name
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn print(&self) -> &Print {
        &self.print
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let Prompt { title, description, arguments, extra, .. } = &self.prompt;
        print.text(&self.name).optional(title).optional(description).optional(extra).debug(arguments);
    }
}
