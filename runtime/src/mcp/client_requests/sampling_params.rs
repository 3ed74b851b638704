//! Parameters and results of `sampling/createMessage`.

use serde_json::{Map, Value, json};

use super::super::revision::Revision;
use super::client_capabilities::ClientCapabilities;
use super::sampling_content::{self, kind};
use crate::call_env::ClientRequestError;

/// Writes a `sampling/createMessage` for the revision of its client.
pub(in crate::mcp) fn prepare(
    mut params: Map<String, Value>,
    revision: Revision,
    capabilities: ClientCapabilities,
) -> Result<Value, ClientRequestError> {
    check(&params).map_err(ClientRequestError::Invalid)?;
    if !capabilities.sampling {
        return Err(ClientRequestError::Missing("sampling"));
    }
    let messages = params.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let has = |is_kind: fn(&str) -> bool| messages.iter().flat_map(blocks).any(|block| is_kind(kind(block)));
    let with_tools = ["tools", "toolChoice"].iter().any(|field| params.contains_key(*field));
    if (with_tools || has(|kind| kind.starts_with("tool_"))) && !capabilities.sampling_tools {
        return Err(ClientRequestError::Missing("sampling.tools"));
    }
    if !revision.has_audio() && has(|kind| kind == "audio") {
        return Err(ClientRequestError::Missing("sampling.audio"));
    }
    if !revision.has_sampling_tools() {
        let single = messages.iter().flat_map(one_block_each).collect::<Vec<_>>();
        params.insert("messages".to_owned(), single.into());
    }
    // The field is deprecated, and allowed only for clients that declare it.
    params.remove("includeContext");
    Ok(params.into())
}

/// Whether a value fits its field.
type FieldCheck<'f> = &'f dyn Fn(&Value) -> bool;

/// Checks the type of every field that MCP defines, so that no client rejects the whole request because of one.
fn check(params: &Map<String, Value>) -> Result<(), String> {
    let messages = params.get("messages").and_then(Value::as_array).filter(|messages| !messages.is_empty());
    for message in messages.ok_or("`messages` must be a list with a message in it")? {
        if !matches!(message.get("role").and_then(Value::as_str), Some("user" | "assistant")) {
            return Err("a message has the `role` user or assistant".to_owned());
        }
        sampling_content::check(message.get("content").unwrap_or(&Value::Null), true)?;
    }
    if params.get("maxTokens").and_then(Value::as_u64).unwrap_or(0) == 0 {
        return Err("`maxTokens` must be a positive number".to_owned());
    }
    let texts = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    let tool = |tool: &Value| {
        tool.get("name").is_some_and(Value::is_string)
            && tool.get("inputSchema").is_some_and(Value::is_object)
    };
    let tools = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(tool));
    let fields: [(&str, FieldCheck<'_>); 7] = [
        ("systemPrompt", &Value::is_string),
        ("temperature", &Value::is_number),
        ("stopSequences", &texts),
        ("metadata", &Value::is_object),
        ("modelPreferences", &Value::is_object),
        ("tools", &tools),
        ("toolChoice", &Value::is_object),
    ];
    match fields.iter().find(|(name, good)| params.get(*name).is_some_and(|value| !good(value))) {
        Some((name, _)) => Err(format!("`{name}` does not have the type that MCP requires")),
        None => Ok(()),
    }
}

/// Checks the message of a model. `tools` says whether the request had tools.
pub(in crate::mcp) fn check_result(result: &Map<String, Value>, tools: bool) -> Result<(), String> {
    if !result.get("model").is_some_and(Value::is_string) {
        return Err("`model` must be a text".to_owned());
    }
    if result.get("stopReason").is_some_and(|reason| !reason.is_string()) {
        return Err("`stopReason` must be a text".to_owned());
    }
    match result.get("role").and_then(Value::as_str) {
        Some("assistant" | "user") => {
            sampling_content::check(result.get("content").unwrap_or(&Value::Null), tools)
        }
        _ => Err("`role` must be `assistant` or `user`".to_owned()),
    }
}

/// Returns the blocks of a message, whose content may be one block or a list.
fn blocks(message: &Value) -> &[Value] {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(block) => std::slice::from_ref(block),
        None => &[],
    }
}

/// Splits a message with several blocks into messages with one block, for revisions that allow only one.
fn one_block_each(message: &Value) -> Vec<Value> {
    let role = message.get("role").cloned().unwrap_or_default();
    blocks(message).iter().map(|block| json!({"role": role, "content": block})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(
        params: &Value,
        revision: Revision,
        capabilities: ClientCapabilities,
    ) -> Result<Value, ClientRequestError> {
        prepare(params.as_object().unwrap().clone(), revision, capabilities)
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn several_blocks_become_several_messages_for_older_clients() {
        let params =
            json!({"maxTokens": 9, "messages": [{"role": "user", "content": [text("a"), text("b")]}]});
        assert_eq!(prepared(&params, Revision::V2026_07_28, ClientCapabilities::ALL), Ok(params.clone()));
        let old = prepared(&params, Revision::V2025_06_18, ClientCapabilities::ALL).unwrap();
        assert_eq!(old["messages"][1], json!({"role": "user", "content": text("b")}));
    }

    #[test]
    fn tools_and_sounds_need_a_client_that_has_them() {
        let tools =
            json!({"maxTokens": 9, "tools": [], "messages": [{"role": "user", "content": text("a")}]});
        let without_tools = ClientCapabilities { sampling_tools: false, ..ClientCapabilities::ALL };
        assert_eq!(
            prepared(&tools, Revision::V2025_11_25, without_tools),
            Err(ClientRequestError::Missing("sampling.tools"))
        );
        let sound = json!({"type": "audio", "data": "", "mimeType": "audio/wav"});
        let sound = json!({"maxTokens": 9, "messages": [{"role": "user", "content": sound}]});
        assert_eq!(
            prepared(&sound, Revision::V2024_11_05, ClientCapabilities::ALL),
            Err(ClientRequestError::Missing("sampling.audio"))
        );
        assert!(prepared(&sound, Revision::V2025_03_26, ClientCapabilities::ALL).is_ok());
    }

    #[test]
    fn malformed_client_requests_are_the_guests_fault() {
        for bad in [
            json!({}),
            json!({"messages": [], "maxTokens": 1}),
            json!({"messages": [{"role": "system", "content": text("a")}], "maxTokens": 1}),
            json!({"messages": [{"role": "user", "content": "a"}], "maxTokens": 1}),
            json!({"messages": [{"role": "user", "content": text("a")}]}),
            json!({"messages": [{"role": "user", "content": []}], "maxTokens": 1}),
            json!({"messages": [{"role": "user", "content": text("a")}], "maxTokens": 1, "temperature": "hot"}),
            json!({"messages": [{"role": "user", "content": text("a")}], "maxTokens": 1, "tools": [{}]}),
        ] {
            assert!(
                matches!(
                    prepared(&bad, Revision::V2026_07_28, ClientCapabilities::ALL),
                    Err(ClientRequestError::Invalid(_))
                ),
                "{bad}"
            );
        }
    }

    #[test]
    fn results_have_a_role_a_model_and_content() {
        let check = |value: Value| check_result(value.as_object().unwrap(), false);
        assert!(check(json!({"role": "assistant", "model": "m", "content": text("a")})).is_ok());
        assert!(check(json!({"role": "assistant", "model": "m", "content": [text("a")]})).is_ok());
        assert!(check(json!({"role": "assistant", "content": text("a")})).is_err());
        assert!(check(json!({"role": "assistant", "model": "m", "content": "a"})).is_err());
        assert!(check(json!({"role": "system", "model": "m", "content": text("a")})).is_err());
    }
}
