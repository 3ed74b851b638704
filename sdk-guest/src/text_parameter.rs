//! A parameter that is read from a text: an argument of a prompt, or a variable of a URI template.
//!
//! Method resolution on the parameter's type decides whether the parameter is optional: the inherent methods for
//! `Option<T>` hide those that [`NotOption`] has for every type.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use crate::Error;

/// What can be read from a text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a text; implement `std::str::FromStr` for it, or take `String` or an `Option` of either",
    label = "this type is not made from a text"
)]
pub trait FromText: Sized {
    /// The value.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn from_text(text: &str) -> Result<Self, String>;
}

#[diagnostic::do_not_recommend]
impl<T: FromStr<Err: Display>> FromText for T {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: T::Err| error.to_string())
    }
}

/// Why there is no value.
#[derive(Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The value is missing.
    Missing,
    /// The text is not a value of this type.
    Wrong(String),
}

impl ParseError {
    /// Replaces a missing value.
    ///
    /// # Errors
    /// When the value is wrong.
    pub fn or<T>(self, default: impl FnOnce() -> T) -> Result<T, Self> {
        match self {
            Self::Missing => Ok(default()),
            wrong @ Self::Wrong(_) => Err(wrong),
        }
    }

    /// The error of a request that has this argument.
    pub fn into_error(self, name: &str) -> Error {
        Error::InvalidParams(match self {
            Self::Missing => format!("the argument `{name}` is missing"),
            Self::Wrong(reason) => format!("the argument `{name}` cannot be used: {reason}"),
        })
    }
}

/// A parameter with a name.
pub struct Variable<T> {
    name: &'static str,
    kind: PhantomData<T>,
}

impl<T> Variable<T> {
    /// The parameter of this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, kind: PhantomData }
    }

    fn find<'v>(&self, values: &'v [(String, String)]) -> Option<&'v str> {
        values.iter().find(|(name, _)| name == self.name).map(|(_, value)| value.as_str())
    }
}

impl<T: FromText> Variable<Option<T>> {
    /// Whether it must be given.
    pub const fn required(&self) -> bool {
        false
    }

    /// Its value.
    ///
    /// # Errors
    /// When it is wrong.
    pub fn take(&self, values: &[(String, String)]) -> Result<Option<T>, ParseError> {
        self.find(values).map(T::from_text).transpose().map_err(ParseError::Wrong)
    }
}

/// A type that is not an `Option`.
pub trait NotOption<T> {
    /// Whether it must be given.
    fn required(&self) -> bool {
        true
    }

    /// Its value.
    ///
    /// # Errors
    /// When it is missing or wrong.
    fn take(&self, values: &[(String, String)]) -> Result<T, ParseError>
    where
        T: FromText;
}

impl<T> NotOption<T> for Variable<T> {
    fn take(&self, values: &[(String, String)]) -> Result<T, ParseError>
    where
        T: FromText,
    {
        T::from_text(self.find(values).ok_or(ParseError::Missing)?).map_err(ParseError::Wrong)
    }
}

/// Rejects values that are not parameters.
///
/// # Errors
/// `invalid-params` when a name is none of `known`.
pub fn reject_others(values: &[(String, String)], known: &[&str]) -> Result<(), Error> {
    match values.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, _)) if known.is_empty() => {
            Err(Error::InvalidParams(format!("there is no argument `{name}`; this prompt takes none")))
        }
        Some((name, _)) => Err(Error::InvalidParams(format!(
            "there is no argument `{name}`; this prompt takes {}",
            known.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_option_may_be_missing() {
        let values = [("n".to_owned(), "7".to_owned()), ("x".to_owned(), "?".to_owned())];
        assert_eq!(Variable::<u8>::new("n").take(&values), Ok(7));
        assert_eq!(Variable::<Option<u8>>::new("n").take(&values), Ok(Some(7)));
        assert_eq!(Variable::<Option<u8>>::new("m").take(&values), Ok(None));
        assert_eq!(Variable::<String>::new("m").take(&values), Err(ParseError::Missing));
        assert!(matches!(Variable::<Option<u8>>::new("x").take(&values), Err(ParseError::Wrong(_))));
        assert!(Variable::<u8>::new("n").required() && !Variable::<Option<u8>>::new("n").required());
    }

    #[test]
    fn a_default_stands_in_for_what_is_missing_and_not_for_what_is_wrong() {
        assert_eq!(ParseError::Missing.or(|| 1), Ok(1));
        let wrong = ParseError::Wrong("no".to_owned()).or(|| 1).unwrap_err();
        let error = wrong.into_error("n").to_string();
        assert_eq!(error, "the argument `n` cannot be used: no");
    }

    #[test]
    fn what_nobody_takes_is_rejected() {
        let values = [("z".to_owned(), String::new())];
        let rejected = |known: &[&str]| reject_others(&values, known).unwrap_err().to_string();
        assert_eq!(rejected(&["a", "b"]), "there is no argument `z`; this prompt takes a, b");
        assert_eq!(rejected(&[]), "there is no argument `z`; this prompt takes none");
        assert_eq!(reject_others(&values, &["z"]), Ok(()));
    }
}
