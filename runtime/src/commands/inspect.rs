//! `plugport inspect`: shows what a component is, before anyone trusts it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use plugport_common::Metadata;
use serde_json::{Value, json};

use super::capability_report::CapabilityReport;
use super::published_names::LISTS_NOTHING;
use super::signature_report::SignatureReport;
use super::{CommandError, call, console};
use crate::catalog::{
    Item, PluginEntry, PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool, plugin_name,
};
use crate::cli;
use crate::config::{Config, InstanceMode, PluginConfig};
use crate::observe::Escaped;
use crate::plugin::{
    ItemKind, Plugin, PromptArgument, RejectedFunction, ResourceDescriptor, ResourceTemplate, ShippedFile,
};
use crate::sandbox::KvDatabase;

/// A component, its file, and the settings of the plugin of that name.
struct Inspection {
    entry: PluginEntry,
    file: PathBuf,
    bytes: usize,
    signature: SignatureReport,
    instances: InstanceMode,
    metadata: Metadata,
    capabilities: CapabilityReport,
}

pub(super) async fn run(args: cli::Inspect) -> Result<ExitCode, CommandError> {
    let name = call::stem(&args.file);
    if !args.file.exists() && plugin_name(&args.file.to_string_lossy()).is_ok() {
        let file = Path::new("plugins").join(format!("{name}.wasm"));
        let why = format!("there is no file {name}; name the file of a plugin, such as {}", file.display());
        return Err(CommandError::Usage(anyhow!(why)));
    }
    let config = match &args.config {
        Some(file) => Config::read(file, PathBuf::new())?,
        None => Config::new(PathBuf::new()),
    };
    let settings = config.plugin(&name);
    // A file is compared with the grants of the plugin of its name, but does not get them. A file that a server would
    // reject for its signature is shown too.
    let ungranted = PluginConfig {
        grants: settings.grants.of_no_guest(),
        require_signature: false,
        trusted_keys: Arc::default(),
        ..settings.clone()
    };
    let store = KvDatabase::in_memory().context("cannot open a key-value store in memory")?;
    let target =
        call::LoadTarget { path: args.file.clone(), name, settings: ungranted, store, in_folder: false };
    let artifact = call::read(&target)?;
    let signature = SignatureReport::of(&artifact, &config.server.trusted_keys, settings.require_signature);
    let bytes = artifact.bytes.len();
    let metadata = Metadata::of(&artifact.bytes);
    let entry = call::load_component(target, artifact, &config).await?;
    let capabilities = CapabilityReport::of(&entry.interfaces.imports, &settings.grants);
    let instances = settings.instances;
    let inspection =
        Inspection { entry, file: args.file, bytes, signature, instances, metadata, capabilities };
    if args.json {
        console::print_json(&format!("{:#}", as_json(&inspection)));
    } else {
        console::print(&as_text(&inspection));
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(inspection: &Inspection) -> Value {
    let Inspection { entry, file, bytes, signature, instances, metadata, capabilities } = inspection;
    let tools: Vec<Value> = entry.tools.iter().map(|tool| tool_json(tool)).collect();
    let rejected: Vec<Value> = entry
        .rejected
        .iter()
        .map(|rejected| json!({ rejected.kind.as_str(): rejected.name, "reason": rejected.why }))
        .collect();
    let mut described = json!({
        "file": file,
        "bytes": bytes,
        "digest": format!("sha256:{}", entry.plugin.digest()),
        "signature": signature.as_json(),
        "instances": instances.as_str(),
        "metadata": metadata.as_json(),
        "imports": entry.interfaces.imports,
        "exports": entry.interfaces.exports,
        "tools": tools,
        "resources": entry.resources.iter().map(|resource| resource_json(resource)).collect::<Vec<_>>(),
        "resourceTemplates": entry.templates.iter().map(|template| template_json(template)).collect::<Vec<_>>(),
        "prompts": entry.prompts.iter().map(|prompt| prompt_json(prompt)).collect::<Vec<_>>(),
        "rejected": rejected,
        "files": files_json(&entry.plugin),
        "functionTools": entry.plugin.has_function_tools(),
        "rejectedFunctions": rejected_functions_json(&entry.plugin),
    });
    capabilities.describe(&mut described, lists_nothing(entry).map(ToOwned::to_owned).as_slice());
    described
}

/// The warning about a plugin that lists nothing.
fn lists_nothing(entry: &PluginEntry) -> Option<&'static str> {
    entry.lists_nothing().then_some(LISTS_NOTHING)
}

/// The functions that cannot be tools.
pub(super) fn rejected_functions_json(plugin: &Plugin) -> Value {
    plugin
        .rejected_functions()
        .iter()
        .map(|RejectedFunction { name, why }| json!({ "function": name, "reason": why }))
        .collect()
}

/// The files in the component.
pub(super) fn files_json(plugin: &Plugin) -> Value {
    let file =
        |file: &ShippedFile| json!({ "path": &*file.path, "size": file.size(), "digest": &*file.digest });
    plugin.shipped_files().iter().map(file).collect()
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

fn as_text(inspection: &Inspection) -> String {
    let Inspection { entry, file, bytes, signature, instances, metadata, capabilities } = inspection;
    let mut lines = vec![
        format!("{}  {bytes} bytes", Escaped(&file.display().to_string())),
        format!("sha256:{}", entry.plugin.digest()),
        Escaped(&signature.in_words()).to_string(),
    ];
    if entry.plugin.has_function_tools() {
        lines.push(
            "a component with function tools: it knows nothing of MCP, and its functions are its tools"
                .to_owned(),
        );
    }
    lines.extend(instances.cost_note().map(ToOwned::to_owned));
    let metadata = metadata.lines();
    if !metadata.is_empty() {
        lines.push("says of itself".to_owned());
        lines.extend(metadata.iter().map(|line| format!("  {}", Escaped(line))));
    }
    let tools = entry.tools.iter().map(|tool| (tool.own_name(), tool.tool.description.as_deref()));
    lines.extend(item_lines("tools", ItemKind::Tool, tools.collect(), entry));
    let resources =
        entry.resources.iter().map(|item| (item.own_name(), item.resource.description.as_deref()));
    lines.extend(item_lines("resources", ItemKind::Resource, resources.collect(), entry));
    let templates =
        entry.templates.iter().map(|item| (item.own_name(), item.template.description.as_deref()));
    lines.extend(item_lines("resource templates", ItemKind::Template, templates.collect(), entry));
    let prompts = entry.prompts.iter().map(|item| (item.own_name(), item.prompt.description.as_deref()));
    lines.extend(item_lines("prompts", ItemKind::Prompt, prompts.collect(), entry));
    lines.extend(lists_nothing(entry).map(|warning| format!("warning: {warning}")));
    let section = |title: &str, items: &[String]| {
        let items = if items.is_empty() { vec!["nothing".to_owned()] } else { items.to_vec() };
        std::iter::once(title.to_owned())
            .chain(items.into_iter().map(|item| format!("  {}", Escaped(&item))))
            .collect::<Vec<_>>()
    };
    if !entry.plugin.rejected_functions().is_empty() {
        let rejected = entry
            .plugin
            .rejected_functions()
            .iter()
            .map(|function| format!("{}: {}", function.shown(), function.why));
        lines.extend(section("functions that are no tools", &rejected.collect::<Vec<_>>()));
    }
    let files = entry.plugin.shipped_files();
    if !files.is_empty() {
        let shown =
            files.iter().map(|file| format!("{:<32} {:>8} bytes  {}", file.path, file.size(), file.digest));
        lines.extend(section("files", &shown.collect::<Vec<_>>()));
    }
    lines.extend(section("exports", &entry.interfaces.exports));
    lines.extend(section("imports", &entry.interfaces.imports));
    lines.extend(section("reaches, if it uses what it imports", &capabilities.lines()));
    lines.join("\n")
}

/// The lines for one kind of items, also those that cannot be published; empty if the plugin has none.
fn item_lines(
    title: &str,
    kind: ItemKind,
    items: Vec<(&str, Option<&str>)>,
    entry: &PluginEntry,
) -> Vec<String> {
    let rejected: Vec<_> = entry.rejected.iter().filter(|rejected| rejected.kind == kind).collect();
    if items.is_empty() && rejected.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![title.to_owned()];
    for (name, description) in items {
        let first = Escaped(description.unwrap_or_default().lines().next().unwrap_or_default()).to_string();
        lines.push(format!("  {:<24} {first}", Escaped(name).to_string()));
    }
    for rejected in rejected {
        let (name, why) = (Escaped(&rejected.name).to_string(), Escaped(&rejected.why));
        lines.push(format!("  {name:<24} cannot be published: {why}"));
    }
    lines
}
