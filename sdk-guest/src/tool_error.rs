//! The errors of functions.
//!
//! The crate's own [`Error`] comes from the host or has a code in MCP, and is returned unchanged. Any other error of a
//! tool becomes a result for the model to read; for prompts and resources, for which MCP has no such results, it
//! becomes an internal error.

use std::error::Error as StdError;

use crate::return_value::IntoToolResult;
use crate::{Error, ToolResult};

/// A type that can be the `Err` of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool, a resource, a prompt or a completion; use a type that implements `std::error::Error`, `anyhow::Error` or `String`",
    label = "this type does not convert into `Box<dyn Error + Send + Sync>`"
)]
pub trait ToolError {
    /// The error with its chain of causes.
    fn into_boxed(self) -> Box<dyn StdError + Send + Sync>;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn StdError + Send + Sync>>> ToolError for E {
    fn into_boxed(self) -> Box<dyn StdError + Send + Sync> {
        self.into()
    }
}

/// The `Err` of a function, whatever its type.
#[derive(Debug)]
pub struct Failure(Box<dyn StdError + Send + Sync>);

impl Failure {
    pub(crate) fn new(error: impl ToolError) -> Self {
        Self(error.into_boxed())
    }

    /// Converts the error into the result of a tool.
    ///
    /// # Errors
    /// The crate's own error.
    pub fn into_tool_result(self) -> Result<ToolResult, Error> {
        let error = self.0.downcast::<Error>().map_or_else(Ok, |error| Err(*error))?;
        // MCP has an error code for this, so that the client can offer the capability.
        if let Some(lacking @ Error::MissingCapability(_)) = own(error.as_ref()) {
            return Err(lacking.clone());
        }
        Ok(ToolResult { is_error: true, ..chain(error.as_ref()).into_tool_result() })
    }

    /// Converts the error into that of a prompt, a resource or a completion.
    pub fn into_error(self) -> Error {
        own(self.0.as_ref()).cloned().unwrap_or_else(|| Error::Internal(chain(self.0.as_ref())))
    }
}

/// The crate's own error, if it is among the causes.
fn own<'e>(error: &'e (dyn StdError + Send + Sync + 'static)) -> Option<&'e Error> {
    let mut next: Option<&'e (dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(own) = error.downcast_ref() {
            return Some(own);
        }
        next = error.source();
    }
    None
}

/// The message, and one line for each cause.
fn chain(error: &(dyn StdError + Send + Sync + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str("\ncaused by: ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
