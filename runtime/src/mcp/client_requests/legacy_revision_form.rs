//! Forms for clients of revisions before 2025-11-25, which know neither titled choices nor lists of choices.
//!
//! Nothing is lost: titles of choices become `enumNames`, and a list of choices becomes one boolean field for each
//! choice. `restore` makes the list again from the submitted content, so the guest sees no difference.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::elicitation_form::{choices, kind};

/// Rewrites a form for older revisions.
pub(crate) fn downgrade(schema: &Value) -> Value {
    let mut simple = schema.clone();
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return simple };
    let mut downgraded = Map::new();
    for (name, field) in fields {
        if kind(field) == "array" {
            downgraded.extend(switches(name, field));
        } else {
            downgraded.insert(name.clone(), with_enum_names(field.clone()));
        }
    }
    let is_list = |name: &str| fields.get(name).is_some_and(|field| kind(field) == "array");
    if let Some(simple) = simple.as_object_mut() {
        if let Some(required) = simple.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !name.as_str().is_some_and(is_list));
        }
        simple.insert("properties".to_owned(), downgraded.into());
    }
    simple
}

/// Converts the content of a downgraded form into content of the original form.
pub(crate) fn restore(schema: &Value, mut content: Map<String, Value>) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, field) in fields.filter(|(_, field)| kind(field) == "array") {
        let mut chosen = Vec::new();
        for choice in choices(items(field)) {
            if content.remove(&switch_name(name, choice)) == Some(Value::Bool(true)) {
                chosen.push(choice.clone());
            }
        }
        content.entry(name.clone()).or_insert(chosen.into());
    }
    content
}

fn items(field: &Value) -> &Value {
    field.get("items").unwrap_or(&Value::Null)
}

/// The name of the boolean field for one choice of a list.
fn switch_name(name: &str, choice: &Value) -> String {
    format!("{name}: {}", choice.as_str().unwrap_or_default())
}

/// One boolean field for each choice of a list.
fn switches(name: &str, field: &Value) -> Vec<(String, Value)> {
    let title = field.get("title").and_then(Value::as_str).unwrap_or(name);
    let titled = items(field).get("oneOf").or_else(|| items(field).get("anyOf")).and_then(Value::as_array);
    let switch_title = |at: usize, choice: &Value| {
        let choice_title = titled.and_then(|titled| titled.get(at)?.get("title")?.as_str());
        format!("{title}: {}", choice_title.or(choice.as_str()).unwrap_or_default())
    };
    let default = field.get("default").and_then(Value::as_array);
    let default = default.map(|default| default.iter().filter_map(Value::as_str).collect::<HashSet<_>>());
    let is_default = |default: &HashSet<&str>, choice: &Value| {
        choice.as_str().is_some_and(|choice| default.contains(choice))
    };
    let one = |(at, choice): (usize, &Value)| {
        let mut one = Map::new();
        one.insert("type".to_owned(), "boolean".into());
        one.insert("title".to_owned(), switch_title(at, choice).into());
        one.extend(field.get("description").map(|text| ("description".to_owned(), text.clone())));
        let default = default.as_ref().map(|default| is_default(default, choice));
        one.extend(default.map(|default| ("default".to_owned(), default.into())));
        (switch_name(name, choice), one.into())
    };
    choices(items(field)).enumerate().map(one).collect()
}

/// Replaces titled choices by `enum` and `enumNames`.
fn with_enum_names(mut field: Value) -> Value {
    if let Some(fields) = field.as_object_mut()
        && let Some(Value::Array(titled)) = fields.remove("oneOf")
    {
        let part =
            |name: &str| titled.iter().filter_map(|choice| choice.get(name).cloned()).collect::<Vec<_>>();
        fields.insert("enum".to_owned(), part("const").into());
        fields.insert("enumNames".to_owned(), part("title").into());
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::mcp::client_requests::elicitation_form::fits;

    #[test]
    fn names_stand_beside_choices() {
        let size = json!([{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]);
        let form = json!({"type": "object", "properties": {"size": {"type": "string", "oneOf": size}}});
        let old = downgrade(&form);
        assert_eq!(old["properties"]["size"]["enum"], json!(["s", "l"]));
        assert_eq!(old["properties"]["size"]["enumNames"], json!(["Small", "Large"]));
    }

    #[test]
    fn a_list_becomes_a_switch_for_each_choice_and_a_list_again() {
        let items = json!({"anyOf": [{"const": "a", "title": "Apples"}, {"const": "b", "title": "Beans"}]});
        let list = json!({"type": "array", "title": "Food", "items": items, "default": ["b"]});
        let fields = json!({"c": list, "n": {"type": "string"}});
        let form = json!({"type": "object", "required": ["c", "n"], "properties": fields});
        let old = downgrade(&form);
        assert_eq!(old["required"], json!(["n"]));
        let apples = json!({"type": "boolean", "title": "Food: Apples", "default": false});
        assert_eq!(old["properties"]["c: a"], apples);
        assert_eq!(old["properties"]["c: b"]["default"], true);
        let content = json!({"c: a": true, "c: b": false, "n": "x"});
        let content = restore(&form, content.as_object().unwrap().clone());
        assert_eq!(Value::Object(content.clone()), json!({"c": ["a"], "n": "x"}));
        assert_eq!(fits(&form, &content), Ok(()));
        assert_eq!(restore(&form, Map::new())["c"], json!([]));
    }
}
