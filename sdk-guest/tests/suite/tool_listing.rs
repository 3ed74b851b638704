//! What clients are told of a tool.

use plugport_sdk::prelude::*;
use plugport_sdk::schemars::JsonSchema;
use plugport_sdk::serde::Deserialize;
use plugport_sdk::serde_json::{Value, json};
use plugport_sdk::testing::describe;
use plugport_sdk::tools::ToolAnnotations;

/// Move a file to another
/// folder.
///
/// Fails:
/// - when it is not there
/// - when the folder is full
#[tool(name = "move", title = "Move a file", destructive, read_only = false)]
fn move_file(
    _call: &Call,
    /// Which file,
    /// by its path.
    path: String,
    /// Where to.
    #[arg(rename = "to-folder")]
    to: Option<String>,
    #[arg(default = 3)] attempts: u8,
    #[arg(default = "fast")] how: String,
) -> String {
    format!("{path} {to:?} {attempts} {how}")
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "plugport_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "plugport_sdk::schemars")]
struct Search {
    /// Words to look for.
    words: Vec<String>,
    limit: Option<u32>,
}

/// Search for words.
#[tool]
fn search(#[args] search: Search) -> String {
    format!("{} {:?}", search.words.join(" "), search.limit)
}

/// Take nothing.
#[tool]
fn nothing() {}

mod elsewhere {
    use plugport_sdk::prelude::*;

    /// Live in a module and have a keyword for a name.
    #[tool]
    pub(super) fn r#type(r#in: u8) -> String {
        r#in.to_string()
    }
}

plugport_sdk::export! { tools: [move_file, search, nothing, elsewhere::r#type] }

fn schema<T: plugport_sdk::Tool>() -> Value {
    plugport_sdk::serde_json::from_str(&describe::<T>().unwrap().input_schema).unwrap()
}

#[test]
fn keys_and_doc_comments_describe_a_tool() {
    let tool = describe::<move_file>().unwrap();
    assert_eq!(tool.name, "move");
    assert_eq!(tool.title.as_deref(), Some("Move a file"));
    assert_eq!(
        tool.description.as_deref(),
        Some("Move a file to another folder.\n\nFails:\n- when it is not there\n- when the folder is full")
    );
    assert_eq!(
        tool.annotations,
        Some(ToolAnnotations {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: None,
            open_world: None
        })
    );
}

#[test]
fn parameters_become_properties() {
    let expected = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which file, by its path."},
            "to-folder": {"type": "string", "description": "Where to."},
            "attempts": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255, "default": 3},
            "how": {"type": "string", "default": "fast"},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    assert_eq!(schema::<move_file>().to_string(), expected.to_string(), "in this order");
}

#[test]
fn a_struct_can_be_all_arguments() {
    let schema = schema::<search>();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["words"]["description"], "Words to look for.");
    assert_eq!(schema["properties"]["limit"]["type"], "integer", "what may be left out is not null too");
    assert_eq!(schema["required"], json!(["words"]));
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn without_keys_there_are_no_hints() {
    let tool = describe::<nothing>().unwrap();
    assert_eq!((tool.name.as_str(), tool.title, tool.annotations), ("nothing", None, None));
    assert_eq!(schema::<nothing>()["properties"], json!({}));
}

#[test]
fn a_raw_name_is_told_without_its_mark() {
    assert_eq!(describe::<elsewhere::r#type>().unwrap().name, "type");
    assert_eq!(schema::<elsewhere::r#type>()["required"], json!(["in"]));
}

/// Take what the schema says.
#[tool(
    input_schema = r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#,
    output_schema = OUTPUT,
    extra = r#"{"icons":[]}"#
)]
fn verbatim(#[args] all: plugport_sdk::serde_json::Map<String, Value>) -> Value {
    Value::Object(all)
}

const OUTPUT: &str = r#"{ "type": "object" }"#;

#[test]
fn schemas_of_the_authors_own_go_out_as_they_are() {
    let tool = describe::<verbatim>().unwrap();
    assert!(tool.input_schema.contains("x-mcp-header"));
    assert_eq!(tool.output_schema.as_deref(), Some(OUTPUT));
    assert_eq!(tool.extra.as_deref(), Some(r#"{"icons":[]}"#));
    let given = json!({"a": "b", "c": 1});
    assert_eq!(plugport_sdk::testing::invoke::<verbatim>(given.clone()).structured(), Some(given));
}
