//! The types in JavaScript and in TypeScript, whose sources are the same here.

use super::kind::{ArgumentType, Field, Kind, ObjectType, Presence};
use super::quoted;

pub fn source(types: &[ArgumentType]) -> String {
    let mut lines = vec!["import { plugin, s, tool } from \"plugport-sdk\";".to_owned()];
    lines.extend(types.iter().map(tool));
    let names: Vec<&str> = types.iter().map(|argument_type| argument_type.tool.as_str()).collect();
    let names = names.join(", ");
    lines.push(format!(
        "export const {{ tools, resources, prompts, completions }} = plugin({{ tools: [{names}] }});\n"
    ));
    lines.join("\n")
}

fn tool(argument_type: &ArgumentType) -> String {
    let name = &argument_type.tool;
    let input = fields(&argument_type.object);
    format!(
        "const {name} = tool({{ name: \"{name}\", description: \"A type.\", input: {input}, \
         handler: (given) => JSON.stringify(given) }});"
    )
}

/// Names in brackets, since `__proto__` without them is not a member.
fn fields(object: &ObjectType) -> String {
    let fields: Vec<String> = object
        .fields
        .iter()
        .map(|field| format!("[{}]: {}", quoted(field.name), schema_of_field(field)))
        .collect();
    format!("{{ {} }}", fields.join(", "))
}

fn schema_of_field(field: &Field) -> String {
    let schema = schema_of(&field.kind);
    match &field.presence {
        Presence::Required => schema,
        Presence::Optional => format!("{schema}.optional()"),
        Presence::Default(default) => {
            format!("{schema}.default(JSON.parse({}))", quoted(&default.write(false)))
        }
    }
}

fn schema_of(kind: &Kind) -> String {
    let mut schema = match kind {
        Kind::Boolean => "s.boolean()".to_owned(),
        Kind::Text { .. } => "s.string()".to_owned(),
        Kind::Integer(_) => "s.integer()".to_owned(),
        Kind::Number(_) => "s.number()".to_owned(),
        Kind::Choice(values) => {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            format!("s.enum([{}])", values.join(", "))
        }
        Kind::List { items, .. } => format!("s.array({})", schema_of(items)),
        Kind::Map(values) => format!("s.record({})", schema_of(values)),
        Kind::Object(object) => format!("s.object({})", fields(object)),
    };
    let limits = kind.limits();
    for (method, limit) in [("min", limits.min), ("max", limits.max)] {
        if let Some(limit) = limit {
            schema.push_str(&format!(".{method}({limit})"));
        }
    }
    if let Some(pattern) = kind.pattern() {
        schema.push_str(&format!(".pattern({})", quoted(pattern)));
    }
    schema
}
