//! What a tool has to make of its arguments: the model with which every language is compared.

use serde_json::{Map, Value, json};

use super::json::Json;
use super::kind::{Kind, ObjectType, Presence};
use super::number::{real, whole};
use super::values::{fits_integer, fits_length, fits_number};
use crate::languages::Lang;

/// The integers of a language, with both ends; `None` if there is no end. What is beyond them is rejected, not rounded.
pub fn integers_of(lang: Lang) -> Option<(i128, i128)> {
    const SAFE: i128 = (1 << 53) - 1;
    match lang {
        Lang::TypeScript | Lang::JavaScript => Some((-SAFE, SAFE)),
        Lang::Rust | Lang::Go | Lang::C | Lang::Cpp | Lang::Zig => Some((i64::MIN.into(), i64::MAX.into())),
        Lang::Python => None,
    }
}

/// The value with all defaults; `None` if it must be rejected.
pub fn decode(kind: &Kind, given: &Json, integers: Option<(i128, i128)>) -> Option<Value> {
    match (kind, given) {
        (Kind::Boolean, Json::Boolean(value)) => Some(json!(value)),
        (Kind::Text { limits, .. }, Json::Text(text)) => {
            let fits = fits_length(text.chars().count(), *limits)
                && kind.pattern().is_none_or(|source| matches(source, text));
            fits.then(|| json!(text))
        }
        (Kind::Choice(values), Json::Text(text)) => values.contains(&text.as_str()).then(|| json!(text)),
        (Kind::Integer(limits), Json::Number(number)) => {
            let value = whole(number).filter(|value| fits_integer(*value, *limits))?;
            let is_in_range = integers.is_none_or(|(least, most)| (least..=most).contains(&value));
            is_in_range.then(|| serde_json::from_str(&value.to_string()).unwrap())
        }
        (Kind::Number(limits), Json::Number(number)) => {
            let value = real(number);
            fits_number(value, *limits).then(|| json!(value))
        }
        (Kind::List { limits, items }, Json::List(given)) => {
            let decoded: Option<Vec<Value>> =
                given.iter().map(|item| decode(items, item, integers)).collect();
            decoded.filter(|decoded| fits_length(decoded.len(), *limits)).map(Value::Array)
        }
        (Kind::Map(values), Json::Object(members)) => {
            let member =
                |(name, value): &(String, Json)| Some((name.clone(), decode(values, value, integers)?));
            members.iter().map(member).collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        (Kind::Object(object), Json::Object(members)) => decode_object(object, members, integers),
        _ => None,
    }
}

/// The same for all arguments of a tool.
pub fn decode_object(
    object: &ObjectType,
    members: &[(String, Json)],
    integers: Option<(i128, i128)>,
) -> Option<Value> {
    let is_known = |name: &str| object.fields.iter().any(|field| field.name == name);
    if !members.iter().all(|(name, _)| is_known(name)) {
        return None;
    }
    let mut decoded = Map::new();
    for field in &object.fields {
        let found = members.iter().find(|(name, _)| name == field.name).map(|(_, value)| value);
        // A null stands for a member that is missing, if it may be missing.
        let given =
            found.filter(|value| **value != Json::Null || matches!(field.presence, Presence::Required));
        let value = match (given, &field.presence) {
            (Some(value), _) | (None, Presence::Default(value)) => value,
            (None, Presence::Optional) => continue,
            (None, Presence::Required) => return None,
        };
        decoded.insert(field.name.to_owned(), decode(&field.kind, value, integers)?);
    }
    Some(Value::Object(decoded))
}

/// An answer in the form of the model: nulls of missing members left out, numbers as their type says.
pub fn normal_answer(kind: &Kind, answer: Value) -> Value {
    match (kind, answer) {
        (Kind::Number(_), Value::Number(number)) => json!(number.as_f64()),
        (Kind::Integer(_), Value::Number(number)) => {
            normal_integer(&number.to_string()).unwrap_or(json!(number))
        }
        (Kind::List { items, .. }, Value::Array(answers)) => {
            answers.into_iter().map(|answer| normal_answer(items, answer)).collect()
        }
        (Kind::Map(values), Value::Object(members)) => {
            members.into_iter().map(|(name, answer)| (name, normal_answer(values, answer))).collect()
        }
        (Kind::Object(object), Value::Object(members)) => normal_object(object, members),
        (_, answer) => answer,
    }
}

/// The same for the answer of a tool.
pub fn normal_object(object: &ObjectType, members: Map<String, Value>) -> Value {
    let normal = |(name, answer): (String, Value)| {
        let field = object.fields.iter().find(|field| field.name == name);
        let answer = match field {
            Some(field) => normal_answer(&field.kind, answer),
            None => answer,
        };
        (name, answer)
    };
    members.into_iter().filter(|(_, answer)| !answer.is_null()).map(normal).collect()
}

/// `1.0` and `1` are the same integer.
fn normal_integer(number: &str) -> Option<Value> {
    serde_json::from_str(&whole(number)?.to_string()).ok()
}

fn matches(pattern: &str, text: &str) -> bool {
    jsonschema::is_valid(&json!({ "pattern": pattern }), &json!(text))
}

#[cfg(test)]
mod tests {
    use super::super::schema::expected_schema;
    use super::super::types::argument_types;
    use super::super::values::random_arguments;
    use super::*;
    use crate::generator::Random;

    #[test]
    fn the_model_accepts_what_its_schema_accepts() {
        let mut random = Random::new(16);
        for argument_type in argument_types(16, 60) {
            let validator = jsonschema::validator_for(&expected_schema(&argument_type.object)).unwrap();
            for _ in 0..20 {
                let given = random_arguments(&mut random, &argument_type.object);
                let text = given.write(false);
                // Nulls are for the server to remove.
                if text.contains(":null") {
                    continue;
                }
                let is_accepted = decode(&Kind::Object(argument_type.object.clone()), &given, None).is_some();
                assert_eq!(is_accepted, validator.is_valid(&given.value()), "{text} for {argument_type:?}");
            }
        }
    }
}
