//! `plugport inspect`: what a component is, before anyone trusts it.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Failure, call, console};
use crate::catalog::{
    Entry, Item, Kind, PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool,
};
use crate::cli;
use crate::config::{Grants, Limits, PluginConfig, Server};
use crate::observe::Escaped;
use crate::plugin::{PromptArgument, ResourceDescriptor, ResourceTemplate};

pub(super) async fn run(args: cli::Inspect) -> Result<ExitCode, Failure> {
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let settings = PluginConfig { prefix: name, limits: Limits::default(), grants: Grants::default() };
    // Nothing is granted here, so nothing is ever kept there.
    let state = std::path::PathBuf::new();
    let server = Server { concurrent_calls: 1, ..Server::default() };
    let entry = call::load(&args.file, settings, &server, &state).await?;
    let size = std::fs::metadata(&args.file).map(|metadata| metadata.len()).unwrap_or_default();
    let text =
        if args.json { format!("{:#}", as_json(&entry, &args, size)) } else { as_text(&entry, &args, size) };
    console::print(&text);
    Ok(ExitCode::SUCCESS)
}

fn as_json(entry: &Entry, args: &cli::Inspect, size: u64) -> Value {
    let tools: Vec<Value> = entry.tools.iter().map(|tool| tool_json(tool)).collect();
    let refused: Vec<Value> = entry
        .refused
        .iter()
        .map(|refused| json!({ refused.kind.as_str(): refused.name, "why": refused.why }))
        .collect();
    json!({
        "file": args.file,
        "bytes": size,
        "digest": format!("sha256:{}", entry.plugin.digest()),
        "imports": entry.surface.imports,
        "exports": entry.surface.exports,
        "needs": needs(&entry.surface.imports),
        "tools": tools,
        "resources": entry.resources.iter().map(|resource| resource_json(resource)).collect::<Vec<_>>(),
        "resourceTemplates": entry.templates.iter().map(|template| template_json(template)).collect::<Vec<_>>(),
        "prompts": entry.prompts.iter().map(|prompt| prompt_json(prompt)).collect::<Vec<_>>(),
        "refused": refused,
    })
}

fn tool_json(tool: &PublishedTool) -> Value {
    json!({
        "name": tool.tool.name,
        "published": tool.name,
        "title": tool.tool.title,
        "description": tool.tool.description,
        "inputSchema": tool.input.text(),
        "outputSchema": tool.output.as_ref().map(|schema| schema.text()),
    })
}

fn resource_json(resource: &PublishedResource) -> Value {
    let ResourceDescriptor { uri, name, title, description, mime_type, .. } = &resource.resource;
    json!({ "uri": uri, "name": name, "title": title, "description": description, "mimeType": mime_type })
}

fn template_json(template: &PublishedTemplate) -> Value {
    let ResourceTemplate { uri_template, name, title, description, mime_type, .. } = &template.template;
    json!({
        "uriTemplate": uri_template,
        "name": name,
        "title": title,
        "description": description,
        "mimeType": mime_type,
    })
}

fn prompt_json(prompt: &PublishedPrompt) -> Value {
    let argument = |argument: &PromptArgument| {
        json!({
            "name": argument.name,
            "title": argument.title,
            "description": argument.description,
            "required": argument.required,
        })
    };
    json!({
        "name": prompt.prompt.name,
        "published": prompt.name,
        "title": prompt.prompt.title,
        "description": prompt.prompt.description,
        "arguments": prompt.prompt.arguments.iter().map(argument).collect::<Vec<_>>(),
    })
}

fn as_text(entry: &Entry, args: &cli::Inspect, size: u64) -> String {
    let mut lines =
        vec![format!("{}  {size} bytes", args.file.display()), format!("sha256:{}", entry.plugin.digest())];
    let tools = entry.tools.iter().map(|tool| (tool.own_name(), tool.tool.description.as_deref()));
    lines.extend(offered("tools", Kind::Tool, tools.collect(), entry));
    let resources =
        entry.resources.iter().map(|item| (item.own_name(), item.resource.description.as_deref()));
    lines.extend(offered("resources", Kind::Resource, resources.collect(), entry));
    let templates =
        entry.templates.iter().map(|item| (item.own_name(), item.template.description.as_deref()));
    lines.extend(offered("resource templates", Kind::Template, templates.collect(), entry));
    let prompts = entry.prompts.iter().map(|item| (item.own_name(), item.prompt.description.as_deref()));
    lines.extend(offered("prompts", Kind::Prompt, prompts.collect(), entry));
    let section = |title: &str, items: &[String]| {
        let items = if items.is_empty() { vec!["nothing".to_owned()] } else { items.to_vec() };
        std::iter::once(title.to_owned())
            .chain(items.into_iter().map(|item| format!("  {}", Escaped(&item))))
            .collect::<Vec<_>>()
    };
    lines.extend(section("exports", &entry.surface.exports));
    lines.extend(section("imports", &entry.surface.imports));
    lines.extend(section("would need, if it uses what it imports", &needs(&entry.surface.imports)));
    lines.join("\n")
}

/// One kind of items, with those that cannot be published. Nothing at all when the plugin has none.
fn offered(title: &str, kind: Kind, items: Vec<(&str, Option<&str>)>, entry: &Entry) -> Vec<String> {
    let refused: Vec<_> = entry.refused.iter().filter(|refused| refused.kind == kind).collect();
    if items.is_empty() && refused.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![title.to_owned()];
    for (name, description) in items {
        let first = Escaped(description.unwrap_or_default().lines().next().unwrap_or_default()).to_string();
        lines.push(format!("  {:<24} {first}", Escaped(name).to_string()));
    }
    for refused in refused {
        let (name, why) = (Escaped(&refused.name).to_string(), Escaped(&refused.why));
        lines.push(format!("  {name:<24} cannot be published: {why}"));
    }
    lines
}

/// What an operator would have to grant for the imports to be of use. Importing is not using: many toolchains import
/// all of WASI.
fn needs(imports: &[String]) -> Vec<String> {
    let table = [
        ("wasi:filesystem/", "directories: `dirs` under its grants"),
        ("wasi:sockets/", "the network: never granted"),
        ("wasi:http/", "outgoing HTTP: not available yet"),
        ("wasi:keyvalue/", "keeping values between calls: `kv` under its grants"),
        ("plugport:plugin/sampling", "the client's model: `sampling` under its grants"),
        ("plugport:plugin/elicitation", "questions to the person: `elicitation` under its grants"),
        ("plugport:plugin/roots", "the client's roots: `roots` under its grants"),
        (
            "plugport:plugin/inputs",
            "several questions at once: `sampling`, `elicitation` or `roots` under its grants",
        ),
    ];
    let wanted = |prefix: &str| imports.iter().any(|import| import.starts_with(prefix));
    table.into_iter().filter(|(prefix, _)| wanted(prefix)).map(|(_, need)| need.to_owned()).collect()
}
