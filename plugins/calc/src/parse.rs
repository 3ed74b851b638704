//! The grammar, one function for each level: sums and products, signs and powers, single numbers. So `-2^2` is -4.
//! There are no variables: nothing outlives a call.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Pow;

use crate::CalcError;
use crate::number::{Calculated, apply};

/// With the bound on the size of numbers, these keep every call within its fuel and its stack.
const MAX_BYTES: usize = 1_000;
const MAX_DEPTH: usize = 50;
/// Operators that are read from left to right; those of the second level bind closer.
const LEVELS: [&[char]; 2] = [&['+', '-'], &['*', '/', '%']];

pub(crate) fn number(text: &str) -> Calculated {
    let text = text.replace("**", "^").replace('×', "*").replace('÷', "/").replace('−', "-");
    if text.len() > MAX_BYTES || text.matches(['(', '^']).count() > MAX_DEPTH {
        return Err(CalcError::TooLong);
    }
    let mut parser = Parser { rest: text.trim() };
    let number = parser.operation(0)?;
    if parser.rest.is_empty() { Ok(number) } else { Err(parser.unexpected()) }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Steps over one of these, and the space behind it.
    fn takes(&mut self, any: &[char]) -> Option<char> {
        let next = self.rest.chars().next().filter(|next| any.contains(next))?;
        self.rest = self.rest.strip_prefix(next)?.trim_start();
        Some(next)
    }

    fn operation(&mut self, level: usize) -> Calculated {
        let Some(operators) = LEVELS.get(level) else { return self.signed() };
        let mut left = self.operation(level + 1)?;
        while let Some(operator) = self.takes(operators) {
            left = apply(&left, operator, &self.operation(level + 1)?)?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Calculated {
        let negative = self.takes(&['-']).is_some();
        let mut value = self.single()?;
        if self.takes(&['^']).is_some() {
            value = apply(&value, '^', &self.signed()?)?;
        }
        Ok(if negative { -value } else { value })
    }

    fn single(&mut self) -> Calculated {
        if self.takes(&['(']).is_some() {
            let value = self.operation(0)?;
            return self.takes(&[')']).map(|_| value).ok_or_else(|| self.unexpected());
        }
        let digits = self.span(|next| next.is_ascii_digit() || next == '.');
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let number: BigInt = format!("{whole}{part}").parse().map_err(|_| self.unexpected())?;
        self.rest = self.rest.strip_prefix(digits).unwrap_or_default().trim_start();
        Ok(BigRational::new(number, Pow::pow(BigInt::from(10), part.len())))
    }

    /// What comes next and consists of such letters.
    fn span(&self, of: impl Fn(char) -> bool) -> &'a str {
        self.rest.split(|letter| !of(letter)).next().unwrap_or_default()
    }

    fn unexpected(&self) -> CalcError {
        let word = self.span(|letter| letter.is_alphanumeric() || letter == '.');
        match self.rest.chars().next() {
            None => CalcError::Unfinished,
            Some(symbol) if word.is_empty() => CalcError::Unexpected(symbol.into()),
            _ => CalcError::Unexpected(word.to_owned()),
        }
    }
}
