//! The interface `sampling`: asks the client's model.
//!
//! A [`CreateMessageRequest`] and a [`CreateMessageResult`] have the same [`Block`]s, so that a loop over the model's
//! tool calls can send the model's message back to it.

use serde::Deserialize;

use crate::bindings::sampling as wit;
use crate::call::CallBackend;
use crate::client_requests::{self, ClientRequest, KeyedCall};
use crate::{Call, Error, Role};

mod content;
mod request;

pub use content::{Block, Message, ToolUse};
pub use request::{CreateMessageRequest, SamplingTool, ToolChoice};

impl Call {
    /// Asks the client's model. A text is one message of the user; a [`CreateMessageRequest`] has all options.
    ///
    /// ```
    /// use plugport_sdk::prelude::*;
    ///
    /// # let call = plugport_sdk::testing::TestClient::new().samples("Paris").samples("Rome").call();
    /// let result = call.sample("What is the capital of France?")?;
    /// assert_eq!(result.text(), "Paris");
    ///
    /// let short = call.sample(CreateMessageRequest::new().system("One word.").text("And of Italy?").max_tokens(10))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `MissingCapability` when the client does not support sampling, `Denied` when the plugin has no grant,
    /// `OverBudget` when the budget is used up, `Rejected` when the client rejected the request.
    pub fn sample(&self, request: impl Into<CreateMessageRequest>) -> Result<CreateMessageResult, Error> {
        let request = request.into();
        send(self, request.key.as_deref(), &request)
    }
}

impl KeyedCall<'_> {
    /// As [`Call::sample`].
    ///
    /// # Errors
    /// Those of [`Call::sample`].
    pub fn sample(self, request: impl Into<CreateMessageRequest>) -> Result<CreateMessageResult, Error> {
        send(self.call, Some(self.key), &request.into())
    }
}

fn send(
    call: &Call,
    key: Option<&str>,
    request: &CreateMessageRequest,
) -> Result<CreateMessageResult, Error> {
    let params = request.params()?;
    let result = match call.backend().as_ref() {
        CallBackend::Host(handle) => wit::create_message(handle, key, &params),
        CallBackend::Test(client) => client.respond(key, &ClientRequest::CreateMessage(params)),
    }?;
    CreateMessageResult::parse(&result)
}

/// The model's message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// Usually the assistant.
    #[serde(deserialize_with = "content::role")]
    pub role: Role,
    /// In pieces: mostly one text.
    #[serde(deserialize_with = "content::one_or_many")]
    pub content: Vec<Block>,
    /// The model's name.
    pub model: String,
    /// Why the model stopped: `endTurn`, `maxTokens`, `stopSequence`, `toolUse`, or its provider's own word.
    pub stop_reason: Option<String>,
}

impl CreateMessageResult {
    pub(crate) fn parse(result: &str) -> Result<Self, Error> {
        client_requests::read(result)
    }

    /// The text of it, its pieces on lines of their own.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }

    /// The tool calls that the model requests; return their results with [`Block::tool_result`].
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }
}

/// The result as a message of a further [`CreateMessageRequest`].
impl From<CreateMessageResult> for Message {
    fn from(result: CreateMessageResult) -> Self {
        Self { role: result.role, content: result.content }
    }
}
