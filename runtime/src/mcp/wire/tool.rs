//! Tools of `tools/list`.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::super::revision::Revision;
use super::extension_fields::{write_fields, write_title_and_description};
use super::list::ListItem;
use crate::catalog::{PublishedTool, Schema, TaskSupport};
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
            let execution = ExecutionView { own: self.extra.get("execution"), tasks: self.task_support };
            map.serialize_entry("execution", &execution)?;
        }
        write_fields(map, &self.extra, OWN, revision)
    }
}

/// `execution` with the fields that the plugin wrote, and with what the server does: to clients, a tool without
/// `taskSupport` would forbid tasks, and one with an unknown word would be malformed.
struct ExecutionView<'a> {
    own: Option<&'a RawValue>,
    tasks: TaskSupport,
}

impl Serialize for ExecutionView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A plugin may have written something else than an object; the list must not fail because of it.
        let own: RawObject = self.own.and_then(|own| RawObject::parse(own.get()).ok()).unwrap_or_default();
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in own.without(|name| name == TASK_SUPPORT).iter() {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry(TASK_SUPPORT, self.tasks.as_str())?;
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
    fn a_tool_is_listed_with_the_tasks_that_it_gets() {
        let written = |own: Option<&str>, tasks| {
            let own = own.map(|own| RawValue::from_string(own.to_owned()).unwrap());
            serde_json::to_string(&ExecutionView { own: own.as_deref(), tasks }).unwrap()
        };
        for odd in [None, Some("{}"), Some("5"), Some(r#"{"taskSupport":"maybe"}"#)] {
            assert_eq!(written(odd, TaskSupport::Optional), r#"{"taskSupport":"optional"}"#, "{odd:?}");
        }
        let own = Some(r#"{"taskSupport":"forbidden","x": [1]}"#);
        assert_eq!(written(own, TaskSupport::Forbidden), r#"{"x":[1],"taskSupport":"forbidden"}"#);
    }
}
