//! Content blocks of sampling, in requests and in responses: their types and the fields that each must have.

use serde_json::Value;

/// Checks one content block, or a list of at least one. `tools` says whether `tool_use` and `tool_result` are allowed.
///
/// # Errors
/// With the first rule that a block breaks.
pub(in crate::mcp) fn check(content: &Value, tools: bool) -> Result<(), String> {
    match content {
        Value::Array(blocks) if blocks.is_empty() => Err("`content` has no block in it".to_owned()),
        Value::Array(blocks) => blocks.iter().try_for_each(|block| check_one(block, tools)),
        block => check_one(block, tools),
    }
}

fn check_one(block: &Value, tools: bool) -> Result<(), String> {
    let text = |name: &str| block.get(name).is_some_and(Value::is_string);
    let is_complete = match kind(block) {
        "text" => text("text"),
        "image" | "audio" => text("data") && text("mimeType"),
        "tool_use" if tools => text("id") && text("name") && block.get("input").is_some_and(Value::is_object),
        "tool_result" if tools => text("toolUseId") && block.get("content").is_some_and(Value::is_array),
        "" => return Err("a content block has a `type`".to_owned()),
        other => return Err(format!("a content block of the type `{other}` is not allowed here")),
    };
    if is_complete {
        Ok(())
    } else {
        Err(format!("a content block of the type `{}` lacks a field", kind(block)))
    }
}

/// The type of a block.
pub(in crate::mcp) fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_have_what_their_type_needs() {
        let image = json!({"type": "image", "data": "", "mimeType": "image/png"});
        let tool_use = json!({"type": "tool_use", "id": "1", "name": "add", "input": {}});
        let text = json!({"type": "text", "text": "a"});
        assert_eq!(check(&text, false), Ok(()));
        assert_eq!(check(&json!([text, image]), false), Ok(()));
        assert_eq!(check(&tool_use, true), Ok(()));
        for bad in [
            json!([]),
            json!({"type": "text"}),
            json!({"type": "text", "text": 5}),
            json!({"type": "bogus"}),
            json!({"text": "a"}),
            json!("a"),
            tool_use,
        ] {
            assert!(check(&bad, false).is_err(), "{bad}");
        }
    }
}
