//! JSON Schemas (2020-12) of a tool's arguments and results.
//!
//! schemars describes the types; here they become one document: an object whose properties stand in the order in which
//! the function declares them. `$schema` and the root's `title` are omitted, since they tell a model nothing and every
//! listed tool would pay for them in tokens.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::parameter::{Limit, Parameter};
use crate::{Error, schema_defaults};

/// References and choices that are followed to the type of a parameter.
const DEPTH: usize = 8;

/// Builds the input schema of a tool.
pub struct Properties {
    generator: SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Properties {
    /// An object without properties.
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    pub fn new() -> Self {
        Self {
            generator: settings().for_deserialize().into_generator(),
            properties: Map::new(),
            required: Vec::new(),
        }
    }

    /// Adds a parameter and whether it is required.
    pub fn add<T>(&mut self, parameter: &Parameter<T>) {
        let name = parameter.name;
        let mut schema = (parameter.schema)(&mut self.generator);
        if let Some(description) = parameter.description {
            schema.insert("description".to_owned(), description.into());
        }
        (parameter.write_limits)(&mut schema, self.generator.definitions(), (parameter.limits)());
        if let Some(default) = (parameter.default)() {
            schema.insert("default".to_owned(), default);
        }
        if (parameter.absent)().is_none() {
            self.required.push(name.into());
        }
        self.properties.insert(name.to_owned(), schema.to_value());
    }

    /// The finished document.
    pub fn finish(mut self) -> String {
        let mut root = Map::new();
        root.insert("type".to_owned(), "object".into());
        root.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            root.insert("required".to_owned(), self.required.into());
        }
        root.insert("additionalProperties".to_owned(), false.into());
        let definitions = self.generator.take_definitions(true);
        if !definitions.is_empty() {
            root.insert("$defs".to_owned(), definitions.into());
        }
        schema_defaults::without_null(without_null(root.into())).to_string()
    }
}

/// Adds limits to a parameter's schema.
pub(crate) fn write_limits(schema: &mut Schema, definitions: &Map<String, Value>, limits: Vec<Limit>) {
    let kind = type_of(schema.as_value(), definitions, DEPTH).map(str::to_owned);
    for (keyword, value) in limits {
        schema.insert(keyword_for(keyword, kind.as_deref()).to_owned(), value);
    }
}

/// The type that a schema names besides `null`. Definitions may refer to each other in a circle, hence `depth`.
fn type_of<'s>(schema: &'s Value, definitions: &'s Map<String, Value>, depth: usize) -> Option<&'s str> {
    let depth = depth.checked_sub(1)?;
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return type_of(definitions.get(target.strip_prefix("#/$defs/")?)?, definitions, depth);
    }
    let is_some = |kind: &&str| *kind != "null";
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        return choices.iter().find_map(|choice| type_of(choice, definitions, depth).filter(is_some));
    }
    match schema.get("type")? {
        Value::String(kind) => Some(kind.as_str()),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(is_some),
        _ => None,
    }
}

/// The keyword that limits the length of this type; any other keyword as it is.
fn keyword_for<'k>(keyword: &'k str, kind: Option<&str>) -> &'k str {
    match (keyword, kind) {
        ("minLength", Some("array")) => "minItems",
        ("maxLength", Some("array")) => "maxItems",
        ("minLength", Some("object")) => "minProperties",
        ("maxLength", Some("object")) => "maxProperties",
        _ => keyword,
    }
}

/// The input schema of a tool that takes all arguments as one value.
///
/// # Errors
/// When the type is not an object in JSON.
pub(crate) fn whole<T: JsonSchema>() -> Result<String, Error> {
    let mut schema = root::<T>(settings().for_deserialize());
    let object = schema.ensure_object();
    match object.get("type") {
        Some(kind) if kind == "object" => {}
        // A choice between objects has no type of its own, but MCP requires one.
        None if ["oneOf", "anyOf", "$ref"].iter().any(|key| object.contains_key(*key)) => {
            object.shift_insert(0, "type".to_owned(), "object".into());
        }
        _ => {
            return Err(Error::Internal(format!(
                "`{}` is not an object in JSON; a parameter with `#[args]` must be a struct with named fields",
                T::schema_name()
            )));
        }
    }
    Ok(schema_defaults::without_null(without_null(schema.to_value())).to_string())
}

/// Keywords whose values are data and not schemas.
pub(crate) const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Keywords whose values have a schema for each name, and a name may be that of a keyword.
pub(crate) const NAMED: [&str; 4] = ["$defs", "dependentSchemas", "patternProperties", "properties"];

/// An input schema whose optional members do not also allow `null`: that would say the same twice, and many clients
/// cannot read it. A call may have `null` all the same; the server treats `null` as missing.
fn without_null(schema: Value) -> Value {
    match schema {
        Value::Array(items) => items.into_iter().map(without_null).collect(),
        Value::Object(mut object) => {
            let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                for (name, property) in properties {
                    // With another default, `null` has a meaning of its own.
                    let defaults = property.get("default").is_some_and(|default| !default.is_null());
                    if let Value::Object(field) = property
                        && !defaults
                        && !required.contains(&json!(name))
                    {
                        *property = present(field).into();
                    }
                }
            }
            let inner = |(key, value): (String, Value)| {
                let value = match value {
                    value if DATA.contains(&key.as_str()) => value,
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.into_iter().map(|(name, schema)| (name, without_null(schema))).collect()
                    }
                    value => without_null(value),
                };
                (key, value)
            };
            Value::Object(object.into_iter().map(inner).collect())
        }
        other => other,
    }
}

/// The schema without the `null` that stands for a field left empty.
pub(crate) fn present(field: &Map<String, Value>) -> Map<String, Value> {
    let mut field = field.clone();
    field.retain(|key, value| !(key == "default" && value.is_null()));
    if let Some(Value::Array(choices)) = field.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&json!("null")));
        if let [Value::Object(some)] = choices.as_slice() {
            let mut merged = some.clone();
            field.remove("anyOf");
            merged.extend(field);
            return merged;
        }
    }
    if let Some(Value::Array(kinds)) = field.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            field.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    field
}

/// The output schema for a type, unless it allows anything.
pub(crate) fn output<T: JsonSchema>() -> Option<String> {
    let schema = root::<T>(settings().for_serialize());
    let constrains = schema.as_object().is_some_and(|object| !object.is_empty());
    constrains.then(|| schema.to_value().to_string())
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

fn root<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::shown;
    use serde::{Deserialize, Serialize};

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Place {
        /// Degrees north.
        latitude: f64,
        name: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        Metric,
        Imperial,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "by")]
    #[expect(dead_code, reason = "only described")]
    enum Choice {
        Name { name: String },
        Number { number: u32 },
    }

    #[derive(Deserialize, JsonSchema)]
    #[schemars(inline)]
    #[expect(dead_code, reason = "only described")]
    struct Inline {
        tag: Option<String>,
    }

    type Perhaps<T> = Option<T>;

    fn properties(add: impl FnOnce(&mut Properties)) -> Value {
        let mut properties = Properties::new();
        add(&mut properties);
        serde_json::from_str(&properties.finish()).unwrap()
    }

    #[test]
    fn no_parameters_are_an_empty_object() {
        assert_eq!(
            properties(|_| ()).to_string(),
            r#"{"type":"object","properties":{},"additionalProperties":false}"#
        );
    }

    #[test]
    fn properties_stand_as_declared_and_options_are_not_required() {
        let schema = properties(|it| {
            it.add(&Parameter::<String>::new("zebra", Some("A striped horse.")));
            it.add(&Parameter::<Perhaps<u8>>::new("ape", None));
            it.add(&Parameter::<Vec<bool>>::new("mole", None));
        });
        let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["zebra", "ape", "mole"]);
        assert_eq!(schema["required"], json!(["zebra", "mole"]));
        assert_eq!(
            schema["properties"]["zebra"],
            json!({"type": "string", "description": "A striped horse."})
        );
        assert_eq!(schema["properties"]["ape"]["type"], "integer");
        assert_eq!(schema["additionalProperties"], false);
    }

    #[test]
    fn a_default_is_shown_and_makes_a_parameter_optional() {
        let times = Parameter::<u32>::new("times", Some("How often."));
        let times = times.or(|| Some(3), || shown(3));
        let schema = properties(|it| it.add(&times));
        assert_eq!(schema["properties"]["times"]["default"], 3);
        assert_eq!(schema["properties"]["times"]["description"], "How often.");
        assert_eq!(schema.get("required"), None);
    }

    #[test]
    fn null_stays_where_it_differs_from_nothing() {
        let most = Parameter::<Option<u32>>::new("most", None).or(|| Some(Some(10)), || shown(Some(10)));
        let schema = properties(|it| {
            it.add(&most);
            it.add(&Parameter::<Option<Unit>>::new("unit", Some("Of length.")));
            it.add(&Parameter::<Vec<Option<bool>>>::new("answers", None));
        });
        assert_eq!(schema["properties"]["most"]["type"], json!(["integer", "null"]));
        assert_eq!(
            schema["properties"]["unit"],
            json!({"$ref": "#/$defs/Unit", "description": "Of length."})
        );
        assert_eq!(schema["properties"]["answers"]["items"]["type"], json!(["boolean", "null"]));
    }

    #[test]
    fn a_parameter_may_be_called_like_a_keyword() {
        type Places = std::collections::BTreeMap<String, Place>;
        let schema = properties(|it| {
            it.add(&Parameter::<Inline>::new("default", None));
            it.add(&Parameter::<Perhaps<Places>>::new("properties", None));
        });
        assert_eq!(schema["properties"]["default"]["properties"]["tag"]["type"], "string");
        let places = json!({ "type": "object", "additionalProperties": { "$ref": "#/$defs/Place" } });
        assert_eq!(schema["properties"]["properties"], places);
    }

    #[test]
    fn named_types_are_defined_once_and_may_be_described_where_they_are_used() {
        let schema = properties(|it| {
            it.add(&Parameter::<Place>::new("from", Some("Where from.")));
            it.add(&Parameter::<Option<Place>>::new("to", None));
            it.add(&Parameter::<Unit>::new("unit", None));
        });
        assert_eq!(
            schema["properties"]["from"],
            json!({"$ref": "#/$defs/Place", "description": "Where from."})
        );
        assert_eq!(schema["properties"]["to"], json!({"$ref": "#/$defs/Place"}));
        let place = &schema["$defs"]["Place"];
        assert_eq!(place["properties"]["name"], json!({"type": "string"}));
        assert_eq!(place["properties"]["latitude"]["description"], "Degrees north.");
        assert_eq!(place["required"], json!(["latitude"]));
        assert_eq!(schema["$defs"]["Unit"]["enum"], json!(["metric", "imperial"]));
        assert_eq!(schema["required"], json!(["from", "unit"]));
    }

    #[test]
    fn any_json_may_be_described_too() {
        let anything = Parameter::<Value>::new("anything", Some("Whatever."));
        let schema = properties(|it| it.add(&anything));
        assert_eq!(schema["properties"]["anything"], json!({"description": "Whatever."}));
        assert_eq!(schema["required"], json!(["anything"]));
    }

    #[test]
    fn all_arguments_as_one_struct_have_its_schema_without_name_and_dialect() {
        let schema: Value = serde_json::from_str(&whole::<Place>().unwrap()).unwrap();
        assert_eq!(schema["type"], "object");
        assert!(schema.get("title").is_none() && schema.get("$schema").is_none());
        assert_eq!(schema["properties"]["name"], json!({"type": "string"}));
        let place: Place = serde_json::from_str(r#"{"latitude": 1.5, "name": null}"#).unwrap();
        assert_eq!(place.name, None, "a null is nothing given");
        assert!(output::<Place>().unwrap().contains("null"), "what is given back has it");
    }

    #[test]
    fn all_arguments_as_one_value_are_an_object() {
        assert!(whole::<Choice>().unwrap().starts_with(r#"{"type":"object""#));
        let rejected = whole::<Vec<String>>().unwrap_err().to_string();
        assert!(rejected.contains("#[args]"), "{rejected}");
    }

    #[test]
    fn an_output_that_may_be_anything_has_no_schema() {
        assert_eq!(output::<Value>(), None);
        assert!(output::<Place>().unwrap().contains("latitude"));
        assert_eq!(
            output::<Vec<u8>>().unwrap(),
            r#"{"type":"array","items":{"type":"integer","format":"uint8","minimum":0,"maximum":255}}"#
        );
    }
}
