//! A tool as `tools/list` shows it.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::reply::write_extra;
use super::super::revision::Revision;
use crate::catalog::PublishedTool;
use crate::plugin::ToolAnnotations;

/// Fields that `extra` cannot repeat.
const OWN: &[&str] = &["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// A list of tools.
pub(in super::super) struct ToolViews<'a> {
    pub(in super::super) tools: &'a [Arc<PublishedTool>],
    pub(in super::super) revision: Revision,
}

struct ToolView<'a> {
    tool: &'a PublishedTool,
    revision: Revision,
}

impl Serialize for ToolViews<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.tools.len()))?;
        for tool in self.tools {
            list.serialize_element(&ToolView { tool, revision: self.revision })?;
        }
        list.end()
    }
}

impl Serialize for ToolView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { tool: published, revision } = self;
        let tool = &published.tool;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &published.name)?;
        if let Some(title) = tool.title.as_ref().filter(|_| revision.has_titles()) {
            map.serialize_entry("title", title)?;
        }
        if let Some(description) = &tool.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("inputSchema", published.input.text())?;
        if let Some(schema) = &published.output
            && revision.has_structured_content()
            && (schema.is_object() || revision.has_any_structured_content())
        {
            map.serialize_entry("outputSchema", schema.text())?;
        }
        if let Some(annotations) = tool.annotations.as_ref().filter(|_| revision.has_annotations()) {
            map.serialize_entry("annotations", &AnnotationsView(annotations))?;
        }
        write_extra(&mut map, &published.extra, OWN)?;
        if let Some(meta) = published.extra.get("_meta").filter(|_| revision.has_titles()) {
            map.serialize_entry("_meta", meta)?;
        }
        map.end()
    }
}

struct AnnotationsView<'a>(&'a ToolAnnotations);

impl Serialize for AnnotationsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hints = [
            ("readOnlyHint", self.0.read_only),
            ("destructiveHint", self.0.destructive),
            ("idempotentHint", self.0.idempotent),
            ("openWorldHint", self.0.open_world),
        ];
        serializer.collect_map(hints.into_iter().filter_map(|(name, hint)| hint.map(|hint| (name, hint))))
    }
}
