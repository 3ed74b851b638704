//! The request to a model, put together call by call.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Error, Role, Tool, json};

use super::content::{Block, Message};

/// A request to the client's model, for [`Call::sample`](crate::Call::sample).
///
/// The client chooses the model, and may show the request to its user first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageRequest {
    #[serde(skip)]
    pub(crate) key: Option<String>,
    messages: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_preferences: Option<ModelPreferences>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<SamplingTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelPreferences {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<Hint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_priority: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_priority: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intelligence_priority: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Hint {
    name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Choice {
    mode: ToolChoice,
}

/// Whether the model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// When the model decides to.
    Auto,
    /// At least one.
    Required,
    /// None, although the request lists tools.
    None,
}

/// A tool that the model may request. The plugin calls it, not the client.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingTool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    input_schema: Value,
}

impl SamplingTool {
    /// A tool with this JSON Schema for its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> Self {
        Self { name: name.into(), description: Some(description.into()), input_schema: schema }
    }

    /// A tool that the plugin has anyway.
    ///
    /// # Errors
    /// `Internal` when the tool cannot be described.
    pub fn of<T: Tool>() -> Result<Self, Error> {
        let tool = T::describe()?;
        let input_schema = serde_json::from_str(&tool.input_schema).map_err(|error| {
            Error::Internal(format!("the schema of the tool `{}` is not JSON: {error}", tool.name))
        })?;
        Ok(Self { name: tool.name, description: tool.description, input_schema })
    }
}

impl Default for CreateMessageRequest {
    fn default() -> Self {
        Self::new()
    }
}

impl CreateMessageRequest {
    /// A request without messages, for a result of at most 1000 tokens.
    pub const fn new() -> Self {
        Self {
            key: None,
            messages: Vec::new(),
            model_preferences: None,
            system_prompt: None,
            temperature: None,
            max_tokens: 1000,
            stop_sequences: Vec::new(),
            metadata: None,
            tools: Vec::new(),
            tool_choice: None,
        }
    }

    /// Gives the request a key, as [`Call::keyed`](crate::Call::keyed) does.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Tells the model how to behave.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Adds a message to the conversation.
    #[must_use]
    pub fn message(mut self, message: impl Into<Message>) -> Self {
        self.messages.push(message.into());
        self
    }

    /// Adds a piece to what the user says last.
    #[must_use]
    pub fn block(mut self, block: impl Into<Block>) -> Self {
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.push(block.into()),
            _ => self.messages.push(Message::user(block)),
        }
        self
    }

    /// Adds text to what the user says last.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.block(Block::text(text))
    }

    /// Adds a picture to what the user says last: its bytes (not base64) and its type.
    #[must_use]
    pub fn image(self, bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.block(Block::image(bytes, mime_type))
    }

    /// Adds sound to what the user says last: its bytes (not base64) and its type.
    #[must_use]
    pub fn audio(self, bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.block(Block::audio(bytes, mime_type))
    }

    /// How freely the model chooses its words; what the number means is the model's own affair.
    #[must_use]
    pub const fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// The maximum number of tokens of the result.
    #[must_use]
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Adds a text at which the model stops.
    #[must_use]
    pub fn stop(mut self, sequence: impl Into<String>) -> Self {
        self.stop_sequences.push(sequence.into());
        self
    }

    /// Adds a model's name or a part of it, such as `claude`. Earlier hints count more.
    #[must_use]
    pub fn hint(mut self, name: impl Into<String>) -> Self {
        self.preferences().hints.push(Hint { name: name.into() });
        self
    }

    /// How much a clever model matters, from 0 to 1.
    #[must_use]
    pub fn intelligence(mut self, priority: f64) -> Self {
        self.preferences().intelligence_priority = Some(priority);
        self
    }

    /// How much a quick result matters, from 0 to 1.
    #[must_use]
    pub fn speed(mut self, priority: f64) -> Self {
        self.preferences().speed_priority = Some(priority);
        self
    }

    /// How much a cheap result matters, from 0 to 1.
    #[must_use]
    pub fn cost(mut self, priority: f64) -> Self {
        self.preferences().cost_priority = Some(priority);
        self
    }

    /// Passes further settings on to the model's provider.
    #[must_use]
    pub fn metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Adds a tool that the model may request. Not every client allows it.
    #[must_use]
    pub fn tool(mut self, tool: SamplingTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Says whether the model is to call tools.
    #[must_use]
    pub const fn tool_choice(mut self, mode: ToolChoice) -> Self {
        self.tool_choice = Some(Choice { mode });
        self
    }

    /// The parameters of `sampling/createMessage`.
    pub(crate) fn params(&self) -> Result<String, Error> {
        json::written(self)
            .map_err(|error| Error::Internal(format!("the request cannot be written as JSON: {error}")))
    }

    fn preferences(&mut self) -> &mut ModelPreferences {
        self.model_preferences.get_or_insert_default()
    }
}

impl From<&str> for CreateMessageRequest {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for CreateMessageRequest {
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}

impl From<Message> for CreateMessageRequest {
    fn from(message: Message) -> Self {
        Self::new().message(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(sample: &CreateMessageRequest) -> Value {
        serde_json::from_str(&sample.params().unwrap()).unwrap()
    }

    #[test]
    fn a_text_is_a_message_and_nothing_more() {
        let content = json!({"type": "text", "text": "Why?"});
        assert_eq!(
            params(&"Why?".into()),
            json!({"messages": [{"role": "user", "content": content}], "maxTokens": 1000})
        );
    }

    #[test]
    fn pieces_join_what_the_user_says_last() {
        let sample = CreateMessageRequest::new()
            .text("a")
            .image([0], "image/png")
            .message(Message::assistant("b"))
            .text("c");
        let written = params(&sample);
        assert_eq!(written["messages"].as_array().unwrap().len(), 3);
        assert_eq!(written["messages"][0]["content"][1]["mimeType"], "image/png");
        assert_eq!(written["messages"][2]["content"]["text"], "c");
    }

    #[test]
    fn everything_else_stands_under_the_name_that_mcp_gives_it() {
        let sample = CreateMessageRequest::new()
            .key("not a parameter")
            .system("s")
            .temperature(0.5)
            .max_tokens(7)
            .stop("END")
            .hint("claude")
            .hint("sonnet")
            .intelligence(0.9)
            .speed(0.2)
            .cost(0.1)
            .tool(SamplingTool::new("add", "Add.", json!({"type": "object"})))
            .tool_choice(ToolChoice::Required)
            .metadata(Map::from_iter([("user".to_owned(), json!(1))]));
        assert_eq!(
            params(&sample),
            json!({
                "messages": [],
                "modelPreferences": {
                    "hints": [{"name": "claude"}, {"name": "sonnet"}],
                    "costPriority": 0.1, "speedPriority": 0.2, "intelligencePriority": 0.9
                },
                "systemPrompt": "s", "temperature": 0.5, "maxTokens": 7, "stopSequences": ["END"],
                "metadata": {"user": 1},
                "tools": [{"name": "add", "description": "Add.", "inputSchema": {"type": "object"}}],
                "toolChoice": {"mode": "required"}
            })
        );
    }
}
