//! Accepts an object of scalars without the validator, where it certainly fits.
//!
//! The arguments of most tools are a few strings and numbers. Making values of them, walking the schema and dropping
//! the values took as long as everything else that is read of a small call. So a schema that says no more than names
//! and types is kept as a list too, and comparing a text with the list takes one pass and no copy. Only the validator
//! rejects, and it says why: a text that is unusual in any way goes there. The pass is short for any text, so it has no
//! budget.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{CowStr, is_private_name};

/// Properties of a schema, and of a text, up to which they are compared here.
const MAX_PROPERTIES: usize = 32;

/// Digits of an integer that fits into every type for numbers.
const MAX_DIGITS: usize = 15;

/// Keywords that restrict nothing.
const ANNOTATIONS: &[&str] = &[
    "$comment",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// A schema that names the properties of an object, each of a scalar type.
#[derive(Debug)]
pub(super) struct ScalarObject {
    properties: Box<[Property]>,
    /// Whether there may be no other properties.
    is_closed: bool,
}

#[derive(Debug)]
struct Property {
    name: Box<str>,
    scalar: Scalar,
    is_required: bool,
}

/// The type of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    String,
    Integer,
    Number,
    Boolean,
}

impl ScalarObject {
    /// The list of a schema; `None` if the schema says anything else.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let keywords = schema.as_object()?;
        let is_known = |(keyword, value): (&String, &Value)| match keyword.as_str() {
            "type" => value == "object",
            "properties" | "required" => true,
            "additionalProperties" => value.is_boolean(),
            keyword => ANNOTATIONS.contains(&keyword),
        };
        if !keywords.contains_key("type") || !keywords.iter().all(is_known) {
            return None;
        }
        let mut properties = Vec::new();
        if let Some(subschemas) = keywords.get("properties") {
            for (name, schema) in subschemas.as_object()? {
                properties.push(Property {
                    name: name.as_str().into(),
                    scalar: Scalar::of(schema)?,
                    is_required: false,
                });
            }
        }
        if let Some(required) = keywords.get("required") {
            for name in required.as_array()? {
                let name = name.as_str()?;
                properties.iter_mut().find(|property| &*property.name == name)?.is_required = true;
            }
        }
        let is_closed = keywords.get("additionalProperties").and_then(Value::as_bool) == Some(false);
        (properties.len() <= MAX_PROPERTIES).then(|| Self { properties: properties.into(), is_closed })
    }

    /// Whether a JSON text certainly fits, and is read without an error and without a null.
    pub(super) fn certainly_fits(&self, text: &str) -> bool {
        // A lone surrogate is an error only where a string is decoded, and values are not decoded here.
        if text.contains("\\u") {
            return false;
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        matches!(ObjectVisitor(self).deserialize(&mut reader), Ok(true)) && reader.end().is_ok()
    }
}

impl Scalar {
    fn of(schema: &Value) -> Option<Self> {
        let keywords = schema.as_object()?;
        if keywords.keys().any(|keyword| keyword != "type" && !ANNOTATIONS.contains(&keyword.as_str())) {
            return None;
        }
        Some(match keywords.get("type")?.as_str()? {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The type of a value, if it is a scalar that every JSON parser reads as the same.
    fn of_value(json: &str) -> Option<Self> {
        let (first, rest) = json.as_bytes().split_first()?;
        match first {
            b'"' => Some(Self::String),
            b't' | b'f' => Some(Self::Boolean),
            b'0' if rest.is_empty() => Some(Self::Integer),
            b'1'..=b'9' if rest.len() < MAX_DIGITS => {
                if rest.iter().all(u8::is_ascii_digit) {
                    return Some(Self::Integer);
                }
                rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.').then_some(Self::Number)
            }
            _ => None,
        }
    }

    /// Whether a value of type `value` is one of this type. Whether `1.0` is an integer, the validator decides.
    fn includes(self, value: Self) -> bool {
        self == value || (self == Self::Number && value == Self::Integer)
    }
}

/// Compares the properties of an object with the list.
struct ObjectVisitor<'s>(&'s ScalarObject);

impl<'de> DeserializeSeed<'de> for ObjectVisitor<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let Self(ScalarObject { properties, is_closed }) = self;
        let mut missing: u32 = 0;
        for (at, property) in properties.iter().enumerate() {
            missing |= u32::from(property.is_required) << at;
        }
        let (mut seen, mut count): (u32, usize) = (0, 0);
        while let Some((CowStr(name), value)) = map.next_entry::<CowStr<'de>, &'de RawValue>()? {
            let Some(scalar) = Scalar::of_value(value.get()) else { return Ok(false) };
            count += 1;
            let fits = match find(properties, &name) {
                // Of two properties with one name the last one counts, so the validator has to decide.
                Some((at, property)) => {
                    let is_first = seen & (1 << at) == 0;
                    seen |= 1 << at;
                    is_first && property.scalar.includes(scalar)
                }
                None => !is_closed && !is_private_name(&name),
            };
            if !fits || count > MAX_PROPERTIES {
                return Ok(false);
            }
        }
        missing &= !seen;
        Ok(missing == 0)
    }
}

fn find<'m>(properties: &'m [Property], name: &str) -> Option<(usize, &'m Property)> {
    properties.iter().enumerate().find(|(_, property)| *property.name == *name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::schema::Schema;
    use crate::config::Limits;
    use crate::config::fixed_limits::PATTERNS;

    fn schema(additional: bool) -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "s": { "type": "string", "description": "text" },
                "i": { "type": "integer", "default": 1 },
                "n": { "type": "number" },
                "b": { "type": "boolean" },
            },
            "required": ["s"],
            "additionalProperties": additional,
        })
    }

    #[test]
    fn what_is_accepted_here_the_validator_accepts_too() {
        let values = [
            "\"x\"",
            "\"\\n\"",
            "\"\\u0041\"",
            "\"\\ud800\"",
            "0",
            "-0",
            "7",
            "-7",
            "1.0",
            "1.5",
            "1e2",
            "1e999",
            "123456789012345",
            "1234567890123456789012",
            "true",
            "false",
            "null",
            "[]",
            "[1]",
            "{}",
            "{\"a\":null}",
        ];
        let mut accepted = 0;
        for additional in [true, false] {
            let schema = schema(additional);
            let compiled = Schema::of_arguments(&schema.to_string(), &Limits::default(), PATTERNS).unwrap();
            let scalars = ScalarObject::of(&schema).unwrap();
            for name in ["s", "i", "n", "b", "other"] {
                for value in values {
                    for text in [
                        format!("{{\"{name}\":{value}}}"),
                        format!("{{ \"s\" : \"\", \"{name}\": {value} }}"),
                        format!("{{\"{name}\":{value},\"s\":\"\"}}"),
                        format!("{{\"s\":5,\"{name}\":{value}}}"),
                    ] {
                        if scalars.certainly_fits(&text) {
                            accepted += 1;
                            let value: Value = serde_json::from_str(&text).unwrap();
                            let checked = compiled.validate_if_short(&value, text.len());
                            assert_eq!(checked, Some(Ok(())), "{text}");
                            assert!(!text.contains("null"), "{text}");
                        }
                    }
                }
            }
        }
        assert!(accepted > 50, "{accepted}");
    }

    #[test]
    fn usual_arguments_are_accepted() {
        let open = ScalarObject::of(&schema(true)).unwrap();
        for text in [
            r#"{"s":"a long text, with a \"quote\"\n"}"#,
            r#"{"b":true,"n":2.5,"i":12,"s":"x"}"#,
            r#"{"n":2,"s":"null","more":"x"}"#,
        ] {
            assert!(open.certainly_fits(text), "{text}");
        }
        for text in [
            r#"{"i":1}"#,
            r#"{"s":"x","$serde_json::private::RawValue":"1"}"#,
            r#"{"s":"x"} x"#,
            r#"["s"]"#,
            r#"{"s":"x","s":"y"}"#,
            r#"{"s":"x","i":1.0}"#,
        ] {
            assert!(!open.certainly_fits(text), "{text}");
        }
        let many: Vec<String> = (0..MAX_PROPERTIES).map(|n| format!("\"m{n}\":{n},")).collect();
        assert!(!open.certainly_fits(&format!("{{{}\"s\":\"\"}}", many.concat())));
        assert!(ScalarObject::of(&json!({ "type": "object" })).unwrap().certainly_fits("{}"));
    }

    #[test]
    fn a_schema_that_says_more_is_left_to_the_validator() {
        for keywords in [
            json!({ "properties": { "s": { "type": "string", "minLength": 1 } } }),
            json!({ "properties": { "s": { "type": ["string", "null"] } } }),
            json!({ "properties": { "s": { "enum": ["x"] } } }),
            json!({ "properties": { "s": true } }),
            json!({ "properties": { "s": { "type": "array" } } }),
            json!({ "required": ["s"] }),
            json!({ "minProperties": 1 }),
            json!({ "additionalProperties": { "type": "string" } }),
            json!({ "$ref": "#/$defs/x" }),
        ] {
            let mut schema = json!({ "type": "object" });
            schema.as_object_mut().unwrap().extend(keywords.as_object().unwrap().clone());
            assert!(ScalarObject::of(&schema).is_none(), "{schema}");
        }
        assert!(
            ScalarObject::of(&json!({ "type": ["object"] })).is_none()
                && ScalarObject::of(&json!({})).is_none()
        );
    }
}
