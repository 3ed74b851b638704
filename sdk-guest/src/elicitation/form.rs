//! Converts a Rust struct into the flat schema that MCP allows for a form.
//!
//! A client draws the form, so the schema may only have fields of a few kinds, each with a few keywords. schemars
//! writes more keywords than that. This module copies the keywords that a form may have and omits those that only
//! narrow a value further, since reading the form into the type checks the value anyway. A type that cannot be a field
//! is an error that names the field.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::schema::present;

type Object = Map<String, Value>;

/// The formats of texts that MCP knows.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// The form for a type.
///
/// # Errors
/// When the type is no struct, or a form cannot have one of its fields.
pub(super) fn of<T: JsonSchema>() -> Result<Value, Error> {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    flatten(schema).map_err(|reason| {
        Error::Internal(format!("`{}` cannot be shown as a form: {reason}", T::schema_name()))
    })
}

fn flatten(schema: Value) -> Result<Value, String> {
    let Some(Value::Object(declared)) = schema.get("properties") else {
        return Err("only a struct with named fields can".to_owned());
    };
    let mut properties = Object::new();
    for (name, field) in declared {
        let field = field.as_object().and_then(|field| convert(&present(field))).ok_or_else(|| {
            format!("the field `{name}` must be a text, a number, a bool, a choice, or a list of choices")
        })?;
        properties.insert(name.clone(), field.into());
    }
    let mut form = Object::new();
    form.insert("type".to_owned(), "object".into());
    form.insert("properties".to_owned(), properties.into());
    if let Some(required) = schema.get("required") {
        form.insert("required".to_owned(), required.clone());
    }
    Ok(form.into())
}

fn convert(field: &Object) -> Option<Object> {
    let mut converted = keywords(field, &["title", "description"]);
    let rest = match choices(field) {
        Some(choices) => choices.single(),
        None => match field.get("type")?.as_str()? {
            "string" => text(field),
            kind @ ("integer" | "number") => of_kind(kind, keywords(field, &["minimum", "maximum"])),
            "boolean" => of_kind("boolean", Object::new()),
            "array" => list(field)?,
            _ => return None,
        },
    };
    converted.extend(rest);
    converted.extend(keywords(field, &["default"]));
    Some(converted)
}

fn of_kind(kind: &str, rest: Object) -> Object {
    let mut object = Object::new();
    object.insert("type".to_owned(), kind.into());
    object.extend(rest);
    object
}

fn text(field: &Object) -> Object {
    let mut rest = keywords(field, &["minLength", "maxLength"]);
    if let Some(Value::String(format)) = field.get("format")
        && FORMATS.contains(&format.as_str())
    {
        rest.insert("format".to_owned(), format.as_str().into());
    }
    of_kind("string", rest)
}

fn list(field: &Object) -> Option<Object> {
    let items = choices(field.get("items")?.as_object()?)?.items();
    let mut rest = keywords(field, &["minItems", "maxItems"]);
    rest.insert("items".to_owned(), items.into());
    Some(of_kind("array", rest))
}

/// The values of a choice, with the titles of those that have one.
struct Choices(Vec<(Value, Option<Value>)>);

impl Choices {
    fn single(self) -> Object {
        of_kind("string", self.listed("oneOf"))
    }

    fn items(self) -> Object {
        if self.titled() { self.listed("anyOf") } else { of_kind("string", self.listed("anyOf")) }
    }

    fn titled(&self) -> bool {
        self.0.iter().any(|(_, title)| title.is_some())
    }

    fn listed(self, titled: &str) -> Object {
        if self.titled() {
            let options = self.0.into_iter().map(|(value, title)| {
                let title = title.unwrap_or_else(|| value.clone());
                json!({"const": value, "title": title})
            });
            Object::from_iter([(titled.to_owned(), options.collect())])
        } else {
            let values = self.0.into_iter().map(|(value, _)| value);
            Object::from_iter([("enum".to_owned(), values.collect())])
        }
    }
}

/// The choices of an enum without fields: a list of its values, or, where variants are documented, one schema for each.
fn choices(field: &Object) -> Option<Choices> {
    let title = || field.get("title").or(field.get("description")).cloned();
    if let Some(Value::Array(values)) = field.get("enum") {
        let values = values.iter().filter(|value| value.is_string());
        return Some(Choices(values.map(|value| (value.clone(), None)).collect()));
    }
    if let Some(value @ Value::String(_)) = field.get("const") {
        return Some(Choices(vec![(value.clone(), title())]));
    }
    let Some(Value::Array(variants)) = field.get("oneOf") else { return None };
    let mut all = Vec::new();
    for variant in variants {
        all.extend(choices(variant.as_object()?)?.0);
    }
    Some(Choices(all))
}

fn keywords(field: &Object, keys: &[&str]) -> Object {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), field.get(*key)?.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
        Large,
    }

    /// How it is sent.
    #[derive(Deserialize, JsonSchema)]
    enum Carrier {
        /// By post
        Post,
        #[schemars(title = "On foot")]
        Walk,
        Drone,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Order {
        /// Who gets it.
        #[schemars(email)]
        to: String,
        #[schemars(length(min = 2, max = 5), regex(pattern = "^[A-Z]+$"))]
        code: Option<String>,
        #[serde(default = "two")]
        #[schemars(range(max = 9))]
        count: u8,
        weight: Option<f64>,
        #[serde(default)]
        gift: bool,
        size: Option<Size>,
        /// By whom.
        carrier: Carrier,
        #[serde(default)]
        spare: Option<Size>,
        sizes: Vec<Size>,
        carriers: Option<Vec<Carrier>>,
    }

    fn two() -> u8 {
        2
    }

    #[test]
    fn every_kind_of_field_has_its_place() {
        let sizes = json!(["small", "large"]);
        let carriers = json!([
            {"const": "Drone", "title": "Drone"},
            {"const": "Post", "title": "By post"},
            {"const": "Walk", "title": "On foot"}
        ]);
        let expected = json!({
            "to": {"description": "Who gets it.", "type": "string", "format": "email"},
            "code": {"type": "string", "minLength": 2, "maxLength": 5},
            "count": {"type": "integer", "minimum": 0, "maximum": 9, "default": 2},
            "weight": {"type": "number"},
            "gift": {"type": "boolean", "default": false},
            "size": {"type": "string", "enum": sizes},
            "carrier": {"description": "By whom.", "type": "string", "oneOf": carriers},
            "spare": {"type": "string", "enum": sizes},
            "sizes": {"type": "array", "items": {"type": "string", "enum": sizes}},
            "carriers": {"type": "array", "items": {"anyOf": carriers}}
        });
        let form = of::<Order>().unwrap();
        for (name, field) in expected.as_object().unwrap() {
            assert_eq!(&form["properties"][name], field, "{name}");
        }
        assert_eq!(form["properties"].as_object().unwrap().len(), 10);
        assert_eq!(form["required"], json!(["to", "carrier", "sizes"]));
        assert_eq!(form.as_object().unwrap().len(), 3);
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Nested {
        fine: u8,
        order: Box<Order>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Free {
        words: Vec<String>,
    }

    #[test]
    fn what_cannot_be_a_field_is_named() {
        let rejected = of::<Nested>().unwrap_err().to_string();
        assert_eq!(
            rejected,
            "`Nested` cannot be shown as a form: the field `order` must be a text, a number, a bool, a choice, or a list of choices"
        );
        assert!(of::<Free>().unwrap_err().to_string().contains("`words`"));
        assert!(of::<Vec<u8>>().unwrap_err().to_string().contains("only a struct"));
    }
}
