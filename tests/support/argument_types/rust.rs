//! The types in Rust: structs and enums with the attributes of serde and schemars.

use super::kind::{ArgumentType, Field, Kind, ObjectType, Presence};
use super::schema::limit_keywords;

const HEAD: &str = "\
use std::collections::BTreeMap;

use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
";

const DERIVE: &str = "#[derive(Serialize, Deserialize, JsonSchema)]\n";

pub fn source(types: &[ArgumentType]) -> String {
    let mut writer = Writer { parts: vec![HEAD.to_owned()], choices: 0 };
    for argument_type in types {
        argument_type.object.all().into_iter().for_each(|object| writer.structure(object));
        writer.parts.push(tool(argument_type));
    }
    let names: Vec<&str> = types.iter().map(|argument_type| argument_type.tool.as_str()).collect();
    writer.parts.push(format!("plugport_sdk::export! {{ tools: [{}] }}\n", names.join(", ")));
    writer.parts.join("\n")
}

fn tool(argument_type: &ArgumentType) -> String {
    format!(
        "/// A type.\n#[tool]\nfn {}(#[args] given: Object{}) -> Result<String, serde_json::Error> {{\n    \
         serde_json::to_string(&given)\n}}\n",
        argument_type.tool, argument_type.object.number
    )
}

struct Writer {
    parts: Vec<String>,
    choices: usize,
}

impl Writer {
    fn structure(&mut self, object: &ObjectType) {
        let number = object.number;
        let mut fields = String::new();
        for (at, field) in object.fields.iter().enumerate() {
            let mut rust_type = self.type_of(&field.kind);
            let mut serde = format!("rename = {:?}", field.name);
            match &field.presence {
                Presence::Required => {}
                Presence::Optional => {
                    rust_type = format!("Option<{rust_type}>");
                    serde.push_str(", skip_serializing_if = \"Option::is_none\"");
                }
                Presence::Default(default) => {
                    let function = format!("default_{number}_{at}");
                    serde.push_str(&format!(", default = {function:?}"));
                    self.parts.push(format!(
                        "fn {function}() -> {rust_type} {{\n    serde_json::from_str({:?}).unwrap()\n}}\n",
                        default.write(false)
                    ));
                }
            }
            let schema = schema_attribute(field);
            fields.push_str(&format!("    #[serde({serde})]\n{schema}    f{at}: {rust_type},\n"));
        }
        self.parts
            .push(format!("{DERIVE}#[serde(deny_unknown_fields)]\nstruct Object{number} {{\n{fields}}}\n"));
    }

    fn type_of(&mut self, kind: &Kind) -> String {
        match kind {
            Kind::Boolean => "bool".to_owned(),
            Kind::Text { .. } => "String".to_owned(),
            Kind::Integer(_) => "i64".to_owned(),
            Kind::Number(_) => "f64".to_owned(),
            Kind::Choice(values) => self.choice(values),
            Kind::List { items, .. } => format!("Vec<{}>", self.type_of(items)),
            Kind::Map(values) => format!("BTreeMap<String, {}>", self.type_of(values)),
            Kind::Object(object) => format!("Object{}", object.number),
        }
    }

    fn choice(&mut self, values: &[&str]) -> String {
        let name = format!("Choice{}", self.choices);
        self.choices += 1;
        let variant = |(at, value): (usize, &&str)| format!("    #[serde(rename = {value:?})]\n    V{at},\n");
        let variants: String = values.iter().enumerate().map(variant).collect();
        self.parts.push(format!("{DERIVE}enum {name} {{\n{variants}}}\n"));
        name
    }
}

/// Limits as the keywords that they are: those of schemars would be in each type's own spelling.
fn schema_attribute(field: &Field) -> String {
    let limits = field.kind.limits();
    let (min, max) = limit_keywords(&field.kind);
    let mut keywords = Vec::new();
    keywords.extend(limits.min.map(|limit| format!("{min:?} = {}", literal(limit))));
    keywords.extend(limits.max.map(|limit| format!("{max:?} = {}", literal(limit))));
    keywords.extend(field.kind.pattern().map(|pattern| format!("\"pattern\" = {pattern:?}")));
    if keywords.is_empty() {
        return String::new();
    }
    format!("    #[schemars(extend({}))]\n", keywords.join(", "))
}

/// A number that is no `i32` needs its type.
fn literal(limit: &str) -> String {
    if limit.contains(['.', 'e']) { limit.to_owned() } else { format!("{limit}_i64") }
}
