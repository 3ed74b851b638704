//! URI templates (RFC 6570), matched in reverse: whether a template expands to a URI, and with which values of its
//! variables.
//!
//! A template becomes a sequence of tokens. Matching passes over the tokens twice. From the last token to the first it
//! computes the positions of the URI from which the remaining tokens match the remaining text; from the first to the
//! last it then gives each token the longest text that it can have. Nothing is tried twice, so the time is bounded by
//! the length of the URI times the length of the template, which has few variables and fewer expressions of pairs.
//!
//! A value consists of whole characters: `%41` and the bytes of one character are never divided, and bytes that do not
//! decode to UTF-8 without NUL are in no value. `{x}` has at least one character; `{#x}`, `{x*}` and pairs may have
//! empty values. `{/x}`, `{#x}`, `{;x}`, `{?x}` and `{&x}` may be absent together with their prefix. Prefix lengths
//! (`{x:3}`) are not checked.

mod named_values;
mod parse;
mod unnamed_values;
mod uri_chars;

use self::named_values::Pairs;
use self::unnamed_values::Value;
use self::uri_chars::UriText;

pub(super) use self::parse::UriTemplateError;

/// Most variables in one template, and so most expressions.
const VARIABLES: usize = 32;

/// Most expressions of pairs (`{;x}`, `{?x}`, `{&x}`) in one template: each reads every pair of a URI.
const PAIR_EXPRESSIONS: usize = 4;

/// Longest name of a variable, bytes: the guest gets the name with each value.
const NAME: usize = 64;

/// Most values that one URI gives the variables of a template. Lists can have as many values as a URI has commas.
const VALUES: usize = 256;

/// Names and decoded values, in the order of the URI.
pub(super) type Variables = Vec<(String, String)>;

/// A template that can be compared with URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UriTemplate {
    tokens: Vec<Token>,
    /// Longest URI that can match, bytes.
    longest: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// These bytes.
    Literal(Vec<u8>),
    /// Variables whose names the URI does not have.
    Value(Value),
    /// Pairs of names and values, or nothing.
    Pairs(Pairs),
}

/// A variable of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    /// `{x*}`: each value of a list by itself.
    explode: bool,
}

/// Characters that a value can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    /// Characters that are never percent-encoded, and those that clients often do not encode.
    Plain,
    /// One segment of a path.
    Segment,
    /// Plain ones, and a separator of values.
    PlainOr(u8),
    /// The value of a pair in a path: `;x=...`.
    PathPair,
    /// The value of a pair in a query: `?x=...&y=...`.
    QueryPair,
    /// Every character of a URI.
    Any,
}

/// A set of positions in a URI: one flag for each position, the end included.
#[derive(Debug, Clone)]
struct PositionSet(Vec<bool>);

impl CharClass {
    fn has(self, byte: u8) -> bool {
        let plain = byte.is_ascii_alphanumeric() || b"-._~%!'()*:@".contains(&byte) || !byte.is_ascii();
        match self {
            Self::Plain => plain,
            Self::Segment => !b"/?#".contains(&byte),
            Self::PlainOr(other) => plain || byte == other,
            Self::PathPair => !b";/?#".contains(&byte),
            Self::QueryPair => !b"&#".contains(&byte),
            Self::Any => true,
        }
    }
}

impl PositionSet {
    fn none(uri: &UriText<'_>) -> Self {
        Self(vec![false; uri.len() + 1])
    }

    fn only_the_end(uri: &UriText<'_>) -> Self {
        let mut positions = Self::none(uri);
        positions.set(uri.len(), true);
        positions
    }

    fn has(&self, at: usize) -> bool {
        self.0.get(at) == Some(&true)
    }

    fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }

    fn set(&mut self, at: usize, is_in: bool) {
        if let Some(flag) = self.0.get_mut(at) {
            *flag = is_in;
        }
    }
}

impl UriTemplate {
    /// Reads a template.
    pub(super) fn parse(text: &str, longest: usize) -> Result<Self, UriTemplateError> {
        Ok(Self { tokens: parse::tokens(text)?, longest })
    }

    /// The variables of a URI, if this template expands to it.
    pub(super) fn match_uri(&self, uri: &str) -> Option<Variables> {
        let begins = matches!(self.tokens.first(), Some(Token::Literal(literal)) if uri.as_bytes().starts_with(literal));
        if uri.len() > self.longest || !begins {
            return None;
        }
        let uri = UriText::new(uri);
        // The starts of the remaining tokens: of none, of the last, of the last two, and so on.
        let mut starts = vec![PositionSet::only_the_end(&uri)];
        for token in self.tokens.iter().rev() {
            let positions = token.starts(&uri, starts.last()?);
            if positions.is_empty() {
                return None;
            }
            starts.push(positions);
        }
        if !starts.pop()?.has(0) {
            return None;
        }
        let mut variables = Variables::new();
        let mut at = 0;
        for token in &self.tokens {
            at = token.read(&uri, at, &starts.pop()?, &mut variables)?;
        }
        (variables.len() <= VALUES).then_some(variables)
    }
}

impl Token {
    /// The positions at which this token can start, if it ends at one of `next`.
    fn starts(&self, uri: &UriText<'_>, next: &PositionSet) -> PositionSet {
        match self {
            Self::Literal(literal) => {
                let mut positions = PositionSet::none(uri);
                for at in 0..=uri.len() {
                    let end = at + literal.len();
                    positions.set(at, next.has(end) && uri.rest(at).starts_with(literal));
                }
                positions
            }
            Self::Value(value) => value.starts(uri, next),
            Self::Pairs(pairs) => pairs.starts(uri, next),
        }
    }

    /// Reads the longest text of the token from one of its starts; gives the position of `next` behind it.
    fn read(
        &self,
        uri: &UriText<'_>,
        at: usize,
        next: &PositionSet,
        variables: &mut Variables,
    ) -> Option<usize> {
        match self {
            Self::Literal(literal) => Some(at + literal.len()),
            Self::Value(value) => value.read(uri, at, next, variables),
            Self::Pairs(pairs) => pairs.read(uri, at, next, variables),
        }
    }
}

#[cfg(test)]
mod tests;
