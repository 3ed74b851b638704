//! The types in Go: structs with tags.

use super::kind::{ArgumentType, Field, Kind, ObjectType, Presence};
use super::quoted;

const HEAD: &str = "\
package main

import (
	\"encoding/json\"

	\"github.com/plugport/plugport/sdk-guest/go\"
)

func answer(given any) (string, error) {
	text, err := json.Marshal(given)
	return string(text), err
}
";

pub fn source(types: &[ArgumentType]) -> String {
    let mut parts = vec![HEAD.to_owned()];
    parts.extend(types.iter().flat_map(|argument_type| argument_type.object.all()).map(structure));
    let registered: String = types.iter().map(register).collect();
    parts.push(format!("func init() {{\n{registered}}}\n\nfunc main() {{}}\n"));
    parts.join("\n")
}

fn structure(object: &ObjectType) -> String {
    let field =
        |(at, field): (usize, &Field)| format!("\tF{at} {} {}\n", type_of_field(field), quoted(&tags(field)));
    let fields: String = object.fields.iter().enumerate().map(field).collect();
    format!("type Object{} struct {{\n{fields}}}\n", object.number)
}

fn register(argument_type: &ArgumentType) -> String {
    format!(
        "\tplugport.Tool(\"{}\", \"A type.\", func(_ *plugport.Call, given Object{}) (string, error) {{ return answer(given) }})\n",
        argument_type.tool, argument_type.object.number
    )
}

fn type_of_field(field: &Field) -> String {
    let pointer = if matches!(field.presence, Presence::Optional) { "*" } else { "" };
    format!("{pointer}{}", type_of(&field.kind))
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Boolean => "bool".to_owned(),
        Kind::Text { .. } | Kind::Choice(_) => "string".to_owned(),
        Kind::Integer(_) => "int64".to_owned(),
        Kind::Number(_) => "float64".to_owned(),
        Kind::List { items, .. } => format!("[]{}", type_of(items)),
        Kind::Map(values) => format!("map[string]{}", type_of(values)),
        Kind::Object(object) => format!("Object{}", object.number),
    }
}

fn tags(field: &Field) -> String {
    let omitted = if matches!(field.presence, Presence::Optional) { ",omitempty" } else { "" };
    let mut tags = vec![format!("json:{}", quoted(&format!("{}{omitted}", field.name)))];
    let mut tag = |name: &str, text: &str| tags.push(format!("{name}:{}", quoted(text)));
    if let Some(values) = choices_in(&field.kind) {
        tag("enum", &values.join(","));
    }
    let limits = field.kind.limits();
    limits.min.into_iter().for_each(|limit| tag("min", limit));
    limits.max.into_iter().for_each(|limit| tag("max", limit));
    field.kind.pattern().into_iter().for_each(|pattern| tag("pattern", pattern));
    if let Presence::Default(default) = &field.presence {
        let is_text = matches!(field.kind, Kind::Text { .. } | Kind::Choice(_));
        let text = if is_text { default.value().as_str().unwrap().to_owned() } else { default.write(false) };
        tag("default", &text);
    }
    tags.join(" ")
}

/// The choices of a field, or of what is in its lists and maps: the tag is for both.
fn choices_in(kind: &Kind) -> Option<&[&'static str]> {
    match kind {
        Kind::Choice(values) => Some(values),
        Kind::List { items, .. } => choices_in(items),
        Kind::Map(values) => choices_in(values),
        _ => None,
    }
}
