//! Items that clients can see: the plugin's description of each, validated, and the plugin that serves it.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use super::item_list::{Item, ItemDigest, ItemHasher};
use super::param_headers::ParamHeader;
use super::schema::{Schema, SchemaMismatch};
use super::task_support::TaskSupport;
use super::tool_app::with_app;
use super::uri_template::UriTemplate;
use crate::json::{self, RawObject};
use crate::observe::metrics::ItemHistograms;
use crate::plugin::{
    ItemKind, MatchedTemplate, Plugin, Prompt, ResourceDescriptor, ResourceTemplate, ShippedFile, Tool,
};
use crate::sandbox::{SMALL, WorkBudget, WorkStopped, json_work};

/// A tool that clients can see and call.
#[derive(Debug)]
pub struct PublishedTool {
    /// The name that clients use.
    pub name: String,
    /// The plugin that runs it.
    pub plugin: Arc<Plugin>,
    /// The plugin's description of it, with the plugin's own name.
    pub tool: Tool,
    /// The plugin's own name of it once more, which the records of calls share.
    pub(crate) own_name: Arc<str>,
    /// Schema of its arguments.
    pub input: Arc<Schema>,
    /// Schema of its structured content.
    pub output: Option<Arc<Schema>>,
    /// Arguments that a client repeats in headers.
    pub headers: Vec<ParamHeader>,
    /// Whether its calls become tasks.
    pub task_support: TaskSupport,
    /// Whether it waits for results of the plugin's bridged calls. The server answers it, and not the plugin.
    pub is_result_tool: bool,
    /// Further MCP fields as clients get them, with the URI of its app.
    pub extra: RawObject,
    /// The path of the app that it wants among those of its plugin, published or not.
    pub app: Option<String>,
    /// The URI of its app.
    pub(super) app_uri: Option<String>,
    /// Whether it says that apps may call it.
    pub(super) is_for_apps: bool,
    /// Where its calls are counted, if the server has metrics.
    pub(crate) histograms: ItemHistograms,
    /// See [`Item::digest`].
    pub(super) digest: ItemDigest,
}

/// A resource that clients can see and read, by its URI.
#[derive(Debug)]
pub struct PublishedResource {
    /// The plugin that reads it.
    pub plugin: Arc<Plugin>,
    /// The plugin's description of it.
    pub resource: ResourceDescriptor,
    /// Further MCP fields.
    pub extra: RawObject,
    /// The file that it is, which the server serves itself; `None`: the plugin reads it.
    pub file: Option<PublishedFile>,
    /// See [`Item::digest`].
    pub(super) digest: ItemDigest,
    /// The digest of what an operator approves, which takes long to compute for a large file.
    pub(super) approval_digest: OnceLock<String>,
}

/// A file of a component that clients can read.
#[derive(Debug, Clone)]
pub struct PublishedFile {
    /// The file.
    pub file: ShippedFile,
    /// The frontmatter as JSON, if the file is the `SKILL.md` of a skill.
    pub skill: Option<Arc<RawValue>>,
}

/// A family of resources that clients can read without seeing each.
#[derive(Debug)]
pub struct PublishedTemplate {
    /// The plugin that reads them.
    pub plugin: Arc<Plugin>,
    /// The plugin's description of it.
    pub template: ResourceTemplate,
    /// Matches the URIs of the template.
    pub(super) pattern: UriTemplate,
    /// Further MCP fields.
    pub extra: RawObject,
    /// See [`Item::digest`].
    pub(super) digest: ItemDigest,
}

/// A prompt that clients can see and fill in.
#[derive(Debug)]
pub struct PublishedPrompt {
    /// The name that clients use.
    pub name: String,
    /// The plugin that fills it in.
    pub plugin: Arc<Plugin>,
    /// The plugin's description of it, with the plugin's own name.
    pub prompt: Prompt,
    /// Further MCP fields.
    pub extra: RawObject,
    /// Where its requests are counted, if the server has metrics.
    pub(crate) histograms: ItemHistograms,
    /// See [`Item::digest`].
    pub(super) digest: ItemDigest,
}

impl PublishedTool {
    /// Validates structured content, which a tool with an output schema must return unless it failed. `None` if that
    /// might take long.
    pub(crate) fn matches_output_schema_if_short(
        &self,
        structured: Option<&RawValue>,
        is_error: bool,
    ) -> Option<Result<(), String>> {
        let (schema, text) = match self.required_output(structured, is_error).transpose() {
            None => return Some(Ok(())),
            Some(Ok(schema_and_text)) => schema_and_text,
            Some(Err(fault)) => return Some(Err(fault)),
        };
        if json_work(text.as_bytes()) > SMALL {
            return None;
        }
        if schema.certainly_fits(text) {
            return Some(Ok(()));
        }
        match json::value(text) {
            Ok(value) => schema.validate_if_short(&value, text.len()).map(unfit),
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// The same, within `work_budget`.
    ///
    /// # Errors
    /// When the work has to stop.
    pub(crate) fn matches_output_schema(
        &self,
        structured: Option<&RawValue>,
        is_error: bool,
        work_budget: &WorkBudget,
    ) -> Result<Result<(), String>, WorkStopped> {
        let (schema, text) = match self.required_output(structured, is_error) {
            Ok(Some(schema_and_text)) => schema_and_text,
            Ok(None) => return Ok(Ok(())),
            Err(fault) => return Ok(Err(fault)),
        };
        match json::value(text) {
            Ok(value) => schema.validate(&value, text.len(), work_budget).map(unfit),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// The schema that the structured content has to fit, and the text of that content.
    fn required_output<'s>(
        &self,
        structured: Option<&'s RawValue>,
        is_error: bool,
    ) -> Result<Option<(&Schema, &'s str)>, String> {
        let Some(schema) = self.output.as_deref().filter(|_| !is_error) else { return Ok(None) };
        let text = structured.ok_or("it promises structured content and gave none")?.get();
        Ok(Some((schema, text)))
    }

    /// Whether a client that knows no tasks may be answered that its call still runs. Clients check a result against an
    /// output schema, which that fits never; an app shows the results of its tool alone, and calls no other.
    #[must_use]
    pub fn can_be_bridged(&self) -> bool {
        let has_app = self.app_uri.is_some() || self.is_for_apps;
        self.output.is_none() && !has_app && self.task_support != TaskSupport::Forbidden
    }

    pub(super) fn patterns(&self) -> u64 {
        self.input.patterns() + self.output.as_deref().map_or(0, Schema::patterns)
    }

    /// The same for a caller who does not see its app.
    pub(super) fn without_app(&self) -> Self {
        Self {
            name: self.name.clone(),
            plugin: Arc::clone(&self.plugin),
            tool: self.tool.clone(),
            own_name: Arc::clone(&self.own_name),
            input: Arc::clone(&self.input),
            output: self.output.clone(),
            headers: self.headers.clone(),
            task_support: self.task_support,
            is_result_tool: self.is_result_tool,
            extra: with_app(self.extra.clone(), None),
            app: self.app.clone(),
            app_uri: None,
            is_for_apps: self.is_for_apps,
            histograms: ItemHistograms::default(),
            digest: ItemDigest::new(),
        }
    }
}

fn unfit(checked: Result<(), SchemaMismatch>) -> Result<(), String> {
    checked.map_err(|mismatch| format!("its structured content does not fit its schema: {mismatch}"))
}

impl PublishedTemplate {
    /// The template's variables in a URI, as the plugin gets them.
    pub(super) fn match_uri(&self, uri: &str) -> Option<MatchedTemplate> {
        let variables = self.pattern.match_uri(uri)?;
        Some(MatchedTemplate { uri_template: self.template.uri_template.clone(), variables })
    }
}

impl Item for PublishedTool {
    const KIND: ItemKind = ItemKind::Tool;

    fn key(&self) -> &str {
        &self.name
    }

    fn own_name(&self) -> &str {
        &self.tool.name
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn digest(&self) -> &ItemDigest {
        &self.digest
    }

    fn hash_into(&self, hasher: &mut ItemHasher) {
        let Tool { title, description, annotations, .. } = &self.tool;
        hasher.text(&self.name).text(self.input.text().get());
        hasher.text(self.output.as_ref().map(|schema| schema.text().get()).unwrap_or_default());
        hasher.optional(title).optional(description).debug(annotations);
        for (name, value) in self.extra.iter() {
            hasher.text(name).text(value.get());
        }
    }
}

impl Item for PublishedResource {
    const KIND: ItemKind = ItemKind::Resource;

    fn key(&self) -> &str {
        &self.resource.uri
    }

    fn own_name(&self) -> &str {
        &self.resource.uri
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn digest(&self) -> &ItemDigest {
        &self.digest
    }

    fn hash_into(&self, hasher: &mut ItemHasher) {
        let ResourceDescriptor { uri, name, title, description, mime_type, annotations, extra } =
            &self.resource;
        hasher.text(uri).text(name).optional(title).optional(description).optional(mime_type);
        hasher.optional(extra).debug(annotations);
        if let Some(PublishedFile { file, .. }) = &self.file {
            hasher.text(&file.digest);
        }
    }

    /// A skill is published with all its files, since clients verify each of them.
    fn whole(&self) -> Option<&str> {
        let path = &self.file.as_ref()?.file.path;
        let (end, _) = path.match_indices('/').nth(1)?;
        path.get(..end).filter(|folder| folder.starts_with("skills/"))
    }
}

impl Item for PublishedTemplate {
    const KIND: ItemKind = ItemKind::Template;

    fn key(&self) -> &str {
        &self.template.uri_template
    }

    fn own_name(&self) -> &str {
        &self.template.uri_template
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn digest(&self) -> &ItemDigest {
        &self.digest
    }

    fn hash_into(&self, hasher: &mut ItemHasher) {
        let ResourceTemplate { uri_template, name, title, description, mime_type, annotations, extra } =
            &self.template;
        hasher.text(uri_template).text(name).optional(title).optional(description).optional(mime_type);
        hasher.optional(extra).debug(annotations);
    }
}

impl Item for PublishedPrompt {
    const KIND: ItemKind = ItemKind::Prompt;

    fn key(&self) -> &str {
        &self.name
    }

    fn own_name(&self) -> &str {
        &self.prompt.name
    }

    fn owner(&self) -> &str {
        self.plugin.name()
    }

    fn digest(&self) -> &ItemDigest {
        &self.digest
    }

    fn hash_into(&self, hasher: &mut ItemHasher) {
        let Prompt { title, description, arguments, extra, .. } = &self.prompt;
        hasher.text(&self.name).optional(title).optional(description).optional(extra).debug(arguments);
    }
}
