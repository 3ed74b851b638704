//! `plugport inspect`: what a component is, before anyone trusts it.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Failure, call, console};
use crate::catalog::{Entry, PublishedTool};
use crate::cli;
use crate::config::{Grants, Limits, PluginConfig};
use crate::observe::Escaped;

pub(super) async fn run(args: cli::Inspect) -> Result<ExitCode, Failure> {
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let settings = PluginConfig { prefix: name, limits: Limits::default(), grants: Grants::default() };
    // Nothing is granted here, so nothing is ever kept there.
    let state = std::path::PathBuf::new();
    let entry = call::load(&args.file, settings, 1, &state).await?;
    let size = std::fs::metadata(&args.file).map(|metadata| metadata.len()).unwrap_or_default();
    let text =
        if args.json { format!("{:#}", as_json(&entry, &args, size)) } else { as_text(&entry, &args, size) };
    console::print(&text);
    Ok(ExitCode::SUCCESS)
}

fn as_json(entry: &Entry, args: &cli::Inspect, size: u64) -> Value {
    let tools: Vec<Value> = entry.tools.iter().map(|tool| tool_json(tool)).collect();
    let refused: Vec<Value> =
        entry.refused.iter().map(|refused| json!({ "tool": refused.tool, "why": refused.why })).collect();
    json!({
        "file": args.file,
        "bytes": size,
        "digest": format!("sha256:{}", entry.plugin.digest()),
        "imports": entry.surface.imports,
        "exports": entry.surface.exports,
        "needs": needs(&entry.surface.imports),
        "tools": tools,
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

fn as_text(entry: &Entry, args: &cli::Inspect, size: u64) -> String {
    let mut lines = vec![
        format!("{}  {size} bytes", args.file.display()),
        format!("sha256:{}", entry.plugin.digest()),
        "tools".to_owned(),
    ];
    for tool in &entry.tools {
        let description = tool.tool.description.as_deref().unwrap_or_default();
        let first = Escaped(description.lines().next().unwrap_or_default()).to_string();
        lines.push(format!("  {:<24} {first}", tool.tool.name));
    }
    for refused in &entry.refused {
        lines.push(format!(
            "  {:<24} cannot be published: {}",
            Escaped(&refused.tool).to_string(),
            refused.why
        ));
    }
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

/// What an operator would have to grant for the imports to be of use. Importing is not using: many toolchains import
/// all of WASI.
fn needs(imports: &[String]) -> Vec<String> {
    let table = [
        ("wasi:filesystem/", "directories: `dirs` under its grants"),
        ("wasi:sockets/", "the network: never granted"),
        ("wasi:http/", "outgoing HTTP: not available yet"),
        ("plugport:plugin/sampling", "the client's model: not available yet"),
        ("plugport:plugin/elicitation", "questions to the user: not available yet"),
        ("plugport:plugin/roots", "the client's roots: not available yet"),
    ];
    let wanted = |prefix: &str| imports.iter().any(|import| import.starts_with(prefix));
    table.into_iter().filter(|(prefix, _)| wanted(prefix)).map(|(_, need)| need.to_owned()).collect()
}
