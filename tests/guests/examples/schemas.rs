//! Lists tools whose schemas are unusual and legal, which clients must get byte for byte.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};

const ODD_ORDER: &str = r#"{"required":["z","a"],"properties":{"z":{"description":"last","type":"string"},"a":{"type":"integer"}},"type":"object"}"#;

const WHITESPACE: &str = "{\n  \"type\" :\t\"object\" ,\r\n  \"properties\" : { \"n\" : { \"type\" : \"number\" , \"maximum\" : 1.50e2 } }\n}\n";

const DEFINITIONS: &str = r##"{"type":"object","$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"next":{"$ref":"#/$defs/node"}},"required":["name"]}},"properties":{"head":{"$ref":"#/$defs/node"}},"required":["head"]}"##;

const ESCAPES: &str = r#"{"type":"object","properties":{"gr\u00fc\u00DFe":{"type":"string","description":"\u0041 \/ \ud83d\ude00 😀"}}}"#;

const EXTENSION: &str = r#"{"type":"object","x-extra":{"widget":"slider","steps":[1,2.0,3e0,null]},"properties":{},"$comment":"kept"}"#;

const PATTERN: &str = r#"{"type":"object","properties":{"code":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{3}$"}},"required":["code"]}"#;

const BOOLEANS: &str = r#"{"type":"object","properties":{"any":true,"none":false}}"#;

const TOOLS: &[(&str, &str)] = &[
    ("odd_order", ODD_ORDER),
    ("whitespace", WHITESPACE),
    ("definitions", DEFINITIONS),
    ("escapes", ESCAPES),
    ("extension", EXTENSION),
    ("pattern", PATTERN),
    ("booleans", BOOLEANS),
];

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let tools = TOOLS.iter().map(|(name, schema)| raw::tool(name, schema));
        Ok(tools.collect())
    }

    /// Gives back the arguments as they came.
    fn call_tool(_: Call, name: String, args: String) -> Result<ToolResult, Error> {
        match TOOLS.iter().any(|(tool, _)| *tool == name) {
            true => Ok(raw::text(&args)),
            false => Err(Error::NotFound(name)),
        }
    }
}

raw::export!(Plugin);
