//! The types in Python: functions whose parameters are annotated, and frozen dataclasses, which may be defaults.

use super::json::Json;
use super::kind::{ArgumentType, Field, Kind, ObjectType, Presence};
use super::quoted;

const HEAD: &str = "\
from dataclasses import dataclass, field
from typing import Annotated, Literal

from plugport_sdk import Field, exports, to_json, tool
";

pub fn source(types: &[ArgumentType]) -> String {
    let mut parts = vec![HEAD.to_owned()];
    for argument_type in types {
        let inner = argument_type.object.all();
        let inner = inner.split_last().map_or(&[][..], |(_, inner)| inner);
        parts.extend(inner.iter().copied().map(dataclass));
        parts.push(tool(argument_type));
    }
    parts.push("Tools, Resources, Prompts, Completions = exports()\n".to_owned());
    parts.join("\n\n")
}

fn dataclass(object: &ObjectType) -> String {
    let line = |(at, field): (usize, &Field)| format!("    {}\n", member(at, field, true));
    let members: String = object.fields.iter().enumerate().map(line).collect();
    format!("@dataclass(frozen=True, kw_only=True)\nclass Object{}:\n{members}", object.number)
}

fn tool(argument_type: &ArgumentType) -> String {
    let mut fields: Vec<(usize, &Field)> = argument_type.object.fields.iter().enumerate().collect();
    // Python wants parameters without a default first.
    fields.sort_by_key(|(_, field)| !matches!(field.presence, Presence::Required));
    let parameters: Vec<String> = fields.iter().map(|(at, field)| member(*at, field, false)).collect();
    let answers: Vec<String> =
        fields.iter().map(|(at, field)| format!("{}: f{at}", quoted(field.name))).collect();
    format!(
        "@tool\ndef {}({}) -> str:\n    \"\"\"A type.\"\"\"\n    return to_json.dumps({{{}}})\n",
        argument_type.tool,
        parameters.join(", "),
        answers.join(", ")
    )
}

/// A parameter of a function or a field of a dataclass.
fn member(at: usize, field: &Field, of_dataclass: bool) -> String {
    let is_tuple = matches!(field.presence, Presence::Default(_));
    let optional = if matches!(field.presence, Presence::Optional) { " | None" } else { "" };
    let annotation =
        format!("Annotated[{}{optional}, Field({})]", annotation(&field.kind, is_tuple), keywords(field));
    let default = match &field.presence {
        Presence::Required => String::new(),
        Presence::Optional => " = None".to_owned(),
        // A dataclass has no maps as defaults; those of the generator are empty.
        Presence::Default(_) if of_dataclass && matches!(field.kind, Kind::Map(_)) => {
            " = field(default_factory=dict)".to_owned()
        }
        Presence::Default(default) => format!(" = {}", literal(&field.kind, default, true)),
    };
    format!("f{at}: {annotation}{default}")
}

/// A list that is a default is a tuple, which a dataclass accepts as such.
fn annotation(kind: &Kind, is_tuple: bool) -> String {
    match kind {
        Kind::Boolean => "bool".to_owned(),
        Kind::Text { .. } => "str".to_owned(),
        Kind::Integer(_) => "int".to_owned(),
        Kind::Number(_) => "float".to_owned(),
        Kind::Choice(values) => {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            format!("Literal[{}]", values.join(", "))
        }
        Kind::List { items, .. } if is_tuple => format!("tuple[{}, ...]", annotation(items, false)),
        Kind::List { items, .. } => format!("list[{}]", annotation(items, false)),
        Kind::Map(values) => format!("dict[str, {}]", annotation(values, false)),
        Kind::Object(object) => format!("Object{}", object.number),
    }
}

fn keywords(field: &Field) -> String {
    let mut keywords = vec![format!("name={}", quoted(field.name))];
    let limits = field.kind.limits();
    let is_length = matches!(field.kind, Kind::Text { .. } | Kind::List { .. });
    let (min, max) = if is_length { ("min_length", "max_length") } else { ("minimum", "maximum") };
    keywords.extend(limits.min.map(|limit| format!("{min}={limit}")));
    keywords.extend(limits.max.map(|limit| format!("{max}={limit}")));
    keywords.extend(field.kind.pattern().map(|pattern| format!("pattern={}", quoted(pattern))));
    keywords.join(", ")
}

fn literal(kind: &Kind, value: &Json, is_tuple: bool) -> String {
    match (kind, value) {
        (Kind::Object(object), Json::Object(members)) => {
            let argument = |(at, field): (usize, &Field)| {
                let (_, value) = members.iter().find(|(name, _)| name == field.name)?;
                let is_tuple = matches!(field.presence, Presence::Default(_));
                Some(format!("f{at}={}", literal(&field.kind, value, is_tuple)))
            };
            let arguments: Vec<String> = object.fields.iter().enumerate().filter_map(argument).collect();
            format!("Object{}({})", object.number, arguments.join(", "))
        }
        (Kind::List { items, .. }, Json::List(values)) => {
            let items: String = values.iter().map(|value| literal(items, value, false) + ", ").collect();
            if is_tuple { format!("({items})") } else { format!("[{items}]") }
        }
        (Kind::Number(_), Json::Number(number)) => format!("float({number})"),
        (_, Json::Boolean(value)) => if *value { "True" } else { "False" }.to_owned(),
        (_, value) => value.write(false),
    }
}
