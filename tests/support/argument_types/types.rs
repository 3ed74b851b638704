//! Random argument types.
//!
//! They are the types that all languages have: limits stand on members, as the struct tags of Go do, and not on the
//! items of lists.

use super::kind::{ArgumentType, Field, Kind, Limits, ObjectType, Presence};
use super::values::{Fill, random_value};
use super::vocabulary::{
    CHOICES, INTEGER_LIMITS, LIST_LIMITS, NAMES, NUMBER_LIMITS, PATTERNS, TEXT_LIMITS, TWO_SIDED,
};
use crate::generator::Random;

/// Levels of objects, lists and maps below the arguments.
const DEPTH: usize = 3;

/// Every so many types one is flat.
const FLAT: usize = 4;

/// This many types, the same for the same seed.
pub fn argument_types(seed: u64, count: usize) -> Vec<ArgumentType> {
    let mut maker = Maker { random: Random::new(seed), objects: 0 };
    let mut argument_type = |index: usize| {
        let is_flat = index.is_multiple_of(FLAT);
        ArgumentType { tool: format!("t{index}"), object: maker.object(DEPTH, is_flat), is_flat }
    };
    (0..count).map(&mut argument_type).collect()
}

struct Maker {
    random: Random,
    objects: usize,
}

impl Maker {
    fn one_in(&mut self, count: u64) -> bool {
        self.random.below(count) == 0
    }

    fn object(&mut self, depth: usize, is_flat: bool) -> ObjectType {
        let number = self.objects;
        self.objects += 1;
        let count = 1 + self.random.below(6);
        let names = some_of(&mut self.random, NAMES, count);
        let fields = names.into_iter().map(|name| self.field(name, depth, is_flat)).collect();
        ObjectType { number, fields }
    }

    fn field(&mut self, name: &'static str, depth: usize, is_flat: bool) -> Field {
        let kind = if is_flat { self.flat() } else { self.kind(depth, true) };
        let presence = match self.random.below(3) {
            0 => Presence::Required,
            1 => Presence::Optional,
            _ => self.default(&kind),
        };
        Field { name, kind, presence }
    }

    /// A default has all members that have defaults themselves, since Rust and Python write a whole value.
    fn default(&mut self, kind: &Kind) -> Presence {
        let default = random_value(&mut self.random, kind, Fill::Default);
        // The server takes a text with this name for a reference, also in a default, and publishes no such tool.
        let is_reference = default.write(false).contains("\"$ref\":\"");
        if is_reference { Presence::Optional } else { Presence::Default(default) }
    }

    /// A scalar as C can describe it.
    fn flat(&mut self) -> Kind {
        match self.random.below(5) {
            0 => Kind::Boolean,
            1 => Kind::Text { limits: Limits::default(), pattern: None },
            2 => Kind::Integer(self.limits(&INTEGER_LIMITS[..TWO_SIDED])),
            3 => Kind::Number(self.limits(&NUMBER_LIMITS[..TWO_SIDED])),
            _ => self.choice(),
        }
    }

    fn kind(&mut self, depth: usize, is_member: bool) -> Kind {
        if depth == 0 || self.one_in(2) {
            return self.scalar(is_member);
        }
        match self.random.below(4) {
            0 => {
                let limits = if is_member { self.limits(LIST_LIMITS) } else { Limits::default() };
                Kind::List { limits, items: Box::new(self.kind(depth - 1, false)) }
            }
            1 => Kind::Map(Box::new(self.kind(depth - 1, false))),
            _ => Kind::Object(self.object(depth - 1, false)),
        }
    }

    fn scalar(&mut self, is_member: bool) -> Kind {
        let (integers, numbers, texts): (&[Limits], &[Limits], &[Limits]) =
            if is_member { (INTEGER_LIMITS, NUMBER_LIMITS, TEXT_LIMITS) } else { (&[], &[], &[]) };
        match self.random.below(5) {
            0 => Kind::Boolean,
            1 if is_member && self.one_in(3) => {
                let pattern = usize::try_from(self.random.below(PATTERNS.len() as u64)).unwrap();
                Kind::Text { limits: Limits::default(), pattern: Some(&PATTERNS[pattern]) }
            }
            1 => Kind::Text { limits: self.limits(texts), pattern: None },
            2 => Kind::Integer(self.limits(integers)),
            3 => Kind::Number(self.limits(numbers)),
            _ => self.choice(),
        }
    }

    fn choice(&mut self) -> Kind {
        let count = 1 + self.random.below(4);
        Kind::Choice(some_of(&mut self.random, CHOICES, count))
    }

    /// One of these, or none.
    fn limits(&mut self, all: &[Limits]) -> Limits {
        if all.is_empty() || self.one_in(2) { Limits::default() } else { self.random.one_of(all) }
    }
}

/// `count` different ones, in any order.
pub(super) fn some_of<T: Copy>(random: &mut Random, all: &[T], count: u64) -> Vec<T> {
    let mut left = all.to_vec();
    let mut take = |_| left.swap_remove(usize::try_from(random.below(left.len() as u64)).unwrap());
    (0..count).map(&mut take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_types_each_time() {
        let types = |seed| format!("{:?}", argument_types(seed, 20));
        assert_eq!(types(1), types(1));
        assert_ne!(types(1), types(2));
    }
}
