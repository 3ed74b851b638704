//! Results that are cheap to make and expensive to validate against the guest's own schemas. Each tool has one kind;
//! `bytes` is about the size of its result.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult, number};

struct Plugin;

/// A kind: its name, its output schema, and a result of so many bytes.
type Kind = (&'static str, fn() -> String, fn(usize) -> String);

const KINDS: &[Kind] = &[
    ("mixed_enum", || about("a", &format!(r#"{{"enum":[{}0]}}"#, r#"0,"",[],{},"#.repeat(5_000))), zeros),
    ("long_enum", || about("a", &format!(r#"{{"enum":[{}0]}}"#, "[[[0]]],".repeat(7_000))), towers),
    ("const", || about("a", &format!(r#"{{"const":[{}0]}}"#, "0,".repeat(30_000))), zeros),
    ("unique_numbers", || about("a", r#"{"uniqueItems":true}"#), counted),
    ("unique_lists", || about("a", r#"{"uniqueItems":true}"#), lists),
    ("unique_objects", || about("a", r#"{"uniqueItems":true}"#), objects),
    ("one_of", || about("a", &format!(r#"{{"oneOf":[{}true]}}"#, "false,".repeat(5_000))), zeros),
    ("any_of", || about("a", &format!(r#"{{"anyOf":[{}{{}}]}}"#, r#"{"maxItems":0},"#.repeat(3_000))), zeros),
    ("contains", || about("a", r#"{"contains":{"const":1},"minContains":1}"#), zeros),
    ("each", || about("a", &format!(r#"{{"items":{{"enum":[{}1]}}}}"#, r#""","#.repeat(20_000))), zeros),
    ("pattern", || about("a", r#"{"pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"}"#), text),
    ("backreference", || about("a", r#"{"pattern":"^(a|aa)+\\1$"}"#), text),
    ("names", || r#"{"type":"object","propertyNames":{"pattern":"(x+x+)+y"}}"#.to_owned(), fields),
    ("multiple", || about("a", r#"{"items":{"multipleOf":1e-300}}"#), huge_numbers),
    ("digits", || about("a", &format!(r#"{{"items":{{"maximum":{}}}}}"#, "9".repeat(300))), huge_numbers),
    ("format", || about("a", r#"{"format":"idn-hostname"}"#), text),
    ("unevaluated", || unevaluated(1_500), fields),
];

/// The schema of an object with this one property.
fn about(name: &str, schema: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"{name}":{schema}}}}}"#)
}

fn unevaluated(count: usize) -> String {
    let all = r#"{"properties":{"z":true}},"#.repeat(count);
    format!(r#"{{"type":"object","allOf":[{all}true],"unevaluatedProperties":true}}"#)
}

fn repeated(piece: &str, bytes: usize) -> String {
    format!(r#"{{"a":[{}0]}}"#, format!("{piece},").repeat(bytes / (piece.len() + 1)))
}

fn zeros(bytes: usize) -> String {
    repeated("0", bytes)
}

fn towers(bytes: usize) -> String {
    repeated("[[[0]]]", bytes)
}

fn counted(bytes: usize) -> String {
    let all: Vec<String> = (0..bytes / 7).map(|at| at.to_string()).collect();
    format!(r#"{{"a":[{}]}}"#, all.join(","))
}

fn lists(bytes: usize) -> String {
    let all: Vec<String> = (0..bytes / 12).map(|at| format!("[0,0,{at}]")).collect();
    format!(r#"{{"a":[{}]}}"#, all.join(","))
}

fn objects(bytes: usize) -> String {
    let all: Vec<String> = (0..bytes / 16).map(|at| format!(r#"{{"a":{{"b":{at}}}}}"#)).collect();
    format!(r#"{{"a":[{}]}}"#, all.join(","))
}

fn huge_numbers(bytes: usize) -> String {
    repeated(&"7".repeat(300), bytes)
}

fn text(bytes: usize) -> String {
    format!(r#"{{"a":"{}"}}"#, "a".repeat(bytes))
}

fn fields(bytes: usize) -> String {
    let all: Vec<String> = (0..bytes / 20).map(|at| format!(r#""xxxxxxxxxx{at}":0"#)).collect();
    format!("{{{}}}", all.join(","))
}

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let tool = |(name, schema, _): &Kind| Tool {
            output_schema: Some(schema()),
            ..raw::tool(name, &raw::amount("bytes"))
        };
        Ok(KINDS.iter().map(tool).collect())
    }

    fn call_tool(_: Call, name: String, args: String) -> Result<ToolResult, Error> {
        let (_, _, result) = KINDS.iter().find(|(kind, ..)| *kind == name).ok_or(Error::Cancelled)?;
        Ok(ToolResult { structured: Some(result(number(&args)?)), ..raw::text("made") })
    }
}

raw::export!(Plugin);
