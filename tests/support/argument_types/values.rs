//! Random values of a type, and values with a fault.

use super::json::Json;
use super::kind::{Kind, Limits, ObjectType, Presence};
use super::number::{real, whole};
use super::types::some_of;
use super::vocabulary::{CHOICES, INTEGERS, NAMES, NUMBERS, TEXTS};
use crate::generator::Random;

/// Which members a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Some of the optional ones.
    Some,
    /// The same, and nulls in the place of others.
    SomeAndNulls,
    /// All that have a default and no other optional ones; numbers in their plainest notation, and maps empty.
    Default,
}

/// A value that fits the type.
pub fn random_value(random: &mut Random, kind: &Kind, fill: Fill) -> Json {
    match kind {
        Kind::Boolean => Json::Boolean(random.below(2) == 0),
        Kind::Choice(values) => Json::text(random.one_of(values)),
        Kind::Text { pattern: Some(pattern), .. } => Json::text(random.one_of(&pattern.matching)),
        Kind::Text { limits, .. } => Json::text(random_text(random, *limits)),
        Kind::Integer(limits) => random_integer(random, *limits, fill),
        Kind::Number(limits) => random_number(random, *limits, fill),
        Kind::List { limits, items } => {
            let least = limits.min.map_or(0, length);
            let most = limits.max.map_or(least + 3, length);
            let count = least + random.below(most - least + 1);
            Json::List((0..count).map(|_| random_value(random, items, fill)).collect())
        }
        Kind::Map(_) if fill == Fill::Default => Json::Object(Vec::new()),
        Kind::Map(values) => {
            let names = some_names(random);
            let member = |name: &'static str| (name.to_owned(), random_value(random, values, fill));
            Json::Object(names.into_iter().map(member).collect())
        }
        Kind::Object(object) => random_object(random, object, fill),
    }
}

/// Arguments for a tool: they fit its type, or have a fault in one of their members.
pub fn random_arguments(random: &mut Random, object: &ObjectType) -> Json {
    match random.below(10) {
        0..5 => random_object(random, object, Fill::Some),
        5 => random_object(random, object, Fill::SomeAndNulls),
        _ => faulty_object(random, object),
    }
}

fn random_object(random: &mut Random, object: &ObjectType, fill: Fill) -> Json {
    let mut members = Vec::new();
    for field in &object.fields {
        let is_given = match (&field.presence, fill) {
            (Presence::Required, _) | (Presence::Default(_), Fill::Default) => true,
            (Presence::Optional, Fill::Default) => false,
            _ => random.below(2) == 0,
        };
        if is_given {
            members.push((field.name.to_owned(), random_value(random, &field.kind, fill)));
        } else if fill == Fill::SomeAndNulls && random.below(3) == 0 {
            members.push((field.name.to_owned(), Json::Null));
        }
    }
    if random.below(2) == 0 {
        members.reverse();
    }
    Json::Object(members)
}

/// A value in which something may be wrong.
fn faulty_value(random: &mut Random, kind: &Kind) -> Json {
    if random.below(5) == 0 {
        return other_value(random);
    }
    match kind {
        Kind::Integer(_) => {
            let fractions = ["0.5", "-2.5", "1e-7", "10.25"];
            let all: Vec<&str> = INTEGERS.iter().chain(&fractions).copied().collect();
            Json::Number(random.one_of(&all).to_owned())
        }
        Kind::Number(_) => Json::Number(random.one_of(NUMBERS).to_owned()),
        Kind::Text { .. } => Json::text(random.one_of(TEXTS)),
        Kind::Choice(_) => Json::text(random.one_of(CHOICES)),
        Kind::List { items, .. } => {
            let count = random.below(6);
            Json::List((0..count).map(|_| perhaps_faulty(random, items)).collect())
        }
        Kind::Map(values) => {
            let names = some_names(random);
            let member = |name: &'static str| (name.to_owned(), perhaps_faulty(random, values));
            Json::Object(names.into_iter().map(member).collect())
        }
        Kind::Object(object) => faulty_object(random, object),
        Kind::Boolean => other_value(random),
    }
}

fn perhaps_faulty(random: &mut Random, kind: &Kind) -> Json {
    if random.below(2) == 0 { faulty_value(random, kind) } else { random_value(random, kind, Fill::Some) }
}

/// One member is wrong, missing, or too many.
fn faulty_object(random: &mut Random, object: &ObjectType) -> Json {
    let chosen = random.below(object.fields.len() as u64);
    let mut members = Vec::new();
    for (number, field) in (0..).zip(&object.fields) {
        if number == chosen {
            match random.below(8) {
                0 => continue,
                1 => members.push(("extra".to_owned(), Json::Null)),
                2 => members.push(("NAME".to_owned(), Json::text("x"))),
                _ => {}
            }
            members.push((field.name.to_owned(), faulty_value(random, &field.kind)));
        } else if matches!(field.presence, Presence::Required) || random.below(2) == 0 {
            members.push((field.name.to_owned(), random_value(random, &field.kind, Fill::Some)));
        }
    }
    Json::Object(members)
}

/// A value of no type in particular. No null: where a member may be missing, it would stand for that.
fn other_value(random: &mut Random) -> Json {
    match random.below(8) {
        0 => Json::Boolean(true),
        1 => Json::Number("1".to_owned()),
        2 => Json::Number("1.5".to_owned()),
        3 => Json::text("1"),
        4 => Json::text(""),
        5 => Json::List(Vec::new()),
        6 => Json::List(vec![Json::Number("1".to_owned())]),
        _ => Json::Object(Vec::new()),
    }
}

fn some_names(random: &mut Random) -> Vec<&'static str> {
    let count = random.below(4);
    some_of(random, NAMES, count)
}

fn random_text(random: &mut Random, limits: Limits) -> &'static str {
    let fitting: Vec<&str> =
        TEXTS.iter().copied().filter(|text| fits_length(text.chars().count(), limits)).collect();
    random.one_of(&fitting)
}

fn random_integer(random: &mut Random, limits: Limits, fill: Fill) -> Json {
    let fits = |number: &&str| whole(number).is_some_and(|value| fits_integer(value, limits));
    let fitting: Vec<&str> = INTEGERS.iter().copied().filter(fits).collect();
    let number = random.one_of(&fitting);
    // Where the server takes nulls away, it writes the numbers again, as 64 bits hold them.
    let is_plain = fill == Fill::Some || whole(number).is_some_and(|value| value.abs() < 1 << 53);
    if !is_plain {
        return Json::Number(limits.min.unwrap_or("7").to_owned());
    }
    let digits = whole(number).map(|value| value.to_string()).unwrap();
    Json::Number(if fill == Fill::Default { digits } else { number.to_owned() })
}

fn random_number(random: &mut Random, limits: Limits, fill: Fill) -> Json {
    let fits = |number: &&str| fits_number(real(number), limits);
    let fitting: Vec<&str> = NUMBERS.iter().copied().filter(fits).collect();
    let number = random.one_of(&fitting);
    // Not every language shows -0.0 and more than 53 bits in a schema as they were written.
    let is_plain = fill != Fill::Default || !["-0.0", "9007199254740993"].contains(&number);
    Json::Number(if is_plain { number } else { "0.75" }.to_owned())
}

/// A length as the number that it is.
pub(super) fn length(limit: &str) -> u64 {
    limit.parse().unwrap()
}

pub(super) fn fits_length(found: usize, limits: Limits) -> bool {
    let found = found as u64;
    limits.min.is_none_or(|min| found >= length(min)) && limits.max.is_none_or(|max| found <= length(max))
}

pub(super) fn fits_integer(value: i128, limits: Limits) -> bool {
    let bound = |limit: &str| whole(limit).unwrap();
    limits.min.is_none_or(|min| value >= bound(min)) && limits.max.is_none_or(|max| value <= bound(max))
}

pub(super) fn fits_number(value: f64, limits: Limits) -> bool {
    limits.min.is_none_or(|min| value >= real(min)) && limits.max.is_none_or(|max| value <= real(max))
}
