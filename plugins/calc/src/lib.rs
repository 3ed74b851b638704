//! A calculator for models, which are bad at digits: exact decimals and fractions, and units that are checked. An answer
//! is exact, or it says that it is not.
//!
//! The evaluator is its own. The engine that was tried first, fend-core 1.5.9, shows 0.00000000006 as 1 and takes
//! 10^25 / 3 down to 2^64, and a wrong digit is worse than no calculator.

mod answer;
mod lex;
mod parse;
mod quantity;
mod units;

use answer::{Answer, answer};
use plugport_sdk::prelude::*;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CalcError {
    #[error("the expression is empty; write one such as `0.1 + 0.2` or `10 km / 20 min to km/h`")]
    Empty,
    #[error("the expression is too long; write it in at most 2000 bytes")]
    TooLong,
    #[error("the expression is nested too deeply; use at most 50 brackets and powers within each other")]
    TooDeep,
    #[error("the calculation takes too long; use smaller numbers")]
    TooSlow,
    #[error("a number in it has more than 4900 digits; use smaller numbers, or logarithms")]
    TooLarge,
    #[error("the expression ends too early; something must follow")]
    Unfinished,
    #[error("`{0}` was not expected there; conversions stand at the end, outside brackets")]
    Unexpected(String),
    #[error("a bracket is not closed; conversions such as `to km` stand at the end, outside brackets")]
    Unclosed,
    #[error("`{0}` is not a number; write `1234.5`, `1,234.5` or `1.2e3`")]
    Literal(String),
    #[error("`{0}` needs brackets: `{0}(...)`")]
    Bare(String),
    #[error("`{0}` is not known here; {1}")]
    Unknown(String, &'static str),
    #[error("`1/2 km` can be read in two ways; write `(1/2) km` or `1 / (2 km)`")]
    Unclear,
    #[error("division by zero")]
    DivisionByZero,
    #[error("that has no real value, or one that is too large")]
    Undefined,
    #[error(
        "{0} and {1} are different quantities (`°C` and `°F` are the degrees, `C` and `F` charge and capacity)"
    )]
    Incompatible(String, String),
    #[error("a plain number is needed there, and this is in {0}")]
    NotPlain(String),
    #[error("`{0}` can be converted, but not calculated with; convert to `K` first")]
    Degrees(String),
    #[error("`{0}` has a number in it; convert to a unit, such as `km`, or to `2 dp`")]
    Target(String),
    #[error("the result is not a whole number or not exact, and cannot be shown in that form")]
    Form,
}

/// What to do about a name that is neither a unit nor a function.
pub(crate) fn explain(name: &str) -> &'static str {
    match name {
        "USD" | "EUR" | "GBP" | "JPY" | "CHF" | "CNY" => {
            "exchange rates change, and this tool has no network"
        }
        "roll" | "random" | "rand" => "this tool gives the same answer every time",
        "today" | "now" => "for dates use a clock tool",
        _ => "units have symbols or English names (`km`, `hours`), functions brackets (`sqrt(2)`)",
    }
}

/// Calculate an expression exactly, with units: `0.1 + 0.2`, `2^100`, `10 km / 20 min to km/h`, `5 ft 3 in to cm`.
#[tool(read_only, idempotent)]
fn evaluate(
    /// Numbers, units, `+ - * / ^ ! % mod`, brackets, `pi`, `e`, functions such as `sqrt(2)`, `ln(5)` and
    /// `sin(30 degrees)`; and at the end `to` with a unit, `fraction`, `hex`, `binary`, `2 dp` (decimal places) or `3 sf`
    /// (significant figures).
    expression: String,
) -> Result<Answer, CalcError> {
    answer(&expression)
}

/// Convert a value to another unit.
#[tool(read_only, idempotent)]
fn convert(
    /// A number with its unit: `26.2 miles`, `72 °F`, `3 GiB`.
    value: String,
    /// The unit to convert to: `km`, `°C`, `MB`.
    to: String,
) -> Result<Answer, CalcError> {
    answer(&format!("{value} to {to}"))
}

plugport_sdk::export! { tools: [evaluate, convert] }

#[cfg(test)]
mod tests;
