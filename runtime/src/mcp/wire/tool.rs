//! Tools of `tools/list`.

use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::super::revision::Revision;
use super::extension_fields::{write_fields, write_title_and_description};
use super::list::ListItem;
use crate::catalog::{PublishedTool, Schema};
use crate::json::RawObject;
use crate::plugin::ToolAnnotations;

/// Fields that are not written as `extra` has them.
const OWN: &[&str] =
    &["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"];

/// The field of `execution` that says whether calls become tasks.
const TASK_SUPPORT: &str = "taskSupport";

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
        if revision.has_execution() {
            map.serialize_entry("execution", &ExecutionView(self.extra.get("execution")))?;
        }
        write_fields(map, &self.extra, OWN, revision)
    }
}

/// `execution` as the plugin wrote it, if it did. To clients a tool without `taskSupport` would forbid tasks, so that
/// is added.
struct ExecutionView<'a>(Option<&'a RawValue>);

impl Serialize for ExecutionView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own = self.0.map(|own| serde_json::from_str(own.get())).transpose();
        let own: RawObject = own.map_err(S::Error::custom)?.unwrap_or_default();
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in own.iter() {
            map.serialize_entry(name, value)?;
        }
        if own.get(TASK_SUPPORT).is_none() {
            map.serialize_entry(TASK_SUPPORT, "optional")?;
        }
        map.end()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_says_nothing_of_tasks_has_optional_ones() {
        let written = |own: Option<&str>| {
            let own = own.map(|own| RawValue::from_string(own.to_owned()).unwrap());
            serde_json::to_string(&ExecutionView(own.as_deref())).unwrap()
        };
        assert_eq!(written(None), r#"{"taskSupport":"optional"}"#);
        assert_eq!(written(Some("{}")), r#"{"taskSupport":"optional"}"#);
        assert_eq!(written(Some(r#"{"x": [1]}"#)), r#"{"x":[1],"taskSupport":"optional"}"#);
        let own = r#"{"taskSupport":"forbidden","x":1}"#;
        assert_eq!(written(Some(own)), own);
    }
}
