//! The grammar: `+ -`, then `* / mod of per`, then what stands side by side (`5 km`, `2 h 30 min`), then `^`, then `!` and
//! `%`. So `10 km / 20 min` is read as people mean it. There is no statement and no variable: nothing outlives a call.

use num_rational::BigRational;
use num_traits::Signed as _;

use crate::CalcError;
use crate::lex::{Token, lex};
use crate::quantity::{Quantity, float};
use crate::units;

const MAX_DEPTH: usize = 50;
/// The squares of the lengths in bits of all numbers on the way, added up: about what reducing fractions costs. It is
/// spent before the fuel of a call is, so that the answer is a sentence and not a stopped plugin.
const MAX_WORK: u64 = 1 << 31;

pub(crate) fn quantity(text: &str) -> Result<Quantity, CalcError> {
    let mut parser = Parser { tokens: lex(text)?, at: 0, depth: 0, work: 0 };
    let value = parser.sum()?;
    match parser.peek() {
        Some(token) => Err(CalcError::Unexpected(token.to_string())),
        None => Ok(value),
    }
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    work: u64,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn takes(&mut self, token: &Token<'_>) -> bool {
        let there = self.peek() == Some(token);
        self.at += usize::from(there);
        there
    }

    fn worked(&mut self, value: Quantity) -> Result<Quantity, CalcError> {
        self.work += value.bits().pow(2);
        if self.work > MAX_WORK { Err(CalcError::TooSlow) } else { Ok(value) }
    }

    fn sum(&mut self) -> Result<Quantity, CalcError> {
        let mut left = self.product()?;
        loop {
            let next = if self.takes(&Token::Symbol('+')) {
                left.add(self.product()?)?
            } else if self.takes(&Token::Symbol('-')) {
                left.add(self.product()?.negative())?
            } else {
                return Ok(left);
            };
            left = self.worked(next)?;
        }
    }

    fn product(&mut self) -> Result<Quantity, CalcError> {
        let mut left = self.signed()?;
        loop {
            let next = if self.takes(&Token::Symbol('*')) || self.takes(&Token::Word("of")) {
                left.times(self.signed()?)?
            } else if self.takes(&Token::Symbol('/')) || self.takes(&Token::Word("per")) {
                let unclear = left.is_plain() && matches!(self.peek(), Some(Token::Number(_)));
                let right = self.signed()?;
                if unclear && !right.is_plain() {
                    return Err(CalcError::Unclear);
                }
                left.over(right)?
            } else if self.takes(&Token::Word("mod")) {
                left.remainder(&self.signed()?)?
            } else {
                return Ok(left);
            };
            left = self.worked(next)?;
        }
    }

    fn signed(&mut self) -> Result<Quantity, CalcError> {
        let mut negative = false;
        while let Some(Token::Symbol('+' | '-')) = self.peek() {
            negative ^= self.next() == Some(Token::Symbol('-'));
        }
        let value = self.side_by_side()?;
        Ok(if negative { value.negative() } else { value })
    }

    fn side_by_side(&mut self) -> Result<Quantity, CalcError> {
        let mut left = self.power()?;
        loop {
            match self.peek() {
                Some(Token::Symbol('(')) => left = left.times(self.power()?)?,
                Some(Token::Word(word)) if !matches!(*word, "mod" | "of" | "per") => {
                    left = left.of(self.power()?)?;
                }
                // The next part of a mixed quantity, such as `5 ft 3 in`.
                Some(Token::Number(_)) if !left.is_plain() => return left.add(self.side_by_side()?),
                _ => return Ok(left),
            }
        }
    }

    fn power(&mut self) -> Result<Quantity, CalcError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(CalcError::TooDeep);
        }
        let mut value = self.primary()?;
        loop {
            if self.takes(&Token::Symbol('!')) {
                value = value.factorial()?;
            } else if self.takes(&Token::Symbol('%')) {
                value = value.over(Quantity::plain(BigRational::from_integer(100.into())))?;
            } else {
                break;
            }
        }
        if self.takes(&Token::Symbol('^')) {
            let negative = self.takes(&Token::Symbol('-'));
            let exponent = self.power()?;
            value = value.power(&if negative { exponent.negative() } else { exponent })?;
        }
        self.depth -= 1;
        self.worked(value)
    }

    fn primary(&mut self) -> Result<Quantity, CalcError> {
        match self.next() {
            Some(Token::Number(number)) => Ok(Quantity::plain(number)),
            Some(Token::Symbol('(')) => {
                let value = self.sum()?;
                if self.takes(&Token::Symbol(')')) { Ok(value) } else { Err(CalcError::Unclosed) }
            }
            Some(Token::Word(name)) if self.peek() == Some(&Token::Symbol('(')) && is_function(name) => {
                let value = self.primary()?;
                apply(name, value)
            }
            Some(Token::Word(name)) if is_function(name) => Err(CalcError::Bare(name.to_owned())),
            Some(Token::Word("pi" | "π")) => Quantity::float(std::f64::consts::PI),
            Some(Token::Word("e")) => Quantity::float(std::f64::consts::E),
            Some(Token::Word(name)) => {
                units::find(name).ok_or_else(|| CalcError::Unknown(name.to_owned(), crate::explain(name)))
            }
            Some(token) => Err(CalcError::Unexpected(token.to_string())),
            None => Err(CalcError::Unfinished),
        }
    }
}

const FUNCTIONS: [&str; 18] = [
    "sqrt", "cbrt", "abs", "floor", "ceil", "round", "ln", "log", "log10", "log2", "exp", "sin", "cos",
    "tan", "asin", "acos", "atan", "fact",
];

fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

fn apply(name: &str, value: Quantity) -> Result<Quantity, CalcError> {
    let ratio = |under: i32| Quantity::plain(BigRational::new(1.into(), under.into()));
    let whole = |number: BigRational| Ok(Quantity { exact: value.exact, ..Quantity::plain(number) });
    let number = match name {
        "sqrt" => return value.power(&ratio(2)),
        "cbrt" => return value.power(&ratio(3)),
        "abs" => return Ok(if value.number.is_negative() { value.negative() } else { value }),
        "floor" => return whole(value.pure()?.floor()),
        "ceil" => return whole(value.pure()?.ceil()),
        "round" => return whole(value.pure()?.round()),
        "fact" => return value.factorial(),
        _ => float(value.pure()?),
    };
    Quantity::float(match name {
        "ln" => number.ln(),
        "log" | "log10" => number.log10(),
        "log2" => number.log2(),
        "exp" => number.exp(),
        "sin" => number.sin(),
        "cos" => number.cos(),
        "tan" => number.tan(),
        "asin" => number.asin(),
        "acos" => number.acos(),
        _ => number.atan(),
    })
}
