//! The interface `completions`: what `#[complete]` implements and `export!` lists.
//!
//! A completer names its prompt or template by the item's own type, so that the compiler checks that the argument
//! exists. An argument without a completer has no suggestions, which is no error.

use crate::bindings::completions as wit;
use crate::bindings::request;
use crate::export_entry::has;
use crate::{Call, Error, logging};

mod rank;

pub use crate::bindings::completions::Completion;
pub use rank::rank;

/// The maximum number of suggestions in MCP.
const MAX_VALUES: usize = 100;

/// The item that has the argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The prompt of this name.
    Prompt(&'static str),
    /// The resource template of this text.
    Template(&'static str),
}

/// Suggests values for an argument. `#[complete]` implements it for a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` completes nothing; put `#[complete(...)]` above the function of that name",
    label = "not a completer"
)]
pub trait Completer {
    /// The item that has the argument.
    const TARGET: Target;

    /// The argument's name.
    const ARGUMENT: &'static str;

    /// Suggests completions of `value`, the text typed so far.
    ///
    /// # Errors
    /// The function's own.
    fn complete(call: &Call, value: &str, context: &CompletionContext) -> Result<Completion, Error>;
}

/// The other arguments, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionContext(Vec<(String, String)>);

impl CompletionContext {
    pub(crate) const fn new(values: Vec<(String, String)>) -> Self {
        Self(values)
    }

    /// The value of an argument.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// One line of the list that `export!` makes.
#[derive(Debug, Clone, Copy)]
pub struct CompleterEntry {
    target: Target,
    argument: &'static str,
    complete: fn(&Call, &str, &CompletionContext) -> Result<Completion, Error>,
}

impl CompleterEntry {
    /// The entry of a completer, which the value names.
    pub const fn of<C: Completer>(_: &C) -> Self {
        Self { target: C::TARGET, argument: C::ARGUMENT, complete: C::complete }
    }
}

/// Whether no argument is completed twice. Only for the macro.
#[doc(hidden)]
pub const fn arguments_differ(completers: &[CompleterEntry]) -> bool {
    let mut rest = completers;
    while let [first, others @ ..] = rest {
        let mut compared = others;
        while let [other, more @ ..] = compared {
            if same(first, other) {
                return false;
            }
            compared = more;
        }
        rest = others;
    }
    true
}

const fn same(a: &CompleterEntry, b: &CompleterEntry) -> bool {
    let targets = match (a.target, b.target) {
        (Target::Prompt(a), Target::Prompt(b)) | (Target::Template(a), Target::Template(b)) => has(&[a], b),
        _ => false,
    };
    targets && has(&[a.argument], b.argument)
}

/// A plugin that completes. `export!` implements it.
pub trait Completers {
    /// In any order.
    fn completers() -> &'static [CompleterEntry];
}

impl<P: Completers> wit::Guest for P {
    fn complete(
        call: request::Call,
        target: wit::Target,
        argument: String,
        value: String,
        context: Vec<(String, String)>,
    ) -> Result<Completion, Error> {
        dispatch(
            P::completers(),
            &Call::new(call),
            &target,
            &argument,
            &value,
            &CompletionContext::new(context),
        )
    }
}

fn dispatch(
    completers: &[CompleterEntry],
    call: &Call,
    target: &wit::Target,
    argument: &str,
    value: &str,
    context: &CompletionContext,
) -> Result<Completion, Error> {
    let same = |own: Target| match (own, target) {
        (Target::Prompt(own), wit::Target::Prompt(requested)) => own == requested,
        (Target::Template(own), wit::Target::ResourceUri(requested)) => own == requested,
        _ => false,
    };
    match completers.iter().find(|it| same(it.target) && it.argument == argument) {
        Some(completer) => run(completer.complete, call, value, context),
        None => Ok(finish(Vec::<String>::new())),
    }
}

/// Completes with the log bridges on.
pub(crate) fn run(
    complete: fn(&Call, &str, &CompletionContext) -> Result<Completion, Error>,
    call: &Call,
    value: &str,
    context: &CompletionContext,
) -> Result<Completion, Error> {
    let _attached = logging::attach(call);
    complete(call, value, context)
}

/// What a completer can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of suggestions; return `Vec<String>`, `Completion`, or any iterator over texts",
    label = "no list of texts"
)]
pub trait IntoCompletion {
    /// The suggestions, no more than MCP allows.
    fn into_completion(self) -> Completion;
}

impl IntoCompletion for Completion {
    fn into_completion(mut self) -> Completion {
        self.has_more |= self.values.len() > MAX_VALUES;
        self.values.truncate(MAX_VALUES);
        self
    }
}

#[diagnostic::do_not_recommend]
impl<I: IntoIterator<Item: Into<String>>> IntoCompletion for I {
    fn into_completion(self) -> Completion {
        finish(self)
    }
}

/// The first suggestions, and whether there are more.
fn finish(values: impl IntoIterator<Item: Into<String>>) -> Completion {
    let mut values = values.into_iter();
    let first = values.by_ref().take(MAX_VALUES).map(Into::into).collect();
    Completion { values: first, total: None, has_more: values.next().is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_sent_than_is_allowed() {
        let many = (0..101).map(|n: u8| n.to_string()).into_completion();
        assert_eq!((many.values.len(), many.has_more), (100, true));
        let all = vec!["a"; 100].into_completion();
        assert_eq!((all.values.len(), all.has_more), (100, false));
        let own = Completion { values: vec![String::new(); 200], total: Some(500), has_more: false };
        let cut = own.into_completion();
        assert_eq!((cut.values.len(), cut.total, cut.has_more), (100, Some(500), true));
    }

    #[test]
    fn what_nobody_completes_has_no_suggestions() {
        let target = wit::Target::Prompt("p".to_owned());
        let call = crate::testing::call();
        let empty = dispatch(&[], &call, &target, "a", "", &CompletionContext::default()).unwrap();
        assert_eq!((empty.values.len(), empty.has_more), (0, false));
    }
}
