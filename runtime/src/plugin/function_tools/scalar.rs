//! Reads numbers and characters from JSON.
//!
//! Many writers of JSON have doubles only. So values that a double or JSON cannot represent may also be strings: whole
//! numbers beyond 2^53, infinities and NaN.

use serde_json::Value;
use wasmtime::component::Val;

use super::schema::{NOT_FINITE, SAFE};
use super::type_mismatch::Mismatch;
use super::types::IntType;

pub(super) fn whole(integer: IntType, value: &Value) -> Result<Val, Mismatch> {
    let (least, largest) = integer.range();
    let number = match value {
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => Some(i128::from(number)),
            (_, Some(number), _) => Some(i128::from(number)),
            // JSON Schema calls 5.0 an integer too.
            (.., Some(number)) if number.fract() == 0.0 && number.abs() <= SAFE as f64 => {
                Some(number as i128)
            }
            _ => None,
        },
        Value::String(text) if integer.is_wide() => decimal(text),
        _ => None,
    };
    number.and_then(|number| integer.val(number)).ok_or_else(|| {
        let form = if integer.is_wide() { ", as a number or as decimal digits in a string" } else { "" };
        Mismatch::new(format!("must be a whole number from {least} to {largest}{form}"))
    })
}

/// Parses a whole number in decimal digits, without `+` and without leading zeros.
fn decimal(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 20 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_plain.then(|| text.parse().ok()).flatten()
}

pub(super) fn float(value: &Value) -> Result<f64, Mismatch> {
    let [nan, infinity, negative] = NOT_FINITE;
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text == nan => Some(f64::NAN),
        Value::String(text) if text == infinity => Some(f64::INFINITY),
        Value::String(text) if text == negative => Some(f64::NEG_INFINITY),
        _ => None,
    }
    .ok_or_else(|| Mismatch::new("must be a number, or \"NaN\", \"Infinity\" or \"-Infinity\""))
}

pub(super) fn single(number: f64) -> Result<f32, Mismatch> {
    let narrow = number as f32;
    if number.is_finite() && !narrow.is_finite() {
        return Err(Mismatch::new("is larger than a 32-bit float can be"));
    }
    Ok(narrow)
}

pub(super) fn character(value: &Value) -> Result<char, Mismatch> {
    let mut characters = value.as_str().unwrap_or_default().chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(Mismatch::new("must be a string of one character")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_are_within_their_range_and_wide_ones_may_be_text() {
        let read = |integer, value| whole(integer, &value).ok();
        assert_eq!(read(IntType::U8, json!(255)), Some(Val::U8(255)));
        assert_eq!(read(IntType::S16, json!(-5.0)), Some(Val::S16(-5)));
        for rejected in [json!(256), json!(-1), json!(1.5), json!("1"), json!(null), json!(1e300)] {
            assert_eq!(read(IntType::U8, rejected.clone()), None, "{rejected}");
        }
        assert_eq!(read(IntType::U64, json!(u64::MAX)), Some(Val::U64(u64::MAX)));
        assert_eq!(read(IntType::U64, json!(u64::MAX.to_string())), Some(Val::U64(u64::MAX)));
        assert_eq!(read(IntType::S64, json!("-9223372036854775808")), Some(Val::S64(i64::MIN)));
        for rejected in
            ["", "-", "+1", "01", "-0", "1e3", " 1", "9223372036854775808", "99999999999999999999999"]
        {
            assert_eq!(read(IntType::S64, json!(rejected)), None, "{rejected}");
        }
    }

    #[test]
    fn floats_have_words_for_what_is_no_number() {
        assert!(float(&json!("NaN")).unwrap().is_nan());
        assert_eq!(float(&json!("-Infinity")), Ok(f64::NEG_INFINITY));
        assert!(float(&json!("nan")).is_err() && float(&json!("1")).is_err());
        assert!(single(1e300).is_err());
        assert_eq!(single(f64::INFINITY), Ok(f32::INFINITY));
    }

    #[test]
    fn a_character_is_exactly_one() {
        assert_eq!(character(&json!("é")), Ok('é'));
        assert!(character(&json!("")).is_err() && character(&json!("ab")).is_err());
    }
}
