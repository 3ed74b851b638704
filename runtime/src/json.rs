//! JSON that passes through unread: objects whose fields keep their order and their very bytes.
//!
//! A plugin's schemas, `_meta` and future fields must reach the client as they were written. Parsing them into a tree
//! and writing the tree would reorder and reformat them, and take time. Leaf module; any layer may use it.

mod parsed_value;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use parsed_value::{is_private_name, value, value_with_unique_names};

/// A JSON object as written: names with raw values, in order.
#[derive(Debug, Clone, Default)]
pub struct RawObject(Vec<(String, Box<RawValue>)>);

impl RawObject {
    /// Parses the text of an object.
    ///
    /// # Errors
    /// When the text is not one JSON object that every client can read.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        check(text)?;
        serde_json::from_str(text)
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

    /// Removes a field and returns its value.
    pub fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.0.iter().position(|(field, _)| field == name)?;
        Some(self.0.remove(at).1)
    }

    /// The object with this field at its end, instead of another one of its name.
    #[must_use]
    pub fn with(mut self, name: &str, value: Box<RawValue>) -> Self {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value));
        self
    }

    /// The object without the fields whose names `is_removed` selects.
    #[must_use]
    pub fn without(mut self, is_removed: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|(name, _)| !is_removed(name));
        self
    }

    /// Whether there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A string, borrowed where it has no escapes. serde always copies an `Option<Cow<str>>`.
#[derive(Debug, serde::Deserialize)]
pub struct CowStr<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// The values of the fields with these names, without making a tree of them or of the others; `None` for a name that the
/// object lacks, and for all names if there is no object.
#[must_use]
pub fn raw_fields<'a, const N: usize>(object: &'a RawValue, names: [&str; N]) -> [Option<&'a RawValue>; N] {
    let mut values = [None; N];
    for_each_field(object, |name, value| {
        // As everywhere in JSON, the last of several fields of one name counts.
        for (_, found) in names.iter().zip(&mut values).filter(|(wanted, _)| **wanted == name) {
            *found = Some(value);
        }
    });
    values
}

/// Calls `visit` with each field of the object in its order, and not at all if there is no object.
pub fn for_each_field<'a>(object: &'a RawValue, visit: impl FnMut(Cow<'a, str>, &'a RawValue)) {
    struct Fields<F>(F);

    impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue)> Visitor<'de> for Fields<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some((CowStr(name), value)) = map.next_entry::<CowStr<'de>, &RawValue>()? {
                (self.0)(name, value);
            }
            Ok(())
        }
    }

    // A raw value is valid JSON, so an error means that it is no object.
    let _ = serde_json::Deserializer::from_str(object.get()).deserialize_map(Fields(visit));
}

/// How deep a value is nested.
#[must_use]
pub fn depth(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
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
                let mut indices: HashMap<String, usize> = HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    let index = *indices.entry(name.clone()).or_insert(fields.len());
                    match fields.get_mut(index) {
                        // As everywhere in JSON, the last of several fields of one name counts.
                        Some(field) => field.1 = value,
                        None => fields.push((name, value)),
                    }
                }
                Ok(RawObject(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// Deepest nesting that is passed on. Common parsers give up between 64 and 128, and lose the whole response then.
const MAX_DEPTH: usize = 64;

/// A number without an exponent that has fewer characters than this is one that a double holds.
const SAFE_DIGITS: usize = 300;

/// Rejects what is legal JSON and still breaks common parsers: deep nesting, halves of surrogate pairs, and numbers
/// that no double holds.
fn check(text: &str) -> serde_json::Result<()> {
    use serde::de::Error as _;
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (quoted, byte) {
            (_, b'"') => quoted = !quoted,
            (true, b'\\') => {
                rest = after_escape(tail).ok_or_else(|| serde_json::Error::custom("lone surrogate"))?
            }
            (false, b'[' | b'{') => depth += 1,
            (false, b']' | b'}') => depth = depth.saturating_sub(1),
            (false, b'-' | b'0'..=b'9') => {
                rest = after_number(*byte, tail)
                    .ok_or_else(|| serde_json::Error::custom("number out of range"))?
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(serde_json::Error::custom("nested too deeply"));
        }
    }
    Ok(())
}

/// What follows a number that began with `first`, if it is one that a double holds.
fn after_number(first: u8, text: &[u8]) -> Option<&[u8]> {
    let of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    let end = text.iter().position(|byte| !of_number(byte)).unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    if number.len() < SAFE_DIGITS && !number.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return Some(rest);
    }
    let whole = [&[first], number].concat();
    // The parser rejects text that is no number at all.
    let value = std::str::from_utf8(&whole).ok()?.parse::<f64>().unwrap_or_default();
    value.is_finite().then_some(rest)
}

/// What follows an escape, a pair of surrogates counting as one.
fn after_escape(text: &[u8]) -> Option<&[u8]> {
    match (unit(text), text) {
        (Some(0xdc00..=0xdfff), _) => None,
        (Some(0xd800..=0xdbff), [_, _, _, _, _, b'\\', low @ ..]) => {
            matches!(unit(low), Some(0xdc00..=0xdfff)).then(|| low.get(5..)).flatten()
        }
        (Some(0xd800..=0xdbff), _) => None,
        (_, [_, rest @ ..]) => Some(rest),
        (_, []) => Some(text),
    }
}

/// The code unit of an escape: `u` and four digits.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Parses one JSON value, unread.
///
/// # Errors
/// When the text is not one JSON value that every client can read.
pub fn raw(text: &str) -> serde_json::Result<Box<RawValue>> {
    check(text)?;
    RawValue::from_string(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_the_last_of_a_name_counts() {
        let fields = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            raw_fields(&raw, ["a", "b"]).map(|value| value.map(|value| value.get().to_owned()))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(fields(r#"{"a": 1, "c": [{"b": 2}], "\u0061": {"b":3} }"#), [some(r#"{"b":3}"#), None]);
        assert_eq!(fields(r#"{"b":null,"a":"x"}"#), [some("\"x\""), some("null")]);
        for none in ["{}", "[]", "7", "\"a\"", "null"] {
            assert_eq!(fields(none), [None, None], "{none}");
        }
    }

    #[test]
    fn order_and_bytes_survive() {
        let object = RawObject::parse("{\"b\": 1.50,\n \"a\": {\"z\":1,\r\n\"y\": \"\\u00e9\"}}").unwrap();
        assert_eq!(
            serde_json::to_string(&object).unwrap(),
            "{\"b\":1.50,\"a\":{\"z\":1,\r\n\"y\": \"\\u00e9\"}}"
        );
        assert_eq!(object.get("b").map(RawValue::get), Some("1.50"));
        assert!(object.without(|name| name != "c").is_empty());
    }

    #[test]
    fn what_breaks_common_parsers_is_rejected() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(raw(&nested(64)).is_ok() && raw(&nested(65)).is_err());
        assert!(raw(&format!("\"{}\"", "[".repeat(99))).is_ok());
        for good in [r#""\ud83d\ude00""#, r#""\u00e9\\""#, r#""\"[""#] {
            assert!(raw(good).is_ok(), "{good}");
        }
        for bad in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\u0041""#, r#""\ud83dx""#] {
            assert!(raw(bad).is_err(), "{bad}");
        }
        let long = "9".repeat(400);
        for good in ["1e308", "-0.5E-999", "[1, -2.5]", "\"1e999\"", "1234567890123456789012"] {
            assert!(raw(good).is_ok(), "{good}");
        }
        for bad in ["1e999", "{\"a\": -1e400}", long.as_str(), "NaN", "1.2.3", "-"] {
            assert!(raw(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_large_object_is_read_in_time() {
        let fields: Vec<String> = (0..200_000).map(|n| format!("\"k{n}\":{n}")).collect();
        let started = std::time::Instant::now();
        let object = RawObject::parse(&format!("{{{}}}", fields.join(","))).unwrap();
        assert_eq!(object.iter().count(), 200_000);
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
        let twice = RawObject::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(serde_json::to_string(&twice).unwrap(), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn what_is_not_an_object_is_rejected() {
        for text in ["[]", "1", "{", "{} {}", ""] {
            assert!(RawObject::parse(text).is_err(), "{text}");
        }
    }
}
