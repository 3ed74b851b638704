//! Arguments that a client repeats in headers (`x-mcp-header`, 2026-07-28), read from a tool's schema once.
//!
//! Clients ignore a tool whose annotations break the rules, so such a tool is rejected here with a message for its
//! author. The headers of a request are checked in `transport/http/header_validation.rs`.

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;

/// The annotation.
const KEYWORD: &str = "x-mcp-header";

/// Keywords whose value is data, in which the annotation means nothing.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// The type of an argument that is repeated, and its form in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// As it is.
    Text,
    /// In decimal.
    Integer,
    /// `true` or `false`.
    Boolean,
}

/// One argument that is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    /// The header's name in lower case, `mcp-param-` included.
    pub header: String,
    /// The names of the properties that lead to it.
    pub path: Vec<String>,
    /// What it is.
    pub kind: ParamKind,
}

/// Why the annotations of a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamHeaderError {
    /// Not a token.
    #[error("an `x-mcp-header` in its schema is not the name of a header; use letters, digits and `-`")]
    Name,
    /// The same name twice.
    #[error("two `x-mcp-header` in its schema have the same name; rename one")]
    Twice,
    /// A type that has no text of its own.
    #[error("an `x-mcp-header` in its schema stands at a property that is not a string, integer or boolean")]
    Type,
    /// A property that is not reached by `properties` alone.
    #[error("an `x-mcp-header` in its schema stands where `properties` alone do not lead")]
    Place,
}

impl ParamHeader {
    /// Finds the annotations of a schema.
    ///
    /// # Errors
    /// When one breaks the rules.
    pub fn all(schema: &RawValue) -> Result<Vec<Self>, ParamHeaderError> {
        // Most schemas have no annotation. One with a backslash may have it in an escaped spelling.
        if !schema.get().contains(KEYWORD) && !schema.get().contains('\\') {
            return Ok(Vec::new());
        }
        let value: Value = serde_json::from_str(schema.get()).unwrap_or_default();
        let mut headers = Vec::new();
        walk(&value, Some(Vec::new()), &mut headers)?;
        let mut names = HashSet::new();
        if headers.iter().any(|header| !names.insert(header.header.clone())) {
            return Err(ParamHeaderError::Twice);
        }
        Ok(headers)
    }
}

/// Searches a schema. `path` is `None` where `properties` alone do not lead.
fn walk(
    schema: &Value,
    path: Option<Vec<String>>,
    headers: &mut Vec<ParamHeader>,
) -> Result<(), ParamHeaderError> {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.iter().try_for_each(|item| walk(item, None, headers)),
        _ => return Ok(()),
    };
    if let Some(name) = fields.get(KEYWORD) {
        let path = path.clone().filter(|path| !path.is_empty()).ok_or(ParamHeaderError::Place)?;
        headers.push(ParamHeader { header: header(name)?, path, kind: kind(fields.get("type"))? });
    }
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (property, schema) in properties {
                    let longer = path.clone().map(|path| [path, vec![property.clone()]].concat());
                    walk(schema, longer, headers)?;
                }
            }
            (name, _) if DATA.contains(&name) || name == KEYWORD => {}
            _ => walk(value, None, headers)?,
        }
    }
    Ok(())
}

fn header(name: &Value) -> Result<String, ParamHeaderError> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let name = name.as_str().filter(|name| !name.is_empty() && name.bytes().all(token));
    name.map(|name| format!("mcp-param-{}", name.to_ascii_lowercase())).ok_or(ParamHeaderError::Name)
}

fn kind(name: Option<&Value>) -> Result<ParamKind, ParamHeaderError> {
    // The type of an optional argument is often written as a list of the type and `null`.
    let name = match name {
        Some(Value::Array(names)) => {
            match names.iter().filter(|name| *name != "null").collect::<Vec<_>>()[..] {
                [name] => name.as_str(),
                _ => None,
            }
        }
        name => name.and_then(Value::as_str),
    };
    match name {
        Some("string") => Ok(ParamKind::Text),
        Some("integer") => Ok(ParamKind::Integer),
        Some("boolean") => Ok(ParamKind::Boolean),
        _ => Err(ParamHeaderError::Type),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(properties: &str) -> Result<Vec<ParamHeader>, ParamHeaderError> {
        let schema = format!(r#"{{"type":"object","properties":{properties}}}"#);
        ParamHeader::all(&RawValue::from_string(schema).unwrap())
    }

    #[test]
    fn annotated_properties_are_found_at_their_paths() {
        let headers = all(r#"{"q":{"type":"string"},"in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Num"}}},
            "r":{"type":["string","null"],"x-mcp-header":"Region"}}"#)
        .unwrap();
        assert_eq!(
            headers,
            [
                ParamHeader {
                    header: "mcp-param-num".into(),
                    path: vec!["in".into(), "n".into()],
                    kind: ParamKind::Integer
                },
                ParamHeader {
                    header: "mcp-param-region".into(),
                    path: vec!["r".into()],
                    kind: ParamKind::Text
                },
            ]
        );
        assert_eq!(all(r#"{"q":{"type":"string"}}"#), Ok(Vec::new()));
        assert_eq!(all(r#"{"q":{"default":{"x-mcp-header":""}}}"#), Ok(Vec::new()));
    }

    #[test]
    fn annotations_that_clients_refuse_are_rejected() {
        let one = |schema: &str| all(&format!(r#"{{"a":{schema}}}"#)).unwrap_err();
        assert_eq!(one(r#"{"type":"string","x-mcp-header":""}"#), ParamHeaderError::Name);
        assert_eq!(one(r#"{"type":"string","x-mcp-header":"a b"}"#), ParamHeaderError::Name);
        assert_eq!(one(r#"{"type":"string","x-mcp-header":"a\r\nb"}"#), ParamHeaderError::Name);
        assert_eq!(one(r#"{"type":"string","x-mcp-header":5}"#), ParamHeaderError::Name);
        assert_eq!(one(r#"{"type":"number","x-mcp-header":"A"}"#), ParamHeaderError::Type);
        assert_eq!(one(r#"{"x-mcp-header":"A"}"#), ParamHeaderError::Type);
        let item = r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#;
        assert_eq!(one(item), ParamHeaderError::Place);
        let choice = r#"{"anyOf":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}]}"#;
        assert_eq!(one(choice), ParamHeaderError::Place);
        let twice = r#"{"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}}"#;
        assert_eq!(all(twice), Err(ParamHeaderError::Twice));
        let escaped = r#"{"a":{"type":"string","x-mcp-he\u0061der":""}}"#;
        assert_eq!(all(escaped), Err(ParamHeaderError::Name));
    }
}
