//! JSON objects in which every name stands once, at any depth.
//!
//! Programs differ in which of two members of one name counts. A token that an issuer reads in one way and this server
//! in another would be a way around both, so such an object is no value here.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};

/// Why text is no such object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonError {
    #[error("it is no JSON object")]
    NoObject,
    #[error("a name stands twice in one object")]
    DuplicateName,
}

/// Parses an object.
pub(super) fn object(text: &[u8]) -> Result<Map<String, Value>, JsonError> {
    match serde_json::from_slice(text) {
        Ok(StrictValue(Value::Object(object))) => Ok(object),
        // The visitor below accepts every value, so it is the only source of such an error.
        Err(error) if error.classify() == Category::Data => Err(JsonError::DuplicateName),
        Ok(_) | Err(_) => Err(JsonError::NoObject),
    }
}

/// A value without duplicate names.
struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
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
        while let Some(StrictValue(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, StrictValue(value))) = members.next_entry::<String, StrictValue>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("duplicate name"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_as_for_everybody_else() {
        let text = r#"{"a":[1,-2,3.5,1e3,true,null,"x\u00e9\n",{}],"b":{"c":[]},"d":18446744073709551615}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Value::Object(object(text.as_bytes()).unwrap()), expected);
    }

    #[test]
    fn a_name_stands_once_at_any_depth() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":{"a":1,"b":2,"a":3}}"#,
            r#"{"x":[[{"a":1,"a":2}]]}"#,
        ] {
            assert_eq!(object(text.as_bytes()), Err(JsonError::DuplicateName), "{text}");
        }
        assert!(object(br#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#).is_ok());
    }

    #[test]
    fn what_is_no_object_is_rejected() {
        let deep = format!("{}{}", "{\"a\":".repeat(200), "1");
        for text in
            ["", "[]", "1", "null", "{", "{} {}", "{\"a\":1,}", "{'a':1}", "{\"a\":1e999}", deep.as_str()]
        {
            assert_eq!(object(text.as_bytes()), Err(JsonError::NoObject), "{text}");
        }
        assert_eq!(object(b"{\"a\":\"\xff\"}"), Err(JsonError::NoObject));
    }
}
