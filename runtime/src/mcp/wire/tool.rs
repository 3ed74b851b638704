//! Tools of `tools/list`.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::super::revision::Revision;
use super::extension_fields::{write_fields, write_title_and_description};
use super::list::ListItem;
use crate::catalog::{PublishedTool, Schema};
use crate::plugin::ToolAnnotations;

/// Fields that `extra` cannot set.
const OWN: &[&str] = &["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

impl ListItem for PublishedTool {
    const FIELD: &'static str = "tools";

    fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        let tool = &self.tool;
        map.serialize_entry("name", &self.name)?;
        write_title_and_description(map, tool.title.as_ref(), tool.description.as_ref(), revision)?;
        map.serialize_entry("inputSchema", text_of(&self.input, revision))?;
        if let Some(schema) = &self.output
            && revision.has_structured_content()
            && (schema.is_object() || revision.has_any_structured_content())
        {
            map.serialize_entry("outputSchema", text_of(schema, revision))?;
        }
        // In revisions without titles of tools, the title is in the annotations.
        let title = tool.title.as_deref().filter(|_| !revision.has_titles());
        if revision.has_annotations() && (title.is_some() || tool.annotations.is_some()) {
            let hints = tool.annotations.as_ref();
            map.serialize_entry("annotations", &AnnotationsView { title, hints })?;
        }
        // In the revision with `execution`, a tool that does not mention tasks would have none.
        if revision.has_execution() && self.extra.get("execution").is_none() {
            map.serialize_entry("execution", &Execution { task_support: "optional" })?;
        }
        write_fields(map, &self.extra, OWN, revision)
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    task_support: &'static str,
}

fn text_of(schema: &Schema, revision: Revision) -> &RawValue {
    if revision.is_stateless() { schema.text() } else { schema.legacy_text() }
}

struct AnnotationsView<'a> {
    title: Option<&'a str>,
    hints: Option<&'a ToolAnnotations>,
}

impl Serialize for AnnotationsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(title) = self.title {
            map.serialize_entry("title", title)?;
        }
        let hints = self.hints.map(|hints| {
            [
                ("readOnlyHint", hints.read_only),
                ("destructiveHint", hints.destructive),
                ("idempotentHint", hints.idempotent),
                ("openWorldHint", hints.open_world),
            ]
        });
        for (name, hint) in hints.into_iter().flatten() {
            if let Some(hint) = hint {
                map.serialize_entry(name, &hint)?;
            }
        }
        map.end()
    }
}
