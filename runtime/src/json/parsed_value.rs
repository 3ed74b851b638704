//! Parses JSON into a tree, and rejects names that programs read in different ways.
//!
//! serde_json with its feature `raw_value` reads `{"$serde_json::private::RawValue":"5"}` as the number 5, wherever it
//! stands. So a validator would see other arguments than the conditions of roles, which read the text, and than a guest
//! in another language. Such a name is in no honest message, and a guest in Rust may read it either way, so it is
//! rejected.
//!
//! Programs also differ in which of two members of one name counts. Tokens and the documents of authorization servers
//! must not have two; elsewhere the last one counts.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::de::Read;
use serde_json::{Map, Value};

/// What the names begin with that serde_json keeps for itself.
const PRIVATE: &str = "$serde_json::private::";

/// Whether serde_json may take an object with this name for something else.
pub(crate) fn is_private_name(name: &str) -> bool {
    name.starts_with(PRIVATE)
}

/// Parses a value. The last of several members of one name counts.
///
/// # Errors
/// When the text is not JSON, or has a name that serde_json keeps for itself.
pub(crate) fn value(text: &str) -> serde_json::Result<Value> {
    parse(serde_json::Deserializer::from_str(text), Names::Repeatable)
}

/// Parses a value in which every name stands once in its object, at any depth.
///
/// # Errors
/// When the text is not JSON, or has a name twice or one that serde_json keeps for itself. Only an error about a name
/// has the category `Data`.
pub(crate) fn value_with_unique_names(text: &[u8]) -> serde_json::Result<Value> {
    parse(serde_json::Deserializer::from_slice(text), Names::Unique)
}

fn parse<'de>(
    mut deserializer: serde_json::Deserializer<impl Read<'de>>,
    names: Names,
) -> serde_json::Result<Value> {
    let value = ValueVisitor(names).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// How often a name may stand in one object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Repeatable,
    Unique,
}

/// Accepts every value except for its names.
#[derive(Clone, Copy)]
struct ValueVisitor(Names);

impl<'de> DeserializeSeed<'de> for ValueVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if is_private_name(&name) {
                return Err(A::Error::custom(format_args!("a name must not begin with `{PRIVATE}`")));
            }
            let value = members.next_value_seed(self)?;
            if object.insert(name, value).is_some() && self.0 == Names::Unique {
                return Err(A::Error::custom("a name must not stand twice in one object"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::error::Category;

    use super::*;

    /// Whether text is rejected for a name where names must be unique.
    fn is_about_a_name(text: &str) -> bool {
        value_with_unique_names(text.as_bytes()).is_err_and(|error| error.classify() == Category::Data)
    }

    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            "null",
            "true",
            "-0",
            "-1",
            "18446744073709551615",
            "1e2",
            "0.1",
            "1234567890123456789012",
            "\"\\u00e9\\n\"",
            r#"[1,[],{},"x"]"#,
            r#"{"b":1,"a":{"c":[null]},"b":2}"#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            let read = value(text).unwrap();
            assert_eq!((&read, read.to_string()), (&expected, expected.to_string()), "{text}");
        }
        let deep = "[".repeat(200);
        for text in ["", "{", "[1,]", "1e999", "\"\\ud800\"", "1 2", "{\"a\"}", deep.as_str()] {
            assert!(value(text).is_err() && serde_json::from_str::<Value>(text).is_err(), "{text}");
            assert!(!is_about_a_name(text), "{text}");
        }
    }

    #[test]
    fn what_serde_json_takes_for_something_else_is_rejected() {
        let raw = r#"{"$serde_json::private::RawValue":"5"}"#;
        assert_eq!(serde_json::from_str::<Value>(raw).unwrap(), Value::from(5));
        for text in [
            raw,
            r#"{"\u0024serde_json::private::RawValue":"5"}"#,
            r#"{"a":[{"$serde_json::private::RawValue":"{}"}]}"#,
            r#"{"a":1,"$serde_json::private::Number":"5"}"#,
        ] {
            assert!(value(text).is_err() && is_about_a_name(text), "{text}");
        }
        let honest = r#"{"$serde_json":"$serde_json::private::RawValue"}"#;
        assert!(value(honest).is_ok() && value_with_unique_names(honest.as_bytes()).is_ok());
    }

    #[test]
    fn a_name_that_must_be_unique_stands_once_in_each_object() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":{"a":1,"b":2,"a":3}}"#,
            r#"[[{"a":1,"a":2}]]"#,
        ] {
            assert!(value(text).is_ok() && is_about_a_name(text), "{text}");
        }
        let text =
            r#"{"a":{"a":[1,-2,3.5,1e3,true,null,"x\u00e9\n",{}]},"b":[{"a":1},{"a":18446744073709551615}]}"#;
        assert_eq!(value_with_unique_names(text.as_bytes()).unwrap(), value(text).unwrap());
    }
}
