//! The schema that a type must have, and a form of schemas in which those of all languages are equal.

use serde_json::{Map, Number, Value, json};

use super::kind::{Kind, ObjectType, Presence};

/// The schema of an object, in normal form.
pub fn expected_schema(object: &ObjectType) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &object.fields {
        let mut property = schema_of(&field.kind);
        match &field.presence {
            Presence::Required => required.push(field.name),
            Presence::Optional => {}
            Presence::Default(default) => property["default"] = same_numbers(default.value()),
        }
        properties.insert(field.name.to_owned(), property);
    }
    required.sort_unstable();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn schema_of(kind: &Kind) -> Value {
    let mut schema = match kind {
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Text { .. } => json!({ "type": "string" }),
        Kind::Integer(_) => json!({ "type": "integer" }),
        Kind::Number(_) => json!({ "type": "number" }),
        Kind::Choice(values) => json!({ "type": "string", "enum": values }),
        Kind::List { items, .. } => json!({ "type": "array", "items": schema_of(items) }),
        Kind::Map(values) => json!({ "type": "object", "additionalProperties": schema_of(values) }),
        Kind::Object(object) => return expected_schema(object),
    };
    let (min, max) = limit_keywords(kind);
    for (keyword, limit) in [(min, kind.limits().min), (max, kind.limits().max)] {
        if let Some(limit) = limit {
            schema[keyword] = same_numbers(serde_json::from_str(limit).unwrap());
        }
    }
    if let Some(pattern) = kind.pattern() {
        schema["pattern"] = json!(pattern);
    }
    schema
}

/// The keywords for the limits of this type.
pub(super) fn limit_keywords(kind: &Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Text { .. } => ("minLength", "maxLength"),
        Kind::List { .. } => ("minItems", "maxItems"),
        _ => ("minimum", "maximum"),
    }
}

/// A published schema with references resolved, and without what each language may say as it likes: descriptions,
/// formats, the order of `required`.
pub fn normal_schema(schema: &Value) -> Value {
    normal(schema, schema)
}

fn normal(root: &Value, schema: &Value) -> Value {
    let Value::Object(keywords) = with_reference(root, schema) else { return schema.clone() };
    let mut found = Map::new();
    for (keyword, value) in keywords {
        let value = match (keyword.as_str(), value) {
            ("$defs" | "description" | "format" | "title", _) => continue,
            ("properties", Value::Object(properties)) => {
                properties.iter().map(|(name, schema)| (name.clone(), normal(root, schema))).collect()
            }
            ("items" | "additionalProperties", value) => normal(root, &value),
            ("required", Value::Array(mut names)) => {
                names.sort_by_key(ToString::to_string);
                Value::Array(names)
            }
            (_, value) => same_numbers(value),
        };
        found.insert(keyword, value);
    }
    if found.contains_key("properties") {
        found.entry("required").or_insert(json!([]));
    }
    Value::Object(found)
}

/// The schema that a reference names, with what stands beside the reference.
fn with_reference(root: &Value, schema: &Value) -> Value {
    let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return schema.clone() };
    let named =
        root.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("no {reference} in {root}"));
    let mut merged = with_reference(root, named);
    for (keyword, value) in schema.as_object().unwrap().iter().filter(|(keyword, _)| *keyword != "$ref") {
        merged[keyword] = value.clone();
    }
    merged
}

/// `1.0` and `1` are the same number, and `-0.0` is 0.
fn same_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let whole =
                number.as_f64().filter(|real| real.fract() == 0.0 && real.abs() < 9_007_199_254_740_992.0);
            whole.map_or(Value::Number(number), |real| Value::Number(Number::from(real as i64)))
        }
        Value::Array(items) => items.into_iter().map(same_numbers).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, same_numbers(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_that_say_the_same_have_one_normal_form() {
        let inner = json!({ "type": "object", "properties": { "description": { "type": "string" } },
                            "additionalProperties": false });
        let referring = json!({
            "type": "object",
            "description": "All.",
            "properties": { "a": { "$ref": "#/$defs/A", "default": { "n": 1.0 } }, "b": { "type": "integer", "format": "int64" } },
            "required": ["b", "a"],
            "$defs": { "A": inner },
        });
        let mut a = inner;
        a["required"] = json!([]);
        a["default"] = json!({ "n": 1 });
        let expected = json!({
            "type": "object",
            "properties": { "a": a, "b": { "type": "integer" } },
            "required": ["a", "b"],
        });
        assert_eq!(normal_schema(&referring), expected);
    }
}
