//! Parses JSON into a tree, and rejects what serde_json takes for something else.
//!
//! serde_json with its feature `raw_value` reads `{"$serde_json::private::RawValue":"5"}` as the number 5, wherever it
//! stands. So a validator would see other arguments than the conditions of roles, which read the text, and than a guest
//! in another language. Such a name is in no honest message, and a guest in Rust may read it either way, so it is
//! rejected.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// What the names begin with that serde_json keeps for itself.
const PRIVATE: &str = "$serde_json::private::";

/// Whether serde_json may take an object with this name for something else.
pub(crate) fn is_private_name(name: &str) -> bool {
    name.starts_with(PRIVATE)
}

/// Parses a value.
///
/// # Errors
/// When the text is not JSON, or has a name that serde_json keeps for itself.
pub(crate) fn value(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str::<ParsedValue>(text).map(|ParsedValue(value)| value)
}

/// A value without such names.
struct ParsedValue(Value);

impl<'de> Deserialize<'de> for ParsedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

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
        while let Some(ParsedValue(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, ParsedValue(value))) = members.next_entry::<String, ParsedValue>()? {
            if is_private_name(&name) {
                return Err(A::Error::custom(format_args!("a name must not begin with `{PRIVATE}`")));
            }
            // The last of several values of one name counts.
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(value(text).is_err(), "{text}");
        }
        assert!(value(r#"{"$serde_json":"$serde_json::private::RawValue"}"#).is_ok());
    }
}
