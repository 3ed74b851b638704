//! JSON objects that every parser reads alike.
//!
//! Parsers disagree on which of two members with the same name counts, and serde_json gives some names a special
//! meaning. A token that the issuer reads in one way and this server in another could bypass both, so such an object is
//! rejected.

use serde_json::error::Category;
use serde_json::{Map, Value};

use crate::json;

/// Why a text is not an acceptable object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonError {
    #[error("it is no JSON object")]
    NoObject,
    #[error("a name stands twice in one object, or begins with `$serde_json::private::`")]
    AmbiguousName,
}

/// Parses an object.
pub(super) fn object(text: &[u8]) -> Result<Map<String, Value>, JsonError> {
    match json::value_with_unique_names(text) {
        Ok(Value::Object(object)) => Ok(object),
        Err(error) if error.classify() == Category::Data => Err(JsonError::AmbiguousName),
        Ok(_) | Err(_) => Err(JsonError::NoObject),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_programs_read_in_different_ways_are_rejected() {
        for text in [
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":[[{"a":1,"a":2}]]}"#,
            r#"{"$serde_json::private::RawValue":"{\"sub\":\"eve\"}"}"#,
            r#"{"sub":{"$serde_json::private::Number":"1"}}"#,
        ] {
            assert_eq!(object(text.as_bytes()), Err(JsonError::AmbiguousName), "{text}");
        }
        let expected = json!({ "a": { "a": 1 }, "b": [{ "a": 1 }, { "a": 1 }] });
        assert_eq!(object(expected.to_string().as_bytes()).map(Value::Object), Ok(expected));
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
