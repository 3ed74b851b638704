//! Resources, prompts and their completion.

use plugport_sdk::completions::{Completion, rank};
use plugport_sdk::prelude::*;
use serde::Serialize;

use super::changes;
use super::media::PNG;

/// A text that stays as it is.
#[resource("test://static-text", name = "Static Text Resource", mime_type = "text/plain")]
pub fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// A picture that stays as it is.
#[resource("test://static-binary", name = "Static Binary Resource", mime_type = "image/png")]
pub fn static_binary() -> Vec<u8> {
    PNG.to_vec()
}

/// A text that `test_trigger_resource_change` changes.
#[resource("test://watched-resource", name = "Watched Resource", mime_type = "text/plain")]
pub fn watched_resource() -> Result<String, Error> {
    Ok(format!("Version {}", changes::version()?))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Data {
    id: String,
    template_test: bool,
    data: String,
}

/// The data of any id.
#[resource_template("test://template/{id}/data", name = "Resource Template", mime_type = "application/json")]
pub fn template_data(id: String) -> Json<Data> {
    let data = format!("Data for ID: {id}");
    Json(Data { id, template_test: true, data })
}

/// A prompt without arguments.
#[prompt]
pub fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A prompt with arguments.
#[prompt]
pub fn test_prompt_with_arguments(
    /// First test argument.
    arg1: String,
    /// Second test argument.
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A prompt with a resource inside.
#[prompt]
pub fn test_prompt_with_embedded_resource(
    /// URI of the resource to embed.
    #[arg(rename = "resourceUri")]
    resource_uri: String,
) -> Vec<PromptMessage> {
    let text = "Embedded resource content for testing.";
    vec![
        PromptMessage::user(Content::text_resource(resource_uri, "text/plain", text)),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

/// A prompt with a picture inside.
#[prompt]
pub fn test_prompt_with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(Content::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

#[complete(prompt = test_prompt_with_arguments, argument = "arg1")]
pub fn first_arguments(value: &str) -> Completion {
    rank(value, ["paris", "park", "party"])
}

#[complete(prompt = test_prompt_with_arguments, argument = "arg2")]
pub fn second_arguments(value: &str, context: &CompletionContext) -> Completion {
    match context.get("arg1") {
        Some(first) => rank(value, [format!("{first} in spring"), format!("{first} in autumn")]),
        None => rank(value, ["spring", "autumn"]),
    }
}

#[complete(template = template_data, argument = "id")]
pub fn template_ids(value: &str) -> Completion {
    rank(value, (1..=500).map(|id| id.to_string()))
}
