//! Checks whether the arguments of a call satisfy conditions of roles.
//!
//! The JSON text of the arguments is parsed once for all conditions, and no tree is built: arguments may be megabytes
//! long, and a tree of them thirty times as large. The plugin must read the same values that were checked here, but its
//! parser may differ from ours. So an argument is rejected where two parsers could disagree:
//!
//! | In the arguments | Parsers that differ |
//! |---|---|
//! | a name twice | some read the first, some the last |
//! | another name that differs in upper and lower case only (`PATH` beside or instead of `path`) | Go reads it too |
//!
//! | The value | Holds if |
//! |---|---|
//! | a text | a pattern matches it ([`PathGlob`](crate::config::PathGlob)) |
//! | `true`, `false`, a whole number | it is one of the values |
//! | an array | it is not empty, and each element is a text, a boolean or a number that holds |
//! | absent, null, `""`, `[]` | the empty text is one of the values |
//! | an object, another number, an array in an array | never |

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::config::{AllowedValue, ArgumentCondition};

/// The arguments of a call as the client wrote them: the text of a JSON object.
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a>(&'a str);

impl<'a> Arguments<'a> {
    /// The arguments with this text.
    #[must_use]
    pub fn new(json: &'a str) -> Self {
        Self(json)
    }
}

/// Why a condition does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentFault {
    /// The value is not one of the allowed values.
    Value,
    /// The argument is absent.
    Missing,
    /// The argument occurs twice, or another name differs from it only in upper and lower case.
    Ambiguous,
    /// The arguments are not a JSON object.
    Unreadable,
}

/// What is known about one condition so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConditionState {
    /// The argument has not occurred yet.
    Absent,
    Holds,
    Fails(ArgumentFault),
}

/// Evaluates conditions. Returns for each condition why it does not hold, or `None` if it holds.
pub(super) fn check(
    conditions: &[&ArgumentCondition],
    arguments: Arguments<'_>,
) -> Vec<Option<ArgumentFault>> {
    let mut states = ConditionStates(vec![ConditionState::Absent; conditions.len()]);
    let open: Vec<OpenCondition<'_>> = conditions
        .iter()
        .enumerate()
        .map(|(index, condition)| OpenCondition {
            condition,
            index,
            rest: condition.pointer.tokens(),
            is_element: false,
        })
        .collect();
    let mut deserializer = serde_json::Deserializer::from_str(arguments.0);
    let walk = Walk { open: &open, states: &mut states, is_root: true };
    let is_read = walk.deserialize(&mut deserializer).and_then(|()| deserializer.end()).is_ok();
    let fault = |(condition, state): (&&ArgumentCondition, ConditionState)| match state {
        _ if !is_read => Some(ArgumentFault::Unreadable),
        ConditionState::Absent if condition.may_be_absent => None,
        ConditionState::Absent => Some(ArgumentFault::Missing),
        ConditionState::Holds => None,
        ConditionState::Fails(fault) => Some(fault),
    };
    conditions.iter().zip(states.0).map(fault).collect()
}

/// The state of each condition.
struct ConditionStates(Vec<ConditionState>);

impl ConditionStates {
    /// Sets the state of a condition. A condition that has failed stays failed.
    fn note(&mut self, index: usize, state: ConditionState) {
        if let Some(known) = self.0.get_mut(index)
            && !matches!(known, ConditionState::Fails(_))
        {
            *known = state;
        }
    }

    fn fail(&mut self, index: usize, fault: ArgumentFault) {
        self.note(index, ConditionState::Fails(fault));
    }
}

/// A condition whose argument is the current value or inside it.
#[derive(Clone, Copy)]
struct OpenCondition<'c> {
    condition: &'c ArgumentCondition,
    index: usize,
    /// The remaining tokens of the pointer from the current value to the argument.
    rest: &'c [Box<str>],
    /// Whether the current value is an element of the argument, which is an array.
    is_element: bool,
}

impl<'c> OpenCondition<'c> {
    /// The condition for a child of the current value.
    fn next(self) -> Option<Self> {
        self.rest.split_first().map(|(_, rest)| Self { rest, ..self })
    }

    fn token(&self) -> Option<&'c str> {
        self.rest.first().map(|token| &**token)
    }

    fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Visits one value of the arguments.
struct Walk<'w, 'c> {
    open: &'w [OpenCondition<'c>],
    states: &'w mut ConditionStates,
    /// Whether the current value is the whole arguments.
    is_root: bool,
}

impl Walk<'_, '_> {
    /// Records whether the current value, which is neither an array nor an object, is allowed.
    fn scalar<E: serde::de::Error>(self, allows: impl Fn(&ArgumentCondition) -> bool) -> Result<(), E> {
        if self.is_root {
            return Err(E::custom("the arguments are no object"));
        }
        for open in self.open {
            let holds = open.is_at_end() && allows(open.condition);
            let state =
                if holds { ConditionState::Holds } else { ConditionState::Fails(ArgumentFault::Value) };
            self.states.note(open.index, state);
        }
        Ok(())
    }

    fn value<E: serde::de::Error>(self, value: Option<AllowedValue>) -> Result<(), E> {
        self.scalar(|condition| value.as_ref().is_some_and(|value| condition.allows(value)))
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.value(Some(AllowedValue::Boolean(value)))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.value(Some(AllowedValue::Number(value)))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.value(i64::try_from(value).ok().map(AllowedValue::Number))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.value(None)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.scalar(|condition| condition.allows_text(value))
    }

    /// Null counts as an absent argument, but not if it is an element of an array.
    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        if self.is_root {
            return Err(E::custom("the arguments are no object"));
        }
        for open in self.open.iter().filter(|open| open.is_element) {
            self.states.fail(open.index, ArgumentFault::Value);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if self.is_root {
            return Err(serde::de::Error::custom("the arguments are no object"));
        }
        let (mut elements, mut indexed) = (Vec::new(), Vec::new());
        for open in self.open {
            match (open.token(), open.token().and_then(array_index)) {
                (None, _) if !open.is_element => elements.push(OpenCondition { is_element: true, ..*open }),
                (Some(_), Some(at)) => indexed.extend(open.next().map(|open| (at, open))),
                _ => self.states.fail(open.index, ArgumentFault::Value),
            }
        }
        for at in 0_usize.. {
            let here = indexed.iter().filter(|(index, _)| *index == at).map(|(_, open)| *open);
            let open: Vec<OpenCondition<'_>> = elements.iter().copied().chain(here).collect();
            let is_there = if open.is_empty() {
                seq.next_element::<IgnoredAny>()?.is_some()
            } else {
                let walk = Walk { open: &open, states: &mut *self.states, is_root: false };
                seq.next_element_seed(walk)?.is_some()
            };
            if !is_there {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        for open in self.open.iter().filter(|open| open.is_at_end()) {
            self.states.fail(open.index, ArgumentFault::Value);
        }
        let mut seen = vec![false; self.open.len()];
        loop {
            let name = Name { open: self.open, seen: &mut seen, states: &mut *self.states };
            let Some(open) = map.next_key_seed(name)? else { return Ok(()) };
            if open.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Walk { open: &open, states: &mut *self.states, is_root: false })?;
            }
        }
    }
}

/// Visits one name of an object, and returns the conditions whose argument is inside the name's value.
struct Name<'w, 'c> {
    open: &'w [OpenCondition<'c>],
    /// For each condition, whether its name has occurred in this object already.
    seen: &'w mut [bool],
    states: &'w mut ConditionStates,
}

impl<'de, 'c> DeserializeSeed<'de> for Name<'_, 'c> {
    type Value = Vec<OpenCondition<'c>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'c> Visitor<'_> for Name<'_, 'c> {
    type Value = Vec<OpenCondition<'c>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let mut inside = Vec::new();
        for (open, seen) in self.open.iter().zip(self.seen) {
            match open.token() {
                Some(token) if token == name && !*seen => {
                    *seen = true;
                    inside.extend(open.next());
                }
                Some(token) if is_alike(name, token) => {
                    self.states.fail(open.index, ArgumentFault::Ambiguous);
                }
                _ => {}
            }
        }
        Ok(inside)
    }
}

/// Parses a token of a JSON pointer as an index of an array.
fn array_index(token: &str) -> Option<usize> {
    let is_index =
        token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    token.parse().ok().filter(|_| is_index)
}

/// Whether a lenient parser could take one name for the other. Folding a character changes its length at most by the
/// factor of three.
fn is_alike(name: &str, token: &str) -> bool {
    if name.len() > 3 * token.len() || token.len() > 3 * name.len() {
        return false;
    }
    if name.is_ascii() && token.is_ascii() {
        return name.eq_ignore_ascii_case(token);
    }
    folded(name).eq(folded(token))
}

/// Converts to upper case before lower case, because `ſ` is a lower-case letter whose upper case is `S`.
fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}
