//! Calculating, bounded, and showing the result. Only here is anything rounded, and never unmarked.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Signed as _, ToPrimitive as _, Zero as _};
use schemars::JsonSchema;
use serde::Serialize;

use crate::CalcError;

/// Some 300 digits. A thousand bytes of operations on them stay within the fuel of a call.
const MAX_BITS: u64 = 1 << 10;
/// How many digits are shown of a fraction without an end, or one more; and all that stand before the point.
const DIGITS: usize = 15;

pub(crate) type Calculated = Result<BigRational, CalcError>;

pub(crate) fn apply(left: &BigRational, operator: char, right: &BigRational) -> Calculated {
    let number = match operator {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        '/' | '%' if right.is_zero() => return Err(CalcError::DivisionByZero),
        '/' => left / right,
        // `20% - 3` was meant as hundredths.
        '%' if right.is_negative() => return Err(CalcError::Remainder),
        '%' => left - (left / right).floor() * right,
        _ => power(left, right)?,
    };
    if bits(&number) > MAX_BITS { Err(CalcError::TooLarge) } else { Ok(number) }
}

fn power(base: &BigRational, exponent: &BigRational) -> Calculated {
    if !exponent.is_integer() {
        return Err(CalcError::Power);
    }
    let exponent = exponent.to_i32().ok_or(CalcError::TooLarge)?;
    // The size is known beforehand, and it must be: this is where numbers explode.
    if (bits(base) - 1).saturating_mul(exponent.unsigned_abs().into()) > MAX_BITS {
        return Err(CalcError::TooLarge);
    }
    if base.is_zero() && exponent < 0 { Err(CalcError::DivisionByZero) } else { Ok(Pow::pow(base, exponent)) }
}

/// The length of the longer half of a fraction.
fn bits(number: &BigRational) -> u64 {
    number.numer().bits().max(number.denom().bits())
}

/// The value of an expression.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The number, with its unit if it was converted.
    result: String,
    /// Whether nothing was rounded.
    exact: bool,
}

impl Answer {
    pub(crate) fn new(number: &BigRational, unit: &str) -> Self {
        // A decimal that ends does so within as many places as its denominator has bits.
        let (mut text, exact) = decimal(number, number.denom().bits() as usize);
        if !exact {
            let length = |number: &BigInt| number.magnitude().to_string().len();
            let places = (DIGITS + length(number.denom())).saturating_sub(length(number.numer()));
            text = decimal(number, places).0;
        }
        Self { result: format!("{text} {unit}").trim_end().to_owned(), exact }
    }
}

/// The number with at most so many decimal places, half away from zero, and whether that is all of it.
fn decimal(number: &BigRational, places: usize) -> (String, bool) {
    let scaled = number * BigRational::from(Pow::pow(BigInt::from(10), places));
    let near = scaled.round();
    let sign = if near.is_negative() { "-" } else { "" };
    let digits = format!("{:0>width$}", near.numer().abs().to_string(), width = places + 1);
    let (before, behind) = digits.split_at(digits.len() - places);
    let text = format!("{sign}{before}.{behind}");
    (text.trim_end_matches('0').trim_end_matches('.').to_owned(), scaled.is_integer())
}
