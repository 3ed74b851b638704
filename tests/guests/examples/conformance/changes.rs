//! Lists that really change: a flag in the key-value store decides whether there is one tool or prompt more.

use plugport_sdk::prelude::*;
use plugport_sdk::{kv, notify};

const TOOL: &str = "tool";
const PROMPT: &str = "prompt";

/// Let a tool appear, or disappear.
#[tool]
pub fn test_trigger_tool_change() -> Result<&'static str, Error> {
    toggle(TOOL)?;
    notify::tools_changed();
    Ok("The list of tools has changed.")
}

/// Let a prompt appear, or disappear.
#[tool]
pub fn test_trigger_prompt_change() -> Result<&'static str, Error> {
    toggle(PROMPT)?;
    notify::prompts_changed();
    Ok("The list of prompts has changed.")
}

/// Let a watched resource change.
#[tool]
pub fn test_trigger_resource_change() -> Result<String, Error> {
    let version = kv::open()?.increment("version", 1)?;
    notify::resource_updated("test://watched-resource");
    Ok(format!("The watched resource is at version {version}."))
}

/// Only there every other time.
#[tool(when = tool_is_there)]
pub fn test_changing_tool() -> &'static str {
    "Still here."
}

/// Only there every other time.
#[prompt(when = prompt_is_there)]
pub fn test_changing_prompt() -> &'static str {
    "Still here."
}

/// How often the watched resource has changed.
pub fn version() -> Result<i64, Error> {
    kv::open()?.increment("version", 0)
}

fn toggle(flag: &str) -> Result<(), Error> {
    kv::open()?.update_json(flag, |there: Option<bool>| !there.unwrap_or(false)).map(drop)
}

fn tool_is_there() -> bool {
    is_there(TOOL)
}

fn prompt_is_there() -> bool {
    is_there(PROMPT)
}

/// Not where there is no store to ask.
fn is_there(flag: &str) -> bool {
    kv::open().and_then(|store| store.get_json(flag)).is_ok_and(|there| there.unwrap_or(false))
}
