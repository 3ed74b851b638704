//! `{;x,y}`, `{?x,y}` and `{&x,y}`: pairs of names and values, in any order, each name once.

use super::uri_text::{UriText, decode};
use super::{CharClass, Places, Variables};

/// The pairs of one expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pairs {
    /// What stands before the first pair.
    pub(super) first: u8,
    /// What stands before every other pair.
    pub(super) between: u8,
    pub(super) names: PairNames,
}

/// Names that a pair may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PairNames {
    /// An exploded variable makes pairs of whatever names, and a name may come again.
    Any,
    These(Vec<String>),
}

/// One pair of a URI.
struct Pair<'a> {
    name: &'a str,
    name_end: usize,
    /// Behind `=`.
    value_start: Option<usize>,
    end: usize,
}

const VALUE: CharClass = CharClass::PlainOr(b',');

impl Pairs {
    pub(super) fn starts(&self, uri: &UriText<'_>, next: &Places) -> Places {
        // Where a pair may begin, be it the first one or a later one.
        let mut inside = Places::none(uri);
        let mut starts = Places::none(uri);
        for at in (0..=uri.len()).rev() {
            let byte = uri.byte(at);
            if byte == Some(self.first) || byte == Some(self.between) {
                inside.set(at, self.reaches(uri, at, next, &inside));
            }
            starts.set(at, next.has(at) || (byte == Some(self.first) && inside.has(at)));
        }
        starts
    }

    pub(super) fn read(
        &self,
        uri: &UriText<'_>,
        at: usize,
        next: &Places,
        variables: &mut Variables,
    ) -> Option<usize> {
        let mut pairs = if uri.byte(at) == Some(self.first) { self.pairs(uri, at) } else { Vec::new() };
        while let Some(pair) = pairs.last() {
            if let Some(end) = pair.longest_end(uri, next) {
                let values = pairs.iter().map(|pair| {
                    let value = pair.value_start.map(|start| uri.between(start, pair.end.min(end)));
                    (decode(pair.name), value.map(decode).unwrap_or_default())
                });
                variables.extend(values);
                return Some(end);
            }
            pairs.pop();
        }
        next.has(at).then_some(at)
    }

    /// Whether pairs from there on end at one of `next`. For any names, what follows the pair is known already.
    fn reaches(&self, uri: &UriText<'_>, at: usize, next: &Places, known: &Places) -> bool {
        match self.names {
            PairNames::Any => Pair::read(uri, at).is_some_and(|pair| {
                let goes_on = uri.byte(pair.end) == Some(self.between) && known.has(pair.end);
                goes_on || pair.longest_end(uri, next).is_some()
            }),
            PairNames::These(_) => {
                self.pairs(uri, at).iter().any(|pair| pair.longest_end(uri, next).is_some())
            }
        }
    }

    /// The pairs that follow one another from there on.
    fn pairs<'a>(&self, uri: &UriText<'a>, at: usize) -> Vec<Pair<'a>> {
        let mut pairs: Vec<Pair<'a>> = Vec::new();
        let mut next = Pair::read(uri, at);
        while let Some(pair) = next.filter(|pair| self.allows(pair.name, &pairs)) {
            next = match uri.byte(pair.end) == Some(self.between) {
                true => Pair::read(uri, pair.end),
                false => None,
            };
            pairs.push(pair);
        }
        pairs
    }

    fn allows(&self, name: &str, before: &[Pair<'_>]) -> bool {
        match &self.names {
            PairNames::Any => true,
            PairNames::These(names) => {
                names.iter().any(|known| known == name) && before.iter().all(|pair| pair.name != name)
            }
        }
    }
}

impl<'a> Pair<'a> {
    /// The pair after the byte that opens it.
    fn read(uri: &UriText<'a>, at: usize) -> Option<Self> {
        let name_end = uri.ends(at + 1, CharClass::Plain).last()?;
        let value_start = (uri.byte(name_end) == Some(b'=')).then_some(name_end + 1);
        let end = value_start.map_or(name_end, |start| uri.ends(start, VALUE).last().unwrap_or(start));
        Some(Self { name: uri.between(at + 1, name_end), name_end, value_start, end })
    }

    /// The last place of `next` where the pair may end: behind its name, behind `=`, or in its value.
    fn longest_end(&self, uri: &UriText<'_>, next: &Places) -> Option<usize> {
        let values = self
            .value_start
            .into_iter()
            .flat_map(|start| std::iter::once(start).chain(uri.ends(start, VALUE)));
        std::iter::once(self.name_end).chain(values).filter(|end| next.has(*end)).last()
    }
}
