//! Links to whatever it is told, and embeds it, beside resources of its own.

use plugport_sdk::prelude::*;

/// Link to these URIs.
#[tool(read_only)]
fn link(uris: Vec<String>) -> Vec<Content> {
    uris.into_iter().map(|uri| Content::link(uri, "linked")).collect()
}

/// Embed resources with these URIs.
#[tool(read_only)]
fn embed(uris: Vec<String>) -> Vec<Content> {
    uris.into_iter().map(|uri| Content::text_resource(uri, "text/plain", "embedded")).collect()
}

/// A prompt with a text, and a link to this URI.
#[prompt]
fn tell(uri: String) -> Vec<PromptMessage> {
    vec![PromptMessage::user("look"), PromptMessage::user(Content::link(uri, "linked"))]
}

/// For everybody.
#[resource("links:public", name = "public", mime_type = "text/plain")]
fn public() -> &'static str {
    "public"
}

/// Copies of all resources, and of what no plugin publishes.
#[resource("links:all", name = "all", mime_type = "text/plain")]
fn all() -> Vec<Contents> {
    let uris = ["links:public", "links:secret", "links:note/1", "links:all", "other:unknown"];
    uris.into_iter().map(|uri| Contents::text("copied").uri(uri)).collect()
}

/// For some.
#[resource("links:secret", name = "secret", mime_type = "text/plain")]
fn secret() -> &'static str {
    "secret"
}

/// Notes by their numbers.
#[resource_template("links:note/{id}", name = "note", mime_type = "text/plain")]
fn note(id: String) -> String {
    id
}

plugport_sdk::export! {
    tools: [link, embed],
    resources: [public, all, secret, note],
    prompts: [tell],
}
