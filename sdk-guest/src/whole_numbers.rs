//! Whole numbers in any notation.
//!
//! For JSON Schema `1.0` and `1e3` are whole numbers, and the host accepts them for an integer. For serde they are
//! floating-point numbers, which no integer is read from. So where a value does not fit its type, such numbers are
//! written out and it is read again. A value that fits pays nothing.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Digits of the largest integer, a `u128`.
const MAX_DIGITS: usize = 39;

/// Reads a value. An error comes with the text in which it was found.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, (serde_json::Error, Cow<'_, str>)> {
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let written = written_out(text);
    if !error.is_data() || written == text {
        return Err((error, Cow::Borrowed(text)));
    }
    serde_json::from_str(&written).map_err(|error| (error, Cow::Owned(written)))
}

/// JSON with the digits of all whole numbers that an integer can hold. Strings stay as they are.
fn written_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_number = first == '-' || first.is_ascii_digit();
        let length = match first {
            '"' => string_length(rest),
            _ if is_number => rest.find(|letter| !is_of_number(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        match digits_of(token) {
            Some(digits) if is_number => out.push_str(&digits),
            _ => out.push_str(token),
        }
        rest = after;
    }
    out
}

fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '+' | '-' | '.' | 'e' | 'E')
}

/// The length of the string at the beginning of a text.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A whole number without fraction and exponent; `None` if it needs them, or no integer can hold it.
fn digits_of(number: &str) -> Option<String> {
    let (sign, unsigned) = number.strip_prefix('-').map_or(("", number), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (before, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{fraction}");
    let significant = digits.trim_end_matches('0');
    let point = i64::try_from(before.len()).ok()?.checked_add(exponent.parse().ok()?)?;
    let zeros = point.checked_sub(i64::try_from(significant.len()).ok()?)?;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let zeros = usize::try_from(zeros).ok()?;
    let fits = significant.len().saturating_add(zeros) <= MAX_DIGITS;
    fits.then(|| format!("{sign}{significant}{}", "0".repeat(zeros)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_loses_its_fraction_and_exponent() {
        for (number, digits) in [
            ("1.0", Some("1")),
            ("-15e-1", None),
            ("-1.50e1", Some("-15")),
            ("-0.0", Some("0")),
            ("-0", Some("0")),
            ("120", Some("120")),
            ("0.0012e4", Some("12")),
            ("1200E-2", Some("12")),
            ("3E+2", Some("300")),
            ("9007199254740993.0", Some("9007199254740993")),
            ("-9.223372036854775808e18", Some("-9223372036854775808")),
            ("1e39", None),
            ("1e-1", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(digits_of(number).as_deref(), digits, "{number}");
        }
    }

    #[test]
    fn integers_are_read_from_any_notation_and_strings_stay() {
        type Members = std::collections::BTreeMap<String, (i64, String, f64)>;
        let text = r#"{"1.0": [-0, "é \"2.0\\", 1e300], "b": [9007199254740993.0, "3e1", 0.5]}"#;
        let members: Members = read(text).unwrap();
        assert_eq!(members["1.0"], (0, "é \"2.0\\".to_owned(), 1e300));
        assert_eq!(members["b"], (9_007_199_254_740_993, "3e1".to_owned(), 0.5));
    }

    #[test]
    fn what_is_no_integer_is_an_error_of_the_text_that_was_read() {
        for text in ["1.5", "\"1.0\"", "1e19", "true"] {
            let (_, read_text) = read::<i64>(text).unwrap_err();
            assert!(read_text == text || text == "1e19", "{text}: {read_text}");
        }
        let (_, text) = read::<(u8, bool)>("[1.0, 2.0]").unwrap_err();
        assert_eq!(text, "[1, 2]");
    }
}
