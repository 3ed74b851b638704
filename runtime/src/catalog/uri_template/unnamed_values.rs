//! `{x}`, `{+x}`, `{#x}`, `{.x}` and `{/x}`: values without their names.

use super::uri_chars::{UriText, decode};
use super::{CharClass, PositionSet, Variable, Variables};

/// One variable, or several of one expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// In order. The last one gets all remaining values.
    pub(super) variables: Vec<Variable>,
    /// The byte before the value.
    pub(super) prefix: Option<u8>,
    /// Whether the prefix and the value may be absent.
    pub(super) may_be_absent: bool,
    /// Whether the prefix may stand without a value.
    pub(super) may_be_empty: bool,
    /// The byte between values.
    pub(super) separator: u8,
    pub(super) class: CharClass,
}

impl Value {
    pub(super) fn starts(&self, uri: &UriText<'_>, next: &PositionSet) -> PositionSet {
        let mut inside = PositionSet::none(uri);
        let mut starts = PositionSet::none(uri);
        for at in (0..=uri.len()).rev() {
            let end = uri.after(at, self.class);
            let goes_on = end.is_some_and(|end| next.has(end) || inside.has(end));
            inside.set(at, goes_on);
            let is_start = match self.begins(uri, at) {
                Some(start) => inside.has(start) || (self.may_be_empty && next.has(start)),
                None => false,
            };
            starts.set(at, is_start || (self.may_be_absent && next.has(at)));
        }
        starts
    }

    pub(super) fn read(
        &self,
        uri: &UriText<'_>,
        at: usize,
        next: &PositionSet,
        variables: &mut Variables,
    ) -> Option<usize> {
        let longest = self.begins(uri, at).and_then(|start| {
            let empty = Some(start).filter(|start| self.may_be_empty && next.has(*start));
            let end = uri.ends(start, self.class).filter(|end| next.has(*end)).last();
            Some((start, end.or(empty)?))
        });
        match longest {
            Some((start, end)) => {
                self.assign(uri.between(start, end), variables);
                Some(end)
            }
            None => self.may_be_absent.then_some(at),
        }
    }

    /// The start of the value, after the prefix.
    fn begins(&self, uri: &UriText<'_>, at: usize) -> Option<usize> {
        match self.prefix {
            Some(prefix) => (uri.byte(at) == Some(prefix)).then_some(at + 1),
            None => Some(at),
        }
    }

    fn assign(&self, text: &str, variables: &mut Variables) {
        let separator = char::from(self.separator);
        let texts = text.splitn(self.variables.len(), separator);
        for (Variable { name, explode }, text) in self.variables.iter().zip(texts) {
            let values = text.splitn(if *explode { usize::MAX } else { 1 }, separator);
            variables.extend(values.map(|value| (name.clone(), decode(value))));
        }
    }
}
