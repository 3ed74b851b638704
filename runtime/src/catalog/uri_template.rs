//! URI templates (RFC 6570), read backwards: does a URI come from a template, and with which values of its variables?
//!
//! A template becomes a row of tokens. Matching goes over the tokens twice. From the last token to the first it
//! computes the places of the URI from which the rest of the row makes the rest of the URI; from the first to the last
//! it then gives each token as much as it can have. Nothing is tried twice, so the time is bounded by the length of the
//! URI times the length of the template, which has few variables and fewer expressions of pairs.
//!
//! A value consists of whole characters: `%41` and the bytes of one character are never divided, and what cannot be
//! decoded to UTF-8 without NUL is in no value. `{x}` has at least one character; `{#x}`, `{x*}` and pairs may have
//! empty values. `{/x}`, `{#x}`, `{;x}`, `{?x}` and `{&x}` may be left out together with what stands before them.
//! Prefix lengths (`{x:3}`) are not checked.

mod pairs;
mod parse;
mod uri_text;
mod value;

use self::pairs::Pairs;
use self::uri_text::UriText;
use self::value::Value;

pub(super) use self::parse::UriTemplateError;

/// Most variables in one template, and so most expressions.
const VARIABLES: usize = 32;

/// Most expressions of pairs (`{;x}`, `{?x}`, `{&x}`) in one template: each looks at every pair of a URI.
const PAIR_EXPRESSIONS: usize = 4;

/// Longest name of a variable, bytes: each value that a URI gives it is handed over with its name.
const NAME: usize = 64;

/// Most values that one URI gives the variables of a template. Lists can have as many values as a URI has commas.
const VALUES: usize = 256;

/// Names and decoded values, in the order of the URI.
pub(super) type Variables = Vec<(String, String)>;

/// A template that can be compared with URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UriTemplate {
    tokens: Vec<Token>,
    /// Longer URIs never match, bytes.
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
    /// What is left of a value when everything else is percent-encoded, and what clients often leave as it is.
    Plain,
    /// One segment of a path.
    Segment,
    /// Plain ones, and what separates several values.
    PlainOr(u8),
    /// The value of a pair in a path: `;x=...`.
    PathPair,
    /// The value of a pair in a query: `?x=...&y=...`.
    QueryPair,
    /// Whatever a URI can have.
    Any,
}

/// One flag for each place of a URI, its end included.
#[derive(Debug, Clone)]
struct Places(Vec<bool>);

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

impl Places {
    fn none(uri: &UriText<'_>) -> Self {
        Self(vec![false; uri.len() + 1])
    }

    fn only_the_end(uri: &UriText<'_>) -> Self {
        let mut places = Self::none(uri);
        places.set(uri.len(), true);
        places
    }

    fn has(&self, at: usize) -> bool {
        self.0.get(at) == Some(&true)
    }

    fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }

    fn set(&mut self, at: usize, is_in: bool) {
        if let Some(place) = self.0.get_mut(at) {
            *place = is_in;
        }
    }
}

impl UriTemplate {
    /// Reads a template.
    pub(super) fn parse(text: &str, longest: usize) -> Result<Self, UriTemplateError> {
        Ok(Self { tokens: parse::tokens(text)?, longest })
    }

    /// The variables of a URI, if it comes from this template.
    pub(super) fn match_uri(&self, uri: &str) -> Option<Variables> {
        let begins = matches!(self.tokens.first(), Some(Token::Literal(literal)) if uri.as_bytes().starts_with(literal));
        if uri.len() > self.longest || !begins {
            return None;
        }
        let uri = UriText::new(uri);
        // Where the row may go on after the last tokens: after all, after all but the last, and so on.
        let mut starts = vec![Places::only_the_end(&uri)];
        for token in self.tokens.iter().rev() {
            let places = token.starts(&uri, starts.last()?);
            if places.is_empty() {
                return None;
            }
            starts.push(places);
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
    /// The places from which this token gets to one of `next`.
    fn starts(&self, uri: &UriText<'_>, next: &Places) -> Places {
        match self {
            Self::Literal(literal) => {
                let mut places = Places::none(uri);
                for at in 0..=uri.len() {
                    let end = at + literal.len();
                    places.set(at, next.has(end) && uri.rest(at).starts_with(literal));
                }
                places
            }
            Self::Value(value) => value.starts(uri, next),
            Self::Pairs(pairs) => pairs.starts(uri, next),
        }
    }

    /// Reads the token from a place that is one of its starts, as much as it can have; the place of `next` after it.
    fn read(&self, uri: &UriText<'_>, at: usize, next: &Places, variables: &mut Variables) -> Option<usize> {
        match self {
            Self::Literal(literal) => Some(at + literal.len()),
            Self::Value(value) => value.read(uri, at, next, variables),
            Self::Pairs(pairs) => pairs.read(uri, at, next, variables),
        }
    }
}

#[cfg(test)]
mod tests;
