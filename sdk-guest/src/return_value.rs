//! Converts the return value of a function into a tool's result.
//!
//! `String` is text, but it is `Serialize` too, and so is nearly all else that a tool may return; a trait with one
//! implementation for each could not have one for all. So the choice is made where the type is known, in the macro's
//! output, by method resolution: `(&&kind).convert(value)` finds [`IsContent`] on `&&Kind<T>` first, then
//! [`WithSchema`] on `&Kind<T>`, then [`WithoutSchema`] on `Kind<T>`. Errors are split off before, in the same way: an
//! inherent method for `Result` hides [`Infallible`]'s of the same name.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;

use crate::tool_error::{Failure, ToolError};
use crate::{Content, Error, ToolResult, json, schema};

/// The type that a function returns.
pub struct Fallibility<R>(PhantomData<R>);

/// The type of a function's value: its return type, or the type in its `Ok`.
pub struct Kind<T>(PhantomData<T>);

impl<T> Clone for Kind<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Kind<T> {}

impl<R> Fallibility<R> {
    /// For the type.
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T, E> Fallibility<Result<T, E>> {
    /// The type in the `Ok`.
    pub fn kind(&self) -> Kind<T> {
        Kind(PhantomData)
    }

    /// The value, or the failure.
    ///
    /// # Errors
    /// The function's own.
    pub fn split(&self, returned: Result<T, E>) -> Result<T, Failure>
    where
        E: ToolError,
    {
        returned.map_err(Failure::new)
    }
}

/// The type of a value whose type has no name.
pub const fn fallibility<R>(_: &R) -> Fallibility<R> {
    Fallibility::new()
}

/// A return type that is not a `Result`.
pub trait Infallible<R> {
    /// The type itself.
    fn kind(&self) -> Kind<R> {
        Kind(PhantomData)
    }

    /// The value itself.
    ///
    /// # Errors
    /// Never.
    fn split(&self, returned: R) -> Result<R, Failure> {
        Ok(returned)
    }
}

impl<R> Infallible<R> for Fallibility<R> {}

/// Values that are content already.
pub trait IntoToolResult {
    /// The result that a client gets.
    fn into_tool_result(self) -> ToolResult;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> ToolResult {
        self
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> ToolResult {
        ToolResult { content: self, structured: None, is_error: false, extra: None }
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> ToolResult {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> ToolResult {
        Vec::new().into_tool_result()
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> ToolResult {
        Content::text(self).into_tool_result()
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> ToolResult {
        self.to_owned().into_tool_result()
    }
}

impl IntoToolResult for Cow<'_, str> {
    fn into_tool_result(self) -> ToolResult {
        self.into_owned().into_tool_result()
    }
}

/// Content, which has no schema.
pub trait IsContent<T> {
    /// The result that a client gets.
    ///
    /// # Errors
    /// Never.
    fn convert(self, value: T) -> Result<ToolResult, Error>;

    /// The schema of the structured content.
    fn output_schema(self) -> Option<String>;
}

impl<T: IntoToolResult> IsContent<T> for &&Kind<T> {
    fn convert(self, value: T) -> Result<ToolResult, Error> {
        Ok(value.into_tool_result())
    }

    fn output_schema(self) -> Option<String> {
        None
    }
}

/// Structured content with a schema.
pub trait WithSchema<T> {
    /// The result that a client gets.
    ///
    /// # Errors
    /// `internal` when the value cannot be JSON.
    fn convert(self, value: T) -> Result<ToolResult, Error>;

    /// The schema of the structured content.
    fn output_schema(self) -> Option<String>;
}

impl<T: Serialize + JsonSchema> WithSchema<T> for &Kind<T> {
    fn convert(self, value: T) -> Result<ToolResult, Error> {
        structured(&value)
    }

    fn output_schema(self) -> Option<String> {
        schema::output::<T>()
    }
}

/// Structured content without a schema.
///
/// The bound is on the methods and not on the implementation, so that the compiler's error names the missing trait.
pub trait WithoutSchema<T> {
    /// The result that a client gets.
    ///
    /// # Errors
    /// `internal` when the value cannot be JSON.
    fn convert(self, value: T) -> Result<ToolResult, Error>
    where
        T: Returnable;

    /// The schema of the structured content.
    fn output_schema(self) -> Option<String>;
}

impl<T> WithoutSchema<T> for Kind<T> {
    fn convert(self, value: T) -> Result<ToolResult, Error>
    where
        T: Returnable,
    {
        structured(&value)
    }

    fn output_schema(self) -> Option<String> {
        None
    }
}

/// What a tool can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a tool; return text, `Content`, or derive `serde::Serialize` for it",
    label = "this type cannot be written as JSON"
)]
pub trait Returnable: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Returnable for T {}

/// JSON, as structured content for programs and as text for clients that know no structured content.
fn structured(value: &impl Serialize) -> Result<ToolResult, Error> {
    let json = json::written(value)
        .map_err(|error| Error::Internal(format!("the tool's result cannot be written as JSON: {error}")))?;
    Ok(ToolResult {
        content: vec![Content::text(json.clone())],
        structured: Some(json),
        is_error: false,
        extra: None,
    })
}
