//! Schemas for revisions before 2026-07-28: there each property is an object, while JSON Schema also allows `true` and
//! `false`. Because of one such property strict clients would reject the whole list.

use serde_json::value::RawValue;

use crate::json::{self, RawObject};

/// The schema with objects instead of `true` and `false`; `None` when it has neither.
pub(super) fn convert(schema: &RawValue) -> Option<Box<RawValue>> {
    let schema = RawObject::parse(schema.get()).ok()?;
    let properties = RawObject::parse(schema.get("properties")?.get()).ok()?;
    properties.iter().find(|(_, value)| as_object(value).is_some())?;
    let written = properties.iter().map(|(name, value)| (name, as_object(value).unwrap_or(value.get())));
    let properties = object(written)?;
    let written = schema
        .iter()
        .map(|(name, value)| (name, if name == "properties" { &properties } else { value.get() }));
    json::raw(&object(written)?).ok()
}

/// The object that means the same as `true` or `false`.
fn as_object(value: &RawValue) -> Option<&'static str> {
    match value.get() {
        "true" => Some("{}"),
        "false" => Some(r#"{"not":{}}"#),
        _ => None,
    }
}

fn object<'v>(fields: impl Iterator<Item = (&'v str, &'v str)>) -> Option<String> {
    let fields = fields.map(|(name, value)| Some(format!("{}:{value}", serde_json::to_string(name).ok()?)));
    Some(format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(text: &str) -> Option<String> {
        convert(&RawValue::from_string(text.to_owned()).unwrap()).map(|raw| raw.get().to_owned())
    }

    #[test]
    fn only_what_old_clients_cannot_read_is_spelled_out() {
        assert_eq!(plainly(r#"{"type":"object"}"#), None);
        assert_eq!(plainly(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#), None);
        assert_eq!(
            plainly(
                r#"{"type":"object","properties":{"a":true,"\"b":false,"c":{"x": 1.0}},"required":["a"]}"#
            )
            .unwrap(),
            r#"{"type":"object","properties":{"a":{},"\"b":{"not":{}},"c":{"x": 1.0}},"required":["a"]}"#
        );
    }
}
