//! The flat types in C: rows of tables.

use super::kind::{ArgumentType, Field, Kind, Presence};

pub fn source(types: &[ArgumentType]) -> String {
    let flat = || types.iter().filter(|argument_type| argument_type.is_flat);
    let handlers: String = flat().map(handler).collect();
    let tools: Vec<String> = flat().map(tool).collect();
    format!("#include <plugport.h>\n\n{handlers}PP_TOOLS(\n{});\n", tools.join(",\n"))
}

fn handler(argument_type: &ArgumentType) -> String {
    let members: String = argument_type.object.fields.iter().map(put_member).collect();
    format!(
        "static pp_result *{}(pp_call *call, const pp_args *args)\n{{\n    (void)call;\n    \
         pp_doc *doc = pp_object();\n{members}    return pp_text(\"%s\", pp_doc_text(doc));\n}}\n\n",
        argument_type.tool
    )
}

fn put_member(field: &Field) -> String {
    let name = quoted(field.name);
    let kind = match field.kind {
        Kind::Boolean => "bool",
        Kind::Integer(_) => "integer",
        Kind::Number(_) => "number",
        _ => "text",
    };
    let getter = if kind == "text" { "string" } else { kind };
    format!(
        "    if (pp_has(args, {name})) {{\n        pp_put_{kind}(doc, {name}, pp_{getter}(args, {name}));\n    }}\n"
    )
}

fn tool(argument_type: &ArgumentType) -> String {
    let rows: Vec<String> = argument_type.object.fields.iter().map(row).collect();
    let name = &argument_type.tool;
    format!(
        "    {{.name = \"{name}\", .description = \"A type.\", .call = {name}, .params = {{{}}}}}",
        rows.join(", ")
    )
}

fn row(field: &Field) -> String {
    let name = quoted(field.name);
    let presence = match &field.presence {
        Presence::Required => String::new(),
        Presence::Optional => ", .optional = true".to_owned(),
        Presence::Default(default) => format!(", .otherwise = {}", quoted(&default.write(false))),
    };
    let limits = field.kind.limits();
    let range = limits.min.zip(limits.max).map(|(min, max)| format!(", {min}, {max}"));
    let (kind, detail) = match (&field.kind, range) {
        (Kind::Choice(values), _) => ("CHOICE", format!(", {}", quoted(&values.join("|")))),
        (Kind::Boolean, _) => ("BOOL", String::new()),
        (Kind::Integer(_), Some(range)) => ("INTEGER_IN", range),
        (Kind::Integer(_), None) => ("INTEGER", String::new()),
        (Kind::Number(_), Some(range)) => ("NUMBER_IN", range),
        (Kind::Number(_), None) => ("NUMBER", String::new()),
        _ => ("STRING", String::new()),
    };
    format!("PP_{kind}({name}{detail}, \"An argument.\"{presence})")
}

/// Bytes beyond ASCII as octal escapes, which end after three digits.
fn quoted(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", text.bytes().map(byte).collect::<String>())
}
