//! From an expression with its conversions to the text of a result. Rounding is done here and nowhere else, half away from
//! zero, and never passes unmarked.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One as _, Pow, Signed as _, Zero as _};
use schemars::JsonSchema;
use serde::Serialize;

use crate::CalcError;
use crate::lex::{Token, lex};
use crate::parse;
use crate::quantity::{Quantity, Unit};

const MAX_EXPRESSION_BYTES: usize = 2_000;
const MAX_PLACES: i64 = 2_000;
/// Decimal places of a fraction that has no end, and digits of what only floating point can tell.
const PLACES: i64 = 10;
const DIGITS: i64 = 12;

/// The value of an expression.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The number with its unit.
    result: String,
    /// Whether nothing was rounded.
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
}

#[derive(Clone, Copy)]
enum Form {
    Auto,
    Fraction,
    Radix(u32),
    Places(i64),
    Digits(i64),
}

pub(crate) fn answer(text: &str) -> Result<Answer, CalcError> {
    match text.trim() {
        "" => return Err(CalcError::Empty),
        long if long.len() > MAX_EXPRESSION_BYTES => return Err(CalcError::TooLong),
        _ => {}
    }
    let parts = parts(text)?;
    let (expression, targets) = parts.split_first().ok_or(CalcError::Empty)?;
    let mut value = parse::quantity(expression)?;
    let mut form = Form::Auto;
    for target in targets {
        match self::form(target) {
            Some(asked) => form = asked,
            None => value = told_in(value, target.trim())?,
        }
    }
    show(&value, form)
}

/// The expression, and what it is converted to in turn. `in` is an inch where a number stands before it.
fn parts(text: &str) -> Result<Vec<&str>, CalcError> {
    let text_of = |words: &[&str]| words.iter().any(|word| matches!(*word, "to" | "as"));
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    for (index, word) in words.iter().enumerate() {
        let unit_before = index.checked_sub(1).and_then(|index| words.get(index)).is_some_and(|word| {
            matches!(lex(word.trim()).as_deref(), Ok([.., Token::Word(_) | Token::Symbol(')')]))
        });
        let is_inch = word.trim() == "in" && (!unit_before || index + 1 == words.len());
        if text_of(&[word.trim()]) || word.trim() == "->" || (word.trim() == "in" && !is_inch) {
            parts.push(text.get(from..at).unwrap_or_default());
            from = at + word.len();
        }
        at += word.len();
    }
    parts.push(text.get(from..).unwrap_or_default());
    Ok(parts)
}

fn form(target: &str) -> Option<Form> {
    let count = |unit: &str| {
        target.trim().strip_suffix(unit)?.trim().parse::<i64>().ok().map(|n| n.clamp(0, MAX_PLACES))
    };
    match target.trim() {
        "fraction" => Some(Form::Fraction),
        "decimal" => Some(Form::Auto),
        "hex" | "hexadecimal" => Some(Form::Radix(16)),
        "octal" => Some(Form::Radix(8)),
        "binary" => Some(Form::Radix(2)),
        _ => count("dp").map(Form::Places).or_else(|| count("sf").map(|digits| Form::Digits(digits.max(1)))),
    }
}

fn told_in(value: Quantity, target: &str) -> Result<Quantity, CalcError> {
    if target.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-') {
        return Err(CalcError::Target(target.to_owned()));
    }
    let one = parse::quantity(target)?;
    if one.dims != value.dims {
        return Err(CalcError::Incompatible(value.dimension(), one.dimension()));
    }
    let scale = one.unit.filter(|unit| !unit.zero.is_zero());
    let unit =
        scale.unwrap_or(Unit { name: target.to_owned(), factor: one.number, zero: BigRational::zero() });
    Ok(Quantity { unit: Some(unit), exact: value.exact && one.exact, ..value })
}

fn show(value: &Quantity, form: Form) -> Result<Answer, CalcError> {
    let (number, unit) = match &value.unit {
        Some(unit) => ((&value.number - &unit.zero) / &unit.factor, Some(unit.name.clone())),
        None if value.is_plain() => (value.number.clone(), None),
        None => (value.number.clone(), Some(value.dimension())),
    };
    let magnitude = magnitude(&number);
    let limit = if value.exact { MAX_PLACES * 4 } else { DIGITS - magnitude };
    let (text, whole) = match form {
        Form::Fraction if value.exact => (number.to_string(), true),
        Form::Radix(radix) if number.is_integer() => (number.to_integer().to_str_radix(radix), true),
        Form::Fraction | Form::Radix(_) => return Err(CalcError::Form),
        Form::Places(places) => rounded(&number, places.min(limit)),
        Form::Digits(digits) => rounded(&number, (digits - magnitude).min(limit)),
        Form::Auto => {
            let end = end_of(&number).unwrap_or_else(|| PLACES.max(DIGITS - magnitude));
            rounded(&number, end.min(limit))
        }
    };
    let result = unit.as_ref().map_or_else(|| text.clone(), |unit| format!("{text} {unit}"));
    Ok(Answer { result, exact: value.exact && whole, unit })
}

/// How many digits stand before the point; below one, less by each zero behind it.
fn magnitude(number: &BigRational) -> i64 {
    let size = number.abs();
    let digits = |number: &BigInt| number.to_string().len() as i64;
    let guess = digits(size.numer()) - digits(size.denom());
    if size >= ten_to(guess) { guess + 1 } else { guess }
}

fn ten_to(power: i64) -> BigRational {
    Pow::pow(&BigRational::from(BigInt::from(10)), i32::try_from(power).unwrap_or_default())
}

/// The decimal place at which the number ends, if it does.
fn end_of(number: &BigRational) -> Option<i64> {
    let mut rest = number.denom().clone();
    let mut places = [0, 0];
    for (prime, count) in [2_u32, 5].into_iter().zip(&mut places) {
        while BigInt::is_zero(&(&rest % prime)) {
            rest /= prime;
            *count += 1;
        }
    }
    places.into_iter().max().filter(|end| rest.is_one() && *end <= MAX_PLACES)
}

/// The number with so many decimal places (tens and hundreds when negative), and whether that is all of it.
fn rounded(number: &BigRational, places: i64) -> (String, bool) {
    let scale = ten_to(places);
    let near = (number * &scale).round();
    let whole = &near / &scale == *number;
    let digits = near.to_integer().abs().to_string();
    let sign = if near.is_negative() { "-" } else { "" };
    let wide = usize::try_from(places).unwrap_or_default();
    let padded = format!("{digits:0>width$}", width = wide + 1);
    let (before, behind) = padded.split_at(padded.len() - wide);
    let tens = if near.is_zero() { 0 } else { usize::try_from(-places).unwrap_or_default() };
    let behind = behind.trim_end_matches('0');
    let point = if behind.is_empty() { "" } else { "." };
    (format!("{sign}{before}{}{point}{behind}", "0".repeat(tens)), whole)
}
