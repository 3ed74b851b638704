//! The interface `tools`: what `#[tool]` implements and `export!` lists.
//!
//! A tool is a type and not a value, so that describing or calling it needs no registry: each call has a fresh
//! instance, which would have to build the registry again. `export!` lists the tools in a constant.

use crate::bindings::request;
use crate::bindings::tools as wit;
use crate::export_entry::ExportEntry;
use crate::{Call, Error, logging};

pub use crate::bindings::tools::{Tool as ToolDescription, ToolAnnotations, ToolResult};

/// A tool. `#[tool]` implements it for a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool; put `#[tool]` above the function of that name",
    label = "not a tool"
)]
pub trait Tool {
    /// The name that the plugin gives it; the host may put a prefix before it.
    const NAME: &'static str;

    /// Whether the tool is listed now.
    fn is_listed() -> bool {
        true
    }

    /// The description of the tool for clients.
    ///
    /// # Errors
    /// `internal` when the schema cannot be a tool's.
    fn describe() -> Result<ToolDescription, Error>;

    /// Runs it. `arguments` is a JSON object.
    ///
    /// # Errors
    /// `invalid-params` when the arguments do not fit. A failure of the tool itself is a result, not an error.
    fn call(call: &Call, arguments: &str) -> Result<ToolResult, Error>;
}

/// One line of the list that `export!` makes.
pub type ToolEntry = ExportEntry<ToolFunctions>;

/// The functions of a tool that the host calls.
#[derive(Debug, Clone, Copy)]
pub struct ToolFunctions {
    is_listed: fn() -> bool,
    describe: fn() -> Result<ToolDescription, Error>,
    call: fn(&Call, &str) -> Result<ToolResult, Error>,
}

impl ToolEntry {
    /// The entry of a tool, which the value names.
    pub const fn of<T: Tool>(_: &T) -> Self {
        let functions = ToolFunctions { is_listed: T::is_listed, describe: T::describe, call: T::call };
        Self { name: T::NAME, functions }
    }
}

/// A plugin that has tools. `export!` implements it.
pub trait Tools {
    /// In the order in which clients see them.
    fn tools() -> &'static [ToolEntry];
}

impl<P: Tools> wit::Guest for P {
    fn list_tools() -> Result<Vec<ToolDescription>, Error> {
        let listed = P::tools().iter().filter(|tool| (tool.functions.is_listed)());
        listed.map(|tool| (tool.functions.describe)()).collect()
    }

    fn call_tool(call: request::Call, name: String, args: String) -> Result<ToolResult, Error> {
        dispatch(P::tools(), &Call::new(call), &name, &args)
    }
}

/// Runs the tool of this name.
fn dispatch(tools: &[ToolEntry], call: &Call, name: &str, arguments: &str) -> Result<ToolResult, Error> {
    match tools.iter().find(|tool| tool.name == name && (tool.functions.is_listed)()) {
        Some(tool) => run(tool.functions.call, call, arguments),
        None => Err(Error::NotFound(format!("there is no tool `{name}`"))),
    }
}

/// Runs a tool with the log bridges on.
pub(crate) fn run(
    tool: fn(&Call, &str) -> Result<ToolResult, Error>,
    call: &Call,
    arguments: &str,
) -> Result<ToolResult, Error> {
    let _attached = logging::attach(call);
    tool(call, arguments)
}

/// A text that the author wrote. Only for the macro.
#[doc(hidden)]
pub const fn verbatim(text: &str) -> &str {
    text
}

/// The values of the attribute's keys. Only for the macro.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ToolOptions {
    pub title: Option<&'static str>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
    pub extra: Option<&'static str>,
}

impl ToolOptions {
    fn annotations(self) -> Option<ToolAnnotations> {
        let Self { read_only, destructive, idempotent, open_world, .. } = self;
        let any = [read_only, destructive, idempotent, open_world].iter().any(Option::is_some);
        any.then_some(ToolAnnotations { read_only, destructive, idempotent, open_world })
    }
}

/// Puts a description together. Only for the macro.
#[doc(hidden)]
pub fn describe(
    name: &str,
    description: &str,
    hints: ToolOptions,
    input_schema: String,
    output_schema: Option<String>,
) -> ToolDescription {
    ToolDescription {
        name: name.to_owned(),
        title: hints.title.map(str::to_owned),
        description: Some(description.to_owned()),
        input_schema,
        output_schema,
        annotations: hints.annotations(),
        extra: hints.extra.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::testing;

    /// Say one.
    #[tool]
    fn one() -> &'static str {
        "1"
    }

    /// Say two.
    #[tool(name = "zwei")]
    fn two() -> &'static str {
        "2"
    }

    struct Plugin;

    impl Tools for Plugin {
        fn tools() -> &'static [ToolEntry] {
            const { &[ToolEntry::of(&one {}), ToolEntry::of(&two {})] }
        }
    }

    #[test]
    fn tools_are_listed_in_order() {
        let names: Vec<_> =
            <Plugin as wit::Guest>::list_tools().unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["one", "zwei"]);
    }

    #[test]
    fn a_tool_is_found_by_its_public_name() {
        let call = testing::call();
        let result = dispatch(Plugin::tools(), &call, "zwei", "{}").unwrap();
        assert_eq!(result.content, [Content::text("2")]);
        assert_eq!(
            dispatch(Plugin::tools(), &call, "two", "{}"),
            Err(Error::NotFound("there is no tool `two`".to_owned()))
        );
    }

    /// Say three, when asked to.
    #[tool(when = open)]
    fn three() -> &'static str {
        "3"
    }

    thread_local! {
        static OPEN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    fn open() -> bool {
        OPEN.get()
    }

    struct Changing;

    impl Tools for Changing {
        fn tools() -> &'static [ToolEntry] {
            const { &[ToolEntry::of(&three {})] }
        }
    }

    #[test]
    fn a_tool_comes_and_goes() {
        let listed = || <Changing as wit::Guest>::list_tools().unwrap().len();
        let called = || dispatch(Changing::tools(), &testing::call(), "three", "{}").is_ok();
        assert_eq!((listed(), called()), (0, false));
        OPEN.set(true);
        assert_eq!((listed(), called()), (1, true));
    }
}
