//! The pieces of a conversation, as MCP writes them.

use data_encoding::BASE64;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Role;

/// A piece of a message to or from a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    #[expect(missing_docs, reason = "the name says it")]
    Text { text: String },
    /// A picture.
    #[expect(missing_docs, reason = "the names say it")]
    Image {
        #[serde(with = "base64")]
        data: Vec<u8>,
        mime_type: String,
    },
    /// Sound.
    #[expect(missing_docs, reason = "the names say it")]
    Audio {
        #[serde(with = "base64")]
        data: Vec<u8>,
        mime_type: String,
    },
    /// The model wants to have a tool called.
    ToolUse(ToolUse),
    /// The result of a tool call.
    ToolResult {
        /// The `id` of the [`ToolUse`].
        tool_use_id: String,
        /// The content of the tool's result.
        content: Vec<Block>,
        /// Whether it failed.
        #[serde(default)]
        is_error: bool,
    },
    /// A block of a type that this SDK does not know, unchanged.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// A model's request for a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The id that the result refers to.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub input: Map<String, Value>,
}

impl Block {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A picture: its bytes (not base64) and its type, such as `image/png`.
    pub fn image(bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Image { data: bytes.into(), mime_type: mime_type.into() }
    }

    /// Sound: its bytes (not base64) and its type, such as `audio/wav`.
    pub fn audio(bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Audio { data: bytes.into(), mime_type: mime_type.into() }
    }

    /// The result of a tool call.
    pub fn tool_result(tool_use: &ToolUse, text: impl Into<String>) -> Self {
        Self::ToolResult {
            tool_use_id: tool_use.id.clone(),
            content: vec![Self::text(text)],
            is_error: false,
        }
    }

    /// The error of a failed tool call.
    pub fn tool_error(tool_use: &ToolUse, text: impl Into<String>) -> Self {
        Self::ToolResult { tool_use_id: tool_use.id.clone(), content: vec![Self::text(text)], is_error: true }
    }

    /// The text, when this is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

impl From<String> for Block {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Block {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// A message of the user or of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The content.
    pub content: Vec<Block>,
}

impl Message {
    /// The user speaks.
    pub fn user(content: impl Into<Block>) -> Self {
        Self { role: Role::User, content: vec![content.into()] }
    }

    /// The model speaks.
    pub fn assistant(content: impl Into<Block>) -> Self {
        Self { role: Role::Assistant, content: vec![content.into()] }
    }

    /// Adds a piece.
    #[must_use]
    pub fn and(mut self, content: impl Into<Block>) -> Self {
        self.content.push(content.into());
        self
    }
}

/// One block is written without a list, since clients of older revisions know no lists.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        map.serialize_entry("role", role)?;
        match self.content.as_slice() {
            [single] => map.serialize_entry("content", single)?,
            several => map.serialize_entry("content", several)?,
        }
        map.end()
    }
}

pub(super) fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        other => Err(D::Error::custom(format_args!("`{other}` is no role"))),
    }
}

pub(super) fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Content {
        Many(Vec<Block>),
        One(Block),
    }
    Ok(match Content::deserialize(deserializer)? {
        Content::Many(blocks) => blocks,
        Content::One(block) => vec![block],
    })
}

mod base64 {
    use super::{BASE64, Deserialize, Deserializer, Serializer};
    use serde::de::Error as _;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text.as_bytes()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_are_written_as_mcp_writes_them() {
        let written = |block: &Block| serde_json::to_value(block).unwrap();
        assert_eq!(written(&"hi".into()), json!({"type": "text", "text": "hi"}));
        let image = json!({"type": "image", "data": "AAE=", "mimeType": "image/png"});
        assert_eq!(written(&Block::image([0, 1], "image/png")), image);
        let wanted = ToolUse { id: "7".to_owned(), name: "add".to_owned(), input: Map::new() };
        assert_eq!(
            written(&Block::tool_error(&wanted, "no")),
            json!({"type": "tool_result", "toolUseId": "7", "content": [{"type": "text", "text": "no"}], "isError": true})
        );
        assert_eq!(
            written(&Block::ToolUse(wanted)),
            json!({"type": "tool_use", "id": "7", "name": "add", "input": {}})
        );
    }

    #[test]
    fn blocks_come_back_and_unknown_ones_are_kept() {
        for block in [Block::text("a"), Block::audio([9], "audio/wav")] {
            let text = serde_json::to_string(&block).unwrap();
            assert_eq!(serde_json::from_str::<Block>(&text).unwrap(), block);
        }
        let unknown = json!({"type": "hologram", "x": 1});
        let Block::Other(kept) = serde_json::from_value(unknown.clone()).unwrap() else { panic!() };
        assert_eq!(Value::Object(kept), unknown);
    }

    #[test]
    fn a_message_of_one_piece_has_no_list() {
        let written = |message: Message| serde_json::to_value(message).unwrap();
        assert_eq!(
            written(Message::user("q")),
            json!({"role": "user", "content": {"type": "text", "text": "q"}})
        );
        assert_eq!(written(Message::assistant("a").and("b"))["content"][1]["text"], "b");
    }
}
