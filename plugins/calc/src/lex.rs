//! The words of an expression.

use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Num as _, Pow};

use crate::CalcError;

/// Powers of ten in a literal; more would not fit into a result.
const MAX_EXPONENT: i32 = 4_900;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'a> {
    Number(BigRational),
    Word(&'a str),
    Symbol(char),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(to, "{number}"),
            Self::Word(word) => write!(to, "{word}"),
            Self::Symbol(symbol) => write!(to, "{symbol}"),
        }
    }
}

pub(crate) fn lex(text: &str) -> Result<Vec<Token<'_>>, CalcError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            let literal = rest.get(..length).unwrap_or(rest);
            (Token::Number(number(literal).ok_or_else(|| CalcError::Literal(literal.to_owned()))?), length)
        } else if is_word(first) {
            let length =
                rest.find(|letter: char| !is_word(letter) && !letter.is_ascii_digit()).unwrap_or(rest.len());
            (Token::Word(rest.get(..length).unwrap_or(rest)), length)
        } else {
            (Token::Symbol(plain(first)), first.len_utf8())
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

fn is_word(letter: char) -> bool {
    letter.is_alphabetic() || matches!(letter, '_' | '°')
}

fn plain(symbol: char) -> char {
    match symbol {
        '×' | '·' | '⋅' => '*',
        '÷' => '/',
        '−' | '–' => '-',
        '[' | '{' => '(',
        ']' | '}' => ')',
        other => other,
    }
}

/// Digits with separators, and an exponent if one is complete: `5e` is five times e.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    if let Some(radix) = ["0x", "0b", "0o"].iter().find(|radix| text.starts_with(**radix)) {
        return text
            .get(radix.len()..)
            .and_then(|rest| rest.find(|letter: char| !letter.is_ascii_hexdigit()))
            .map_or(text.len(), |length| length + radix.len());
    }
    let mantissa = text.find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ',' | '_'));
    let mantissa = mantissa.unwrap_or(text.len());
    let exponent = text.get(mantissa..).unwrap_or_default();
    let Some(power) = exponent.strip_prefix(['e', 'E']) else { return mantissa };
    let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
    match digits(unsigned) {
        0 => mantissa,
        length => text.len() - unsigned.len() + length,
    }
}

fn number(literal: &str) -> Option<BigRational> {
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = literal.strip_prefix(prefix) {
            return BigInt::from_str_radix(digits, radix).ok().map(BigRational::from);
        }
    }
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // A comma that does not part thousands may be a decimal one, and then the number would be another.
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let thousands =
        groups.all(|group| group.len() == 3) && (!whole.contains(',') || (1..=3).contains(&first.len()));
    let digits = format!("{whole}{part}").replace([',', '_'], "");
    let places = i32::try_from(part.len()).ok()?;
    let exponent: i32 = exponent.parse().ok().filter(|exponent| i32::abs(*exponent) <= MAX_EXPONENT)?;
    if !thousands || part.contains(['.', ',', '_']) {
        return None;
    }
    let ten = BigRational::from(BigInt::from(10));
    Some(BigRational::from(digits.parse::<BigInt>().ok()?) * Pow::pow(&ten, exponent - places))
}
