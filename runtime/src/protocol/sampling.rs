//! Parameters and answers of `sampling/createMessage`.

use serde_json::{Map, Value, json};

use super::abilities::Abilities;
use super::revision::Revision;
use crate::host::AskError;

/// Words a question to the client's model for its revision.
pub(super) fn prepare(
    mut params: Map<String, Value>,
    revision: Revision,
    abilities: Abilities,
) -> Result<Value, AskError> {
    let messages = params.get("messages").and_then(Value::as_array).filter(|messages| !messages.is_empty());
    let Some(messages) = messages else {
        return Err(AskError::Invalid("`messages` must be a list with a message in it".to_owned()));
    };
    if !messages.iter().all(is_message) {
        return Err(AskError::Invalid("a message has a `role` (user, assistant) and `content`".to_owned()));
    }
    if params.get("maxTokens").and_then(Value::as_u64).unwrap_or(0) == 0 {
        return Err(AskError::Invalid("`maxTokens` must be a positive number".to_owned()));
    }
    if !abilities.sampling {
        return Err(AskError::Missing("sampling"));
    }
    let speaks_of_tools = messages.iter().flat_map(blocks).any(|block| kind(block).starts_with("tool_"));
    let with_tools = params.contains_key("tools") || params.contains_key("toolChoice") || speaks_of_tools;
    if with_tools && !abilities.sampling_tools {
        return Err(AskError::Missing("sampling.tools"));
    }
    if !revision.has_audio() && messages.iter().flat_map(blocks).any(|block| kind(block) == "audio") {
        return Err(AskError::Missing("sampling.audio"));
    }
    if !revision.has_sampling_tools() {
        let single = messages.iter().flat_map(one_block_each).collect::<Vec<_>>();
        params.insert("messages".to_owned(), single.into());
    }
    Ok(params.into())
}

/// Checks the answer of a model.
pub(super) fn check_answer(answer: &Map<String, Value>) -> Result<(), String> {
    let text = |name: &str| answer.get(name).is_some_and(Value::is_string);
    if !text("model") {
        return Err("`model` must be a text".to_owned());
    }
    let role = answer.get("role").and_then(Value::as_str);
    let content = answer.get("content").is_some_and(is_content);
    match (role, content) {
        (Some("assistant" | "user"), true) => Ok(()),
        (Some("assistant" | "user"), false) => {
            Err("`content` must be a content block, or a list of them".to_owned())
        }
        _ => Err("`role` must be `assistant` or `user`".to_owned()),
    }
}

fn is_message(message: &Value) -> bool {
    let role = message.get("role").and_then(Value::as_str);
    matches!(role, Some("user" | "assistant")) && message.get("content").is_some_and(is_content)
}

fn is_content(content: &Value) -> bool {
    let block = |block: &Value| !kind(block).is_empty();
    match content {
        Value::Array(blocks) => blocks.iter().all(block),
        other => block(other),
    }
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The blocks of a message, which may be one or a list.
fn blocks(message: &Value) -> &[Value] {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(block) => std::slice::from_ref(block),
        None => &[],
    }
}

/// A message with several blocks as several messages, for revisions in which a message has one.
fn one_block_each(message: &Value) -> Vec<Value> {
    let role = message.get("role").cloned().unwrap_or_default();
    blocks(message).iter().map(|block| json!({"role": role, "content": block})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Abilities = Abilities {
        sampling: true,
        sampling_tools: true,
        elicitation_form: true,
        elicitation_url: true,
        roots: true,
    };

    fn asked(params: &Value, revision: Revision, abilities: Abilities) -> Result<Value, AskError> {
        prepare(params.as_object().unwrap().clone(), revision, abilities)
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn several_blocks_become_several_messages_for_older_clients() {
        let params =
            json!({"maxTokens": 9, "messages": [{"role": "user", "content": [text("a"), text("b")]}]});
        assert_eq!(asked(&params, Revision::V2026_07_28, ALL), Ok(params.clone()));
        let old = asked(&params, Revision::V2025_06_18, ALL).unwrap();
        assert_eq!(old["messages"][1], json!({"role": "user", "content": text("b")}));
    }

    #[test]
    fn tools_and_sounds_need_a_client_that_has_them() {
        let tools =
            json!({"maxTokens": 9, "tools": [], "messages": [{"role": "user", "content": text("a")}]});
        let plain = Abilities { sampling_tools: false, ..ALL };
        assert_eq!(asked(&tools, Revision::V2025_11_25, plain), Err(AskError::Missing("sampling.tools")));
        let sound = json!({"type": "audio", "data": "", "mimeType": "audio/wav"});
        let sound = json!({"maxTokens": 9, "messages": [{"role": "user", "content": sound}]});
        assert_eq!(asked(&sound, Revision::V2024_11_05, ALL), Err(AskError::Missing("sampling.audio")));
        assert!(asked(&sound, Revision::V2025_03_26, ALL).is_ok());
    }

    #[test]
    fn malformed_questions_are_the_guests_fault() {
        for bad in [
            json!({}),
            json!({"messages": [], "maxTokens": 1}),
            json!({"messages": [{"role": "system", "content": text("a")}], "maxTokens": 1}),
            json!({"messages": [{"role": "user", "content": "a"}], "maxTokens": 1}),
            json!({"messages": [{"role": "user", "content": text("a")}]}),
        ] {
            assert!(matches!(asked(&bad, Revision::V2026_07_28, ALL), Err(AskError::Invalid(_))), "{bad}");
        }
    }

    #[test]
    fn answers_have_a_role_a_model_and_content() {
        let check = |value: Value| check_answer(value.as_object().unwrap());
        assert!(check(json!({"role": "assistant", "model": "m", "content": text("a")})).is_ok());
        assert!(check(json!({"role": "assistant", "model": "m", "content": [text("a")]})).is_ok());
        assert!(check(json!({"role": "assistant", "content": text("a")})).is_err());
        assert!(check(json!({"role": "assistant", "model": "m", "content": "a"})).is_err());
        assert!(check(json!({"role": "system", "model": "m", "content": text("a")})).is_err());
    }
}
