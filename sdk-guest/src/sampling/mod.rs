//! The interface `sampling`: asks the client's model.
//!
//! A [`Sample`] is the request, a [`Sampled`] the answer. Both are made of the same [`Block`]s, so that what the model
//! said can be put before it again, as a loop over its tool calls has to.

use serde::Deserialize;

use crate::ask::{self, Asked, Keyed, Question};
use crate::bindings::sampling as wit;
use crate::{Call, Error, Role};

mod block;
mod request;

pub use block::{Block, Message, ToolUse};
pub use request::{Sample, SampleTool, ToolChoice};

impl Call {
    /// Asks the client's model. A text is a question from the user; everything else is said by a [`Sample`].
    ///
    /// ```
    /// use plugport_sdk::prelude::*;
    ///
    /// # let call = plugport_sdk::testing::Recorder::new().samples("Paris").samples("Rome").call();
    /// let answer = call.sample("What is the capital of France?")?;
    /// assert_eq!(answer.text(), "Paris");
    ///
    /// let short = call.sample(Sample::new().system("One word.").text("And of Italy?").max_tokens(10))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `MissingCapability` when the client has no model to ask, `Denied` when the plugin may not ask, `OverBudget` when
    /// it asked too much, `Rejected` when a person said no.
    pub fn sample(&self, sample: impl Into<Sample>) -> Result<Sampled, Error> {
        let sample = sample.into();
        ask(self, sample.key.as_deref(), &sample)
    }
}

impl Keyed<'_> {
    /// As [`Call::sample`].
    ///
    /// # Errors
    /// Those of [`Call::sample`].
    pub fn sample(self, sample: impl Into<Sample>) -> Result<Sampled, Error> {
        ask(self.call, Some(self.key), &sample.into())
    }
}

fn ask(call: &Call, key: Option<&str>, sample: &Sample) -> Result<Sampled, Error> {
    let params = sample.params()?;
    let answer = match call.asked() {
        Asked::Host(handle) => wit::create_message(handle, key, &params),
        Asked::Script(script) => script.answer(key, &Question::CreateMessage(params)),
    }?;
    Sampled::parse(&answer)
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sampled {
    /// Usually the assistant.
    #[serde(deserialize_with = "block::role")]
    pub role: Role,
    /// In pieces: mostly one text.
    #[serde(deserialize_with = "block::one_or_many")]
    pub content: Vec<Block>,
    /// The model's name.
    pub model: String,
    /// Why it stopped: `endTurn`, `maxTokens`, `stopSequence`, `toolUse`, or what its provider calls it.
    pub stop_reason: Option<String>,
}

impl Sampled {
    pub(crate) fn parse(answer: &str) -> Result<Self, Error> {
        ask::read(answer)
    }

    /// The text of it, its pieces on lines of their own.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }

    /// The tools that the model wants to have called, with [`Block::tool_result`] as the answer.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }
}

/// The answer as a message, for a next [`Sample`].
impl From<Sampled> for Message {
    fn from(sampled: Sampled) -> Self {
        Self { role: sampled.role, content: sampled.content }
    }
}
