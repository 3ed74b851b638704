//! The fixtures that the official conformance suite asks a server for, under the names and with the texts that it
//! expects.
//!
//! Publish it with an empty prefix, and grant it sampling, elicitation, roots and `kv`. Where the suite has one fixture
//! for each era of the protocol, both are here, and each works in both.

use std::thread::sleep;
use std::time::Duration;

use plugport_sdk::prelude::*;
use serde_json::{Map, Value};

#[path = "conformance/changes.rs"]
mod changes;
#[path = "conformance/client_requests.rs"]
mod client_requests;
#[path = "conformance/items.rs"]
mod items;
#[path = "conformance/media.rs"]
mod media;
#[path = "conformance/tasks.rs"]
mod tasks;

use changes::{
    test_changing_prompt, test_changing_tool, test_trigger_prompt_change, test_trigger_resource_change,
    test_trigger_tool_change,
};
use client_requests::*;
use items::*;
use media::{PNG, WAV};
use tasks::*;

/// A text.
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// A picture.
#[tool]
fn test_image_content() -> Content {
    Content::image(PNG, "image/png")
}

/// A sound.
#[tool]
fn test_audio_content() -> Content {
    Content::audio(WAV, "audio/wav")
}

/// A resource inside the result.
#[tool]
fn test_embedded_resource() -> Content {
    let text = "This is an embedded resource content.";
    Content::text_resource("test://embedded-resource", "text/plain", text)
}

/// Several kinds of content.
#[tool]
fn test_multiple_content_types() -> Vec<Content> {
    let json = r#"{"test":"data","value":123}"#;
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PNG, "image/png"),
        Content::text_resource("test://mixed-content-resource", "application/json", json),
    ]
}

/// Tell the client's log three times.
#[tool]
fn test_tool_with_logging(call: &Call) -> &'static str {
    call.info("Tool execution started");
    pause(50);
    call.info("Tool processing data");
    pause(50);
    call.info("Tool execution completed");
    "Tool with logging executed successfully"
}

/// Tell the client's log once.
#[tool]
fn test_logging_tool(call: &Call) -> &'static str {
    call.info("test_logging_tool was called");
    "Logged"
}

/// Fail.
#[tool]
fn test_error_handling() -> Result<(), &'static str> {
    Err("This tool intentionally returns an error for testing")
}

/// Report progress three times.
#[tool]
fn test_tool_with_progress(call: &Call) -> &'static str {
    for done in [0.0, 50.0, 100.0] {
        call.progress(done, 100.0, None);
        pause(50);
    }
    "Tool with progress executed successfully"
}

/// Take so long that a client may lose its connection and come back.
#[tool]
fn test_reconnection() -> &'static str {
    pause(3000);
    "Reconnection test completed"
}

/// Take an argument that HTTP clients repeat in a header.
#[tool(
    input_schema = r#"{"type":"object","properties":{"value":{"type":"string","description":"What to give back.","x-mcp-header":"Value"}}}"#
)]
fn test_custom_header(value: Option<String>) -> String {
    format!("Value: {}", value.as_deref().unwrap_or("none"))
}

/// Tool with JSON Schema 2020-12 features.
#[tool(input_schema = include_str!("conformance/schema_2020_12.json"))]
fn json_schema_2020_12_tool(#[args] given: Map<String, Value>) -> String {
    Value::Object(given).to_string()
}

fn pause(ms: u64) {
    sleep(Duration::from_millis(ms));
}

plugport_sdk::export! {
    tools: [
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_tool_with_logging,
        test_logging_tool,
        test_error_handling,
        test_tool_with_progress,
        test_reconnection,
        test_custom_header,
        json_schema_2020_12_tool,
        greet,
        slow_compute,
        failing_job,
        protocol_error_job,
        confirm_delete,
        multi_input,
        test_tool_with_task,
        test_sampling,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        test_missing_capability,
        test_streaming_elicitation,
        test_input_required_result_elicitation,
        test_input_required_result_sampling,
        test_input_required_result_list_roots,
        test_input_required_result_request_state,
        test_input_required_result_multiple_inputs,
        test_input_required_result_multi_round,
        test_input_required_result_tampered_state,
        test_input_required_result_capabilities,
        test_trigger_tool_change,
        test_trigger_prompt_change,
        test_trigger_resource_change,
        test_changing_tool,
    ],
    resources: [static_text, static_binary, watched_resource, template_data],
    prompts: [
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
        test_input_required_result_prompt,
        test_changing_prompt,
    ],
    completions: [first_arguments, second_arguments, template_ids],
}
