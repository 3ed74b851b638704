//! The interface `prompts`: what `#[prompt]` implements and `export!` lists.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::bindings::prompts as wit;
use crate::bindings::request;
use crate::export_entry::ExportEntry;
use crate::return_value::Kind;
use crate::{Call, Content, Error, Role, logging};

pub use crate::bindings::prompts::{
    Prompt as PromptDescription, PromptArgument, PromptMessage, PromptResult,
};

/// Names and values.
pub type Arguments = [(String, String)];

type Get = fn(&Call, &Arguments) -> Result<PromptResult, Error>;

/// A prompt. `#[prompt]` implements it for a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt; put `#[prompt]` above the function of that name",
    label = "not a prompt"
)]
pub trait Prompt {
    /// The name that the plugin gives it; the host may put a prefix before it.
    const NAME: &'static str;

    /// The names of its arguments.
    const ARGUMENTS: &'static [&'static str];

    /// Whether the prompt is listed now.
    fn is_listed() -> bool {
        true
    }

    /// The description of the prompt for clients.
    fn describe() -> PromptDescription;

    /// Its messages for these arguments.
    ///
    /// # Errors
    /// `invalid-params` when the arguments do not fit, and the function's own.
    fn get(call: &Call, arguments: &Arguments) -> Result<PromptResult, Error>;
}

/// One line of the list that `export!` makes.
pub type PromptEntry = ExportEntry<PromptFunctions>;

/// The functions of a prompt that the host calls.
#[derive(Debug, Clone, Copy)]
pub struct PromptFunctions {
    is_listed: fn() -> bool,
    describe: fn() -> PromptDescription,
    get: Get,
}

impl PromptEntry {
    /// The entry of a prompt, which the value names.
    pub const fn of<P: Prompt>(_: &P) -> Self {
        let functions = PromptFunctions { is_listed: P::is_listed, describe: P::describe, get: P::get };
        Self { name: P::NAME, functions }
    }
}

/// A plugin that has prompts. `export!` implements it.
pub trait Prompts {
    /// In the order in which clients see them.
    fn prompts() -> &'static [PromptEntry];
}

impl<P: Prompts> wit::Guest for P {
    fn list_prompts() -> Result<Vec<PromptDescription>, Error> {
        let listed = P::prompts().iter().filter(|prompt| (prompt.functions.is_listed)());
        Ok(listed.map(|prompt| (prompt.functions.describe)()).collect())
    }

    fn get_prompt(
        call: request::Call,
        name: String,
        args: Vec<(String, String)>,
    ) -> Result<PromptResult, Error> {
        dispatch(P::prompts(), &Call::new(call), &name, &args)
    }
}

fn dispatch(
    prompts: &[PromptEntry],
    call: &Call,
    name: &str,
    arguments: &Arguments,
) -> Result<PromptResult, Error> {
    match prompts.iter().find(|prompt| prompt.name == name && (prompt.functions.is_listed)()) {
        Some(prompt) => run(prompt.functions.get, call, arguments),
        None => Err(Error::NotFound(format!("there is no prompt `{name}`"))),
    }
}

/// Makes a prompt with the log bridges on.
pub(crate) fn run(get: Get, call: &Call, arguments: &Arguments) -> Result<PromptResult, Error> {
    let _attached = logging::attach(call);
    get(call, arguments)
}

impl PromptMessage {
    /// A message of the user: text, or any content.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

impl PromptResult {
    /// These messages.
    pub fn new(messages: impl Into<Vec<PromptMessage>>) -> Self {
        Self { description: None, messages: messages.into(), extra: None }
    }

    /// The text of the messages, each on lines of its own.
    pub fn text(&self) -> String {
        let texts = self.messages.iter().filter_map(|message| message.content.as_text());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Describes the prompt with these arguments.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds further MCP fields, such as `_meta`. A later call replaces an earlier one.
    #[must_use]
    pub fn extra(mut self, fields: Map<String, Value>) -> Self {
        self.extra = Some(Value::Object(fields).to_string());
        self
    }
}

/// What a prompt can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a prompt; return `String`, `Content`, `Vec<PromptMessage>` or `PromptResult`",
    label = "not a prompt's messages"
)]
pub trait IntoPrompt {
    /// The messages for a client.
    fn into_prompt(self) -> PromptResult;
}

impl IntoPrompt for PromptResult {
    fn into_prompt(self) -> PromptResult {
        self
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> PromptResult {
        PromptResult::new(self)
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> PromptResult {
        vec![self].into_prompt()
    }
}

impl IntoPrompt for Content {
    fn into_prompt(self) -> PromptResult {
        PromptMessage::user(self).into_prompt()
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> PromptResult {
        Content::text(self).into_prompt()
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> PromptResult {
        Content::text(self).into_prompt()
    }
}

impl IntoPrompt for Cow<'_, str> {
    fn into_prompt(self) -> PromptResult {
        Content::text(self).into_prompt()
    }
}

/// The bound is on the method and not on the implementation, so that the compiler's error names the missing trait.
impl<T> Kind<T> {
    /// The messages for a client.
    pub fn prompt(self, value: T) -> PromptResult
    where
        T: IntoPrompt,
    {
        value.into_prompt()
    }
}

/// The values of the attribute. Only for the macro.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct PromptOptions {
    pub name: &'static str,
    pub title: Option<&'static str>,
    pub description: &'static str,
    pub extra: Option<&'static str>,
}

impl PromptOptions {
    /// The description of a prompt with these arguments: each has a name, a description, and whether it is required.
    pub fn describe(self, arguments: &[(&str, Option<&str>, bool)]) -> PromptDescription {
        let argument = |&(name, description, required): &(&str, Option<&str>, bool)| PromptArgument {
            name: name.to_owned(),
            title: None,
            description: description.map(str::to_owned),
            required,
        };
        PromptDescription {
            name: self.name.to_owned(),
            title: self.title.map(str::to_owned),
            description: Some(self.description.to_owned()),
            arguments: arguments.iter().map(argument).collect(),
            extra: self.extra.map(str::to_owned),
        }
    }
}
