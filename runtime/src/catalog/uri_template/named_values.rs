//! `{;x,y}`, `{?x,y}` and `{&x,y}`: pairs of names and values, in any order, each name once.

use super::uri_chars::{UriText, decode};
use super::{CharClass, PositionSet, Variables};

/// The pairs of one expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pairs {
    /// The byte before the first pair.
    pub(super) first: u8,
    /// The byte before every other pair.
    pub(super) between: u8,
    pub(super) names: PairNames,
}

/// Names that a pair may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PairNames {
    /// An exploded variable has pairs of any names, and a name may be repeated.
    Any,
    /// At most as many as there are bits in a [`NameSet`].
    These(Vec<String>),
}

/// One bit for each name that a pair may have.
type NameSet = u32;

/// One pair of a URI.
#[derive(Clone, Copy)]
struct Pair<'a> {
    name: &'a str,
    /// The bit of its name; 0 where every name may be repeated.
    bit: NameSet,
    /// Behind `=`.
    value_start: Option<usize>,
    end: usize,
    /// The last position of `next` where the pair may end: behind its name, behind `=`, or in its value.
    last_end: Option<usize>,
}

/// The pairs of a URI by the position of the byte that opens them.
struct PairTable<'a> {
    between: u8,
    pairs: Vec<Option<Pair<'a>>>,
}

/// For each position, the longest run of characters of one class that begins there.
struct Runs(Vec<Run>);

#[derive(Clone, Copy)]
struct Run {
    end: usize,
    /// The last position of `next` in it, its end included and its start not.
    last_end: Option<usize>,
}

impl Pairs {
    pub(super) fn starts(&self, uri: &UriText<'_>, next: &PositionSet) -> PositionSet {
        let table = self.table(uri, next);
        // Positions at which a pair may begin, the first or a later one.
        let mut inside = PositionSet::none(uri);
        let mut starts = PositionSet::none(uri);
        for at in (0..=uri.len()).rev() {
            inside.set(at, self.reaches(uri, at, &table, &inside));
            starts.set(at, next.has(at) || (uri.byte(at) == Some(self.first) && inside.has(at)));
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
        let table = self.table(uri, next);
        let is_begun = uri.byte(at) == Some(self.first);
        let mut pairs: Vec<Pair<'_>> = table.chain(uri, at).take_while(|_| is_begun).collect();
        while let Some(pair) = pairs.last() {
            if let Some(end) = pair.last_end {
                variables.extend(pairs.iter().map(|pair| self.variable(uri, pair, end)));
                return Some(end);
            }
            pairs.pop();
        }
        next.has(at).then_some(at)
    }

    /// The name and the value of a pair that ends at `end` at the latest.
    fn variable(&self, uri: &UriText<'_>, pair: &Pair<'_>, end: usize) -> (String, String) {
        let name = match self.names {
            PairNames::Any => decode(pair.name),
            PairNames::These(_) => pair.name.to_owned(),
        };
        let value = pair.value_start.map(|start| uri.between(start, pair.end.min(end)));
        (name, value.map(decode).unwrap_or_default())
    }

    /// Whether pairs from `at` on can end at one of `next`. For any names, `known` has the later positions already.
    fn reaches(&self, uri: &UriText<'_>, at: usize, table: &PairTable<'_>, known: &PositionSet) -> bool {
        match self.names {
            PairNames::Any => table.pair(at).is_some_and(|pair| {
                pair.last_end.is_some() || (uri.byte(pair.end) == Some(self.between) && known.has(pair.end))
            }),
            PairNames::These(_) => table.chain(uri, at).any(|pair| pair.last_end.is_some()),
        }
    }

    fn table<'a>(&self, uri: &UriText<'a>, next: &PositionSet) -> PairTable<'a> {
        let class = if self.between == b';' { CharClass::PathPair } else { CharClass::QueryPair };
        let (names, values) = (Runs::of(uri, CharClass::Plain, next), Runs::of(uri, class, next));
        let opens = |at: usize| uri.byte(at).is_some_and(|byte| byte == self.first || byte == self.between);
        let pair = |at: usize| {
            let name_end = Some(names.at(at + 1).end).filter(|_| opens(at))?;
            let name = Some(uri.between(at + 1, name_end)).filter(|name| !name.is_empty())?;
            let value_start = (uri.byte(name_end) == Some(b'=')).then_some(name_end + 1);
            let behind_name = next.has(name_end).then_some(name_end);
            let (end, last_end) = match value_start {
                None => (name_end, behind_name),
                Some(start) => {
                    let value = values.at(start);
                    (value.end, value.last_end.or(next.has(start).then_some(start)).or(behind_name))
                }
            };
            Some(Pair { name, bit: self.bit(name)?, value_start, end, last_end })
        };
        PairTable { between: self.between, pairs: (0..=uri.len()).map(pair).collect() }
    }

    fn bit(&self, name: &str) -> Option<NameSet> {
        match &self.names {
            PairNames::Any => Some(0),
            PairNames::These(names) => {
                let at = names.iter().position(|known| known == name)?;
                NameSet::try_from(at).ok().and_then(|at| 1_u32.checked_shl(at))
            }
        }
    }
}

impl<'a> PairTable<'a> {
    fn pair(&self, at: usize) -> Option<Pair<'a>> {
        self.pairs.get(at).copied().flatten()
    }

    /// The consecutive pairs from `at` on, until a name is repeated.
    fn chain(&self, uri: &UriText<'a>, at: usize) -> impl Iterator<Item = Pair<'a>> {
        let mut seen: NameSet = 0;
        let mut next = self.pair(at);
        std::iter::from_fn(move || {
            let pair = next.filter(|pair| seen & pair.bit == 0)?;
            seen |= pair.bit;
            next = (uri.byte(pair.end) == Some(self.between)).then(|| self.pair(pair.end)).flatten();
            Some(pair)
        })
    }
}

impl Runs {
    fn of(uri: &UriText<'_>, class: CharClass, next: &PositionSet) -> Self {
        let mut runs = vec![Run { end: 0, last_end: None }; uri.len() + 1];
        for at in (0..=uri.len()).rev() {
            let run = match uri.after(at, class).and_then(|after| Some((after, *runs.get(after)?))) {
                Some((after, following)) => Run {
                    end: following.end,
                    last_end: following.last_end.or(next.has(after).then_some(after)),
                },
                None => Run { end: at, last_end: None },
            };
            if let Some(slot) = runs.get_mut(at) {
                *slot = run;
            }
        }
        Self(runs)
    }

    fn at(&self, at: usize) -> Run {
        self.0.get(at).copied().unwrap_or(Run { end: at, last_end: None })
    }
}
