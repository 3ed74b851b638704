//! Converts the JSON object of the host into the parameters of a function.
//!
//! Each parameter is read from its own slice of the text, which costs no intermediate tree, and lets every message name
//! the argument that is wrong. The type decides whether an argument is optional, not the spelling of the type, so an
//! alias of `Option<T>` is as optional as `Option<T>`. The schema uses the same rule.

use std::collections::BTreeMap;

use serde::de::value::Error as MissingError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde_json::value::RawValue;

use crate::{Error, whole_numbers};

/// The arguments of one call, by name.
#[derive(Debug)]
pub struct Arguments<'a> {
    values: BTreeMap<String, &'a RawValue>,
}

impl<'a> Arguments<'a> {
    /// Splits the object into its members, and rejects names that the tool does not have.
    ///
    /// # Errors
    /// `invalid-params` when this is no object, or has a member that is none of `known`.
    pub fn parse(text: &'a str, known: &[&str]) -> Result<Self, Error> {
        let values = members(text)?;
        match values.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self { values }),
            Some(name) if known.is_empty() => {
                Err(Error::InvalidParams(format!("there is no argument `{name}`; this tool takes none")))
            }
            Some(name) => Err(Error::InvalidParams(format!(
                "there is no argument `{name}`; this tool takes {}",
                known.join(", ")
            ))),
        }
    }

    /// The JSON of one argument.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.values.get(name).map(|value| value.get())
    }
}

/// The arguments as one value.
pub(crate) fn whole<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    whole_numbers::read(text).map_err(|(error, text)| unusable(member_at(&text, &error).as_deref(), &error))
}

/// The error for an argument of the wrong type, without serde's position, since the model never saw the text.
pub(crate) fn unusable(name: Option<&str>, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let reason = message.strip_suffix(&position).unwrap_or(&message);
    Error::InvalidParams(match name {
        Some(name) => format!("the argument `{name}` cannot be used: {reason}"),
        None => format!("the arguments cannot be used: {reason}"),
    })
}

/// The value of a missing argument: `Some(None)` for an `Option`; `None` for most types, which need a value.
pub(crate) fn absent<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Missing).ok()
}

fn members(text: &str) -> Result<BTreeMap<String, &RawValue>, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::InvalidParams(format!("the arguments are not a JSON object: {error}")))
}

/// The member in which deserialising stopped, since serde's own messages do not name it.
fn member_at(text: &str, error: &serde_json::Error) -> Option<String> {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len);
    let stopped = lines.sum::<usize>() + error.column();
    let values = members(text).ok()?;
    values.into_iter().find_map(|(name, value)| {
        let start = value.get().as_ptr().addr() - text.as_ptr().addr();
        (start < stopped && stopped <= start + value.get().len()).then_some(name)
    })
}

/// A deserializer without a value: only an `Option` can be read from it.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = MissingError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, MissingError> {
        Err(MissingError::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MissingError> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Parameter;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Point {
        x: i32,
        label: String,
    }

    fn error_text<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
        match result.unwrap_err() {
            Error::InvalidParams(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_argument_is_read_and_a_wrong_one_is_named() {
        let arguments = Arguments::parse(r#"{"a": "\u0041", "b": 2}"#, &["a", "b", "c"]).unwrap();
        let text = |name| Parameter::<String>::new(name, None).take(&arguments);
        assert_eq!(text("a"), Ok("A".to_owned()));
        assert_eq!(
            error_text(text("b")),
            "the argument `b` cannot be used: invalid type: integer `2`, expected a string"
        );
        assert_eq!(error_text(text("c")), "the argument `c` is missing");
    }

    #[test]
    fn a_null_is_nothing_where_something_may_be_missing() {
        let arguments = Arguments::parse(r#"{"c": null}"#, &["c"]).unwrap();
        let defaulted = Parameter::<u8>::new("c", None).or(|| Some(7), || None);
        assert_eq!(defaulted.take(&arguments), Ok(7));
        let with_null = Parameter::<Option<u8>>::new("c", None).or(|| Some(Some(7)), || None);
        assert_eq!(with_null.take(&arguments), Ok(None));
        assert!(error_text(Parameter::<u8>::new("c", None).take(&arguments)).contains("`c` cannot be used"));
    }

    #[test]
    fn an_integer_may_be_written_as_a_float() {
        let arguments = Arguments::parse(r#"{"a": 2.0, "b": [1e2, "1e2"]}"#, &["a", "b"]).unwrap();
        assert_eq!(Parameter::<i8>::new("a", None).take(&arguments), Ok(2));
        let pair = Parameter::<(u8, String)>::new("b", None).take(&arguments);
        assert_eq!(pair, Ok((100, "1e2".to_owned())));
        assert_eq!(whole::<Point>(r#"{"x": -3.0, "label": "3.0"}"#).unwrap().x, -3);
        assert_eq!(
            error_text(whole::<Point>(r#"{"x": -3.0, "label": 12}"#)),
            "the argument `label` cannot be used: invalid type: integer `12`, expected a string"
        );
    }

    #[test]
    fn an_argument_may_be_left_out_when_its_type_or_a_default_stands_in() {
        let arguments = Arguments::parse("{}", &["c"]).unwrap();
        let optional = Parameter::<Option<u8>>::new("c", None);
        assert_eq!(optional.take(&arguments), Ok(None));
        let defaulted = Parameter::new("c", None).or(|| Some(7), || None);
        assert_eq!(defaulted.take(&arguments), Ok(7));
    }

    #[test]
    fn an_unknown_argument_is_rejected() {
        let rejected = |known| error_text(Arguments::parse(r#"{"z": 1}"#, known));
        assert_eq!(rejected(&["a", "b"]), "there is no argument `z`; this tool takes a, b");
        assert_eq!(rejected(&[]), "there is no argument `z`; this tool takes none");
    }

    #[test]
    fn something_else_than_an_object_is_rejected() {
        assert!(error_text(Arguments::parse("[]", &[])).starts_with("the arguments are not a JSON object"));
    }

    #[test]
    fn the_member_that_a_struct_does_not_like_is_named() {
        let point = |text| whole::<Point>(text);
        assert_eq!(point(r#"{"x": 1, "label": "here"}"#), Ok(Point { x: 1, label: "here".to_owned() }));
        assert_eq!(
            error_text(point("{\"x\": 1,\n \"label\": 12}")),
            "the argument `label` cannot be used: invalid type: integer `12`, expected a string"
        );
        assert_eq!(error_text(point(r#"{"x": 1}"#)), "the arguments cannot be used: missing field `label`");
    }
}
