//! A calculator for models, which are bad at digits. Numbers are fractions of large integers, so that 0.1 + 0.2 is 0.3,
//! and an answer that had to be rounded says so.

mod number;
mod parse;
mod units;

use number::Answer;
use plugport_sdk::prelude::*;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CalcError {
    #[error("the expression ends too early; a number or a closing bracket must follow")]
    Unfinished,
    #[error(
        "`{0}` was not expected there; write as in `2 * (3 + 4.5)`, and a unit only at the end: `5 km to m`"
    )]
    Unexpected(String),
    #[error("the expression is too long; use at most 1000 bytes, and 50 brackets and powers")]
    TooLong,
    #[error("a number in it has more than 300 digits; use smaller numbers")]
    TooLarge,
    #[error("division by zero; change the divisor")]
    DivisionByZero,
    #[error("a power must be a whole number; there are no roots here")]
    Power,
    #[error("`%` is the remainder by a positive number; write 20% as `20/100`")]
    Remainder,
    #[error(
        "`{0}` is not a unit known here; use one such as `km`, `miles`, `kg`, `min`, `GiB`, `km/h` or `°C`"
    )]
    Unit(String),
    #[error("`{0}` and `{1}` measure different things; convert to a unit of the same kind")]
    Incompatible(String, String),
}

/// Calculate exactly: `0.1 + 0.2`, `2^100`, `(5 + 3/12) ft to cm`.
#[tool(read_only, idempotent)]
fn evaluate(
    /// Numbers, `+ - * / ^`, `%` (remainder) and brackets. To convert the whole, a unit, `to` and another unit at the
    /// end.
    expression: String,
) -> Result<Answer, CalcError> {
    match expression.rsplit_once(" to ") {
        Some((value, to)) => convert(value.to_owned(), to.to_owned()),
        None => Ok(Answer::new(&parse::number(&expression)?, "")),
    }
}

/// Convert a value to another unit.
#[tool(read_only, idempotent)]
fn convert(
    /// A number with its unit: `26.2 miles`, `72 °F`, `3 GiB`.
    value: String,
    /// The unit to convert to: `km`, `°C`, `MB`.
    to: String,
) -> Result<Answer, CalcError> {
    let (number, from) = units::split(value.trim());
    let (from, to) = (units::find(from)?, units::find(to.trim())?);
    if from.base != to.base {
        return Err(CalcError::Incompatible(from.name, to.name));
    }
    let base = parse::number(number)? * from.factor + from.zero;
    Ok(Answer::new(&((base - to.zero) / to.factor), &to.name))
}

plugport_sdk::export! { tools: [evaluate, convert] }

#[cfg(test)]
mod tests;
