//! Prompts of `prompts/list`, and the result of `prompts/get`.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::result_writer::{ResultFields, write_extra};
use super::super::revision::Revision;
use super::annotations::role_name;
use super::content::{Block, BlockView};
use super::extension_fields::{read_extra, write_fields, write_title_and_description};
use super::list::ListItem;
use crate::catalog::PublishedPrompt;
use crate::config::UiGrant;
use crate::json::RawObject;
use crate::plugin::{PromptArgument, PromptResult, Role};

const OWN: &[&str] = &["name", "title", "description", "arguments"];
const RESULT_OWN: &[&str] = &["description", "messages", "resultType"];

impl ListItem for PublishedPrompt {
    const FIELD: &'static str = "prompts";

    fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        let prompt = &self.prompt;
        map.serialize_entry("name", &self.name)?;
        write_title_and_description(map, prompt.title.as_ref(), prompt.description.as_ref(), revision)?;
        if !prompt.arguments.is_empty() {
            map.serialize_entry("arguments", &ArgumentsView(&prompt.arguments, revision))?;
        }
        write_fields(map, &self.extra, OWN, revision)
    }
}

struct ArgumentsView<'a>(&'a [PromptArgument], Revision);

struct ArgumentView<'a>(&'a PromptArgument, Revision);

impl Serialize for ArgumentsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|argument| ArgumentView(argument, self.1)))
    }
}

impl Serialize for ArgumentView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(argument, revision) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &argument.name)?;
        write_title_and_description(
            &mut map,
            argument.title.as_ref(),
            argument.description.as_ref(),
            *revision,
        )?;
        map.serialize_entry("required", &argument.required)?;
        map.end()
    }
}

/// The result of `prompts/get`, with its JSON parts parsed.
pub(in super::super) struct PromptView<'a> {
    description: Option<&'a String>,
    messages: Vec<(Role, Block<'a>)>,
    extra: RawObject,
}

impl<'a> PromptView<'a> {
    /// Parses the parts of a result that are JSON, of a plugin whose apps are granted this.
    ///
    /// # Errors
    /// When a part is invalid, with the plugin's mistake.
    pub(in super::super) fn new(result: &'a PromptResult, granted: &UiGrant) -> Result<Self, String> {
        let messages = result.messages.iter();
        let messages = messages.map(|message| Ok((message.role, Block::new(&message.content, granted)?)));
        Ok(Self {
            description: result.description.as_ref(),
            messages: messages.collect::<Result<_, String>>()?,
            extra: read_extra(result.extra.as_ref())?,
        })
    }

    /// The same result without messages that link to a hidden resource or embed one.
    pub(in super::super) fn without_resources(mut self, is_hidden: impl Fn(&str) -> bool) -> Self {
        self.messages.retain(|(_, block)| !block.uri().is_some_and(&is_hidden));
        self
    }
}

struct MessagesView<'a>(&'a [(Role, Block<'a>)], Revision);

struct MessageView<'a>(Role, &'a Block<'a>, Revision);

impl Serialize for MessagesView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (role, block) in self.0 {
            list.serialize_element(&MessageView(*role, block, self.1))?;
        }
        list.end()
    }
}

impl Serialize for MessageView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(role, block, revision) = self;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("role", role_name(*role))?;
        map.serialize_entry("content", &BlockView { block, revision: *revision })?;
        map.end()
    }
}

impl ResultFields for PromptView<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        if let Some(description) = self.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("messages", &MessagesView(&self.messages, revision))?;
        write_extra(map, &self.extra, RESULT_OWN)
    }

    fn extra(&self) -> Option<&RawObject> {
        Some(&self.extra)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::mcp::result_writer::EncodedResult;
    use crate::plugin::{Content, ContentData, Media, PromptMessage, ResourceDescriptor};

    fn message(role: Role, data: ContentData) -> PromptMessage {
        PromptMessage { role, content: Content { data, annotations: None, extra: None } }
    }

    fn link(uri: &str) -> PromptMessage {
        let descriptor = ResourceDescriptor {
            uri: uri.into(),
            name: "a".into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            extra: None,
        };
        message(Role::User, ContentData::Link(descriptor))
    }

    fn written(revision: Revision) -> Value {
        let result = PromptResult {
            description: Some("d".into()),
            messages: vec![
                message(Role::User, ContentData::Text("t".into())),
                message(
                    Role::Assistant,
                    ContentData::Audio(Media { data: vec![0], mime_type: "audio/wav".into() }),
                ),
                link("n:a"),
            ],
            extra: Some(r#"{"messages":"forged","_meta":{"k":1}}"#.into()),
        };
        let view = PromptView::new(&result, &UiGrant::default()).unwrap();
        let result = EncodedResult::new(&view, revision, serde_json::value::RawValue::NULL).unwrap();
        serde_json::from_slice(result.as_json()).unwrap()
    }

    #[test]
    fn content_that_a_revision_lacks_is_said_in_text() {
        let oldest = written(Revision::V2024_11_05);
        assert_eq!(
            oldest["messages"][0],
            json!({ "role": "user", "content": { "type": "text", "text": "t" } })
        );
        assert_eq!(oldest["messages"][1]["role"], "assistant");
        assert_eq!(oldest["messages"][1]["content"]["text"], "[audio/wav of audio, 1 bytes]");
        assert_eq!(oldest["messages"][2]["content"]["text"], "a: n:a");
        assert_eq!((&oldest["description"], &oldest["_meta"]), (&json!("d"), &json!({ "k": 1 })));
        assert_eq!(written(Revision::V2025_03_26)["messages"][1]["content"]["type"], "audio");
        assert_eq!(written(Revision::V2025_06_18)["messages"][2]["content"]["type"], "resource_link");
        let newest = written(Revision::V2026_07_28);
        assert_eq!((&newest["resultType"], &newest["_meta"]["k"]), (&json!("complete"), &json!(1)));
    }

    #[test]
    fn messages_with_hidden_resources_are_left_out() {
        let messages = vec![link("n:a"), message(Role::User, ContentData::Text("n:a".into())), link("n:b")];
        let result = PromptResult { description: None, messages, extra: None };
        let view =
            PromptView::new(&result, &UiGrant::default()).unwrap().without_resources(|uri| uri == "n:a");
        let left: Vec<_> = view.messages.iter().map(|(_, block)| block.uri()).collect();
        assert_eq!(left, [None, Some("n:b")]);
    }

    #[test]
    fn arguments_have_titles_where_a_revision_has_them() {
        let argument =
            PromptArgument { name: "a".into(), title: Some("A".into()), description: None, required: true };
        let shown = |revision| {
            serde_json::to_value(ArgumentsView(std::slice::from_ref(&argument), revision)).unwrap()
        };
        assert_eq!(shown(Revision::V2025_03_26), json!([{ "name": "a", "required": true }]));
        assert_eq!(shown(Revision::V2025_06_18), json!([{ "name": "a", "title": "A", "required": true }]));
    }
}
