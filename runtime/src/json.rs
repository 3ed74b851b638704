//! JSON that passes through unread: objects whose fields keep their order and their very bytes.
//!
//! A plugin's schemas, `_meta` and future fields must reach the client as they were written, and parsing them into a
//! tree only to write them out again would reorder, reformat and cost. Leaf module; any layer may use it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON object as written: names with raw values, in order.
#[derive(Debug, Clone, Default)]
pub struct RawObject(Vec<(String, Box<RawValue>)>);

impl RawObject {
    /// Parses the text of an object. Line breaks, which JSON allows only between tokens, become spaces, so that the
    /// result can be framed by lines.
    ///
    /// # Errors
    /// When the text is not one JSON object.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(&one_line(text))
    }

    /// The fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// Without the fields that `unwanted` names.
    #[must_use]
    pub fn without(mut self, unwanted: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|(name, _)| !unwanted(name));
        self
    }

    /// Whether there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl serde::Serialize for RawObject {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    fields.retain(|(other, _)| *other != name);
                    fields.push((name, value));
                }
                Ok(RawObject(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// JSON text on one line. A raw line break can only stand between tokens, where a space means the same.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ").into() } else { text.into() }
}

/// Parses one JSON value into text on one line, unread.
///
/// # Errors
/// When the text is not one JSON value.
pub fn raw(text: &str) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(one_line(text.trim()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_bytes_survive_and_line_breaks_do_not() {
        let object = RawObject::parse("{\"b\": 1.50,\n \"a\": {\"z\":1,\r\n\"y\": \"\\u00e9\"}}").unwrap();
        assert_eq!(
            serde_json::to_string(&object).unwrap(),
            "{\"b\":1.50,\"a\":{\"z\":1,  \"y\": \"\\u00e9\"}}"
        );
        assert_eq!(object.get("b").map(RawValue::get), Some("1.50"));
        assert!(object.without(|name| name != "c").is_empty());
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        for text in ["[]", "1", "{", "{} {}", ""] {
            assert!(RawObject::parse(text).is_err(), "{text}");
        }
    }
}
