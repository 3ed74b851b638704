//! `plugport call`: calls one tool without a server, under the same limits.

mod answering_client;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::cached_compiler::compiler;
use super::{CommandError, console, json_option, unknown};
use crate::approval::ApprovalPolicy;
use crate::catalog::{PluginEntry, PublishedTool, RejectedItem, SchemaMismatch, plugin_name};
use crate::cli;
use crate::config::{
    self, ApprovalMode, Config, GrantContext, Grants, InstanceMode, PluginConfig, RequiredScopes,
};
use crate::json;
use crate::mcp::{tool_error_json, tool_result_json};
use crate::observe::{Audit, Escaped};
use crate::plugin::{
    CallError, ComponentFile, ContentData, GuestError, ItemKind, Loader, RejectedFunction, ToolResult,
};
use crate::sandbox::{KvDatabase, WorkBudget};
use crate::watch::scan;
use answering_client::{AnsweringClient, option_for};

pub(super) async fn run(args: cli::Call) -> Result<ExitCode, CommandError> {
    let config = args.source.configuration()?;
    let mut value = json_option::object("--args", &args.args, r#"{"zone":"UTC"}"#)?;
    let client = Arc::new(AnsweringClient::new(&args)?);
    let entry = load(&args, &config).await?;
    let tool = find(&entry, &args.tool)?;
    let text = tool.input.remove_nulls(&args.args, &mut value, None);
    let text = text.unwrap_or_else(|| args.args.clone());
    let budget = WorkBudget::of(tool.plugin.config().limits.cpu_time());
    let validated = tool.input.validate(&value, text.len(), &budget);
    validated.unwrap_or_else(|_| Err(SchemaMismatch::too_much())).map_err(|mismatch| {
        CommandError::Usage(anyhow!("the arguments do not fit the tool's schema: {mismatch}"))
    })?;
    let called = tool.plugin.call_tool(&tool.tool.name, &text, client).await;
    let left = tool.plugin.config().limits.cpu_time().saturating_sub(called.record.usage().cpu);
    let failed = match called.outcome {
        Ok(result) => match show(tool, &result, left, args.json) {
            Ok(code) => return Ok(code),
            Err(fault) => format!("the tool returned an invalid result: {fault}"),
        },
        Err(CallError::Guest(error)) => in_words(&error),
        Err(failure) => failure.to_string(),
    };
    if args.json {
        console::print_json(&tool_error_json(failed));
        return Ok(ExitCode::FAILURE);
    }
    Err(CommandError::Failed(anyhow!(failed)))
}

/// A guest's own error; if a client request had no response, with the option that gives one.
fn in_words(error: &GuestError) -> String {
    let option = match error {
        GuestError::MissingCapability(capability) => option_for(capability),
        _ => None,
    };
    match option {
        Some(option) => format!("{}; to respond, add {option}", error.in_words()),
        None => error.in_words(),
    }
}

/// A file to load, with the plugin's name, its settings and its key-value store.
pub(super) struct LoadTarget {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) settings: PluginConfig,
    pub(super) store: Arc<KvDatabase>,
    /// Whether the file is in the plugin folder, and is then read as a server reads it.
    pub(super) in_folder: bool,
}

/// Loads the plugin, unless it differs from its approval. The grants of `--grant` come from the user who types the
/// command, and need no approval.
async fn load(args: &cli::Call, config: &Config) -> Result<PluginEntry, CommandError> {
    let (mut target, approval) = locate(args, config)?;
    let artifact = read(&target)?;
    let verdict = approval.check_file(&target.name, &artifact.digest, &target.settings.grants);
    let file = target.path.display().to_string();
    let unapproved = |why: String| CommandError::Usage(anyhow!("{file}: {why}"));
    let warning = verdict.map_err(unapproved)?;
    let protected = config.protected();
    for grant in &args.grant {
        let context = GrantContext { base: Path::new(""), protected: &protected };
        target.settings.grants.add(grant, context).map_err(|error| CommandError::Usage(error.into()))?;
    }
    let entry = load_component(target, artifact, config).await?;
    let (entry, warnings) = entry.check_approval(&approval);
    for warning in warning.into_iter().chain(warnings) {
        console::eprint(&format!("{file}: {warning}"));
    }
    Ok(entry)
}

/// Finds the file, its settings, and the approvals that it is compared with. A file outside the folder gets no settings
/// and no grants of a plugin, even if the file has the plugin's name.
fn locate(args: &cli::Call, config: &Config) -> Result<(LoadTarget, ApprovalPolicy), CommandError> {
    let path = resolve_path(&args.plugin, &config.folder)?;
    let name = stem(&path);
    let Some(path) = plugin_file(&path, &name, config) else {
        return Ok((outside_folder(path, name, config)?, ApprovalPolicy::off()));
    };
    // The mode of a server that listens where the configuration says.
    let mode =
        config.server.approval.unwrap_or_else(|| ApprovalMode::default_for(Some(config.server.listen)));
    let approval = ApprovalPolicy::read(mode, config).map_err(|error| CommandError::Usage(error.into()))?;
    let (settings, store) =
        (config.plugin_with_sidecar(&name, &path)?, KvDatabase::of_state(config.state_dir.clone()));
    Ok((LoadTarget { path, name, settings, store, in_folder: true }, approval))
}

/// The file that the argument names: the file of this path, or that of a plugin of the folder.
fn resolve_path(argument: &str, folder: &Path) -> Result<PathBuf, CommandError> {
    let path = Path::new(argument);
    let usage = |why: String| CommandError::Usage(anyhow!(why));
    if path.extension().is_some_and(|extension| extension == "wasm") {
        return Ok(path.to_owned());
    }
    let named = folder.join(format!("{argument}.wasm"));
    if named.symlink_metadata().is_ok() {
        return Ok(named);
    }
    if plugin_name(argument).is_err() {
        if path.exists() {
            // Reading it gives an error that says what it is.
            return Ok(path.to_owned());
        }
        let none = "is no .wasm file and no name of a plugin; give the path of a component, or the name of a plugin in";
        return Err(usage(format!("{argument} {none} {}", folder.display())));
    }
    let files = scan(folder).map_err(|error| CommandError::Usage(error.into()))?;
    let names: Vec<&str> = files.iter().filter_map(|file| file.name.as_deref().ok()).collect();
    Err(usage(unknown(
        &format!("there is no plugin `{argument}` in {}", folder.display()),
        "there are",
        argument,
        &names,
    )))
}

/// The file of the plugin `name` in the folder, if `path` leads to it. This file is then read as a server reads it,
/// even if `path` leads elsewhere by then.
fn plugin_file(path: &Path, name: &str, config: &Config) -> Option<PathBuf> {
    let file = config.folder.join(format!("{name}.wasm"));
    let real = file.canonicalize().ok()?;
    path.canonicalize().is_ok_and(|path| path == real).then_some(file)
}

/// A file outside the plugin folder: it gets the common limits and no grants but those of `--grant`, and its key-value
/// store is gone when the call is over.
fn outside_folder(path: PathBuf, name: String, config: &Config) -> Result<LoadTarget, CommandError> {
    if config.plugins.contains_key(&name) && path.exists() {
        console::eprint(&format!(
            "{} is not the plugin `{name}` of the plugins folder, so it gets none of its limits and grants",
            path.display()
        ));
    }
    // No signature is required, since the file gets nothing from the configuration but limits.
    let settings = PluginConfig {
        prefix: name.clone(),
        limits: config.limits.clone(),
        grants: Grants::default(),
        instances: InstanceMode::default(),
        task_bridge: false,
        require_signature: false,
        trusted_keys: Arc::default(),
        scopes: RequiredScopes::default(),
        dev_sources: None,
    };
    let store = KvDatabase::in_memory().context("cannot open a key-value store in memory")?;
    Ok(LoadTarget { path, name, settings, store, in_folder: false })
}

/// The name of a file's plugin.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn read(target: &LoadTarget) -> Result<ComponentFile, CommandError> {
    if target.path.is_dir() {
        return Err(CommandError::Usage(anyhow!(
            "{} is a folder; name a .wasm file in it",
            target.path.display()
        )));
    }
    let unusable = |error| anyhow::Error::new(error).context(target.path.display().to_string());
    let max_mib = target.settings.limits.wasm_mib;
    let read = match target.in_folder {
        true => ComponentFile::read_any(&target.path, max_mib).and_then(|read| read.check().map(|()| read)),
        false => ComponentFile::read(&target.path, max_mib),
    };
    read.map_err(|error| CommandError::Usage(unusable(error)))
}

/// Loads a file that was read.
pub(super) async fn load_component(
    target: LoadTarget,
    artifact: ComponentFile,
    config: &Config,
) -> Result<PluginEntry, CommandError> {
    let LoadTarget { path, name, settings, store, .. } = target;
    let unusable = || path.display().to_string();
    // The client responds at once, so no call is ever suspended.
    let server = config::ServerConfig { suspended_calls: 0, idle_instances: 0, ..config.server.clone() };
    let loader = Loader::new(&server, store, Audit::disabled(), compiler(config)).context("cannot start")?;
    let loader = loader.for_cli();
    let loaded = loader.load(&name, artifact, settings).await.with_context(unusable)?;
    let validating = tokio::task::spawn_blocking(|| PluginEntry::validate(loaded));
    Ok(validating.await.context("cannot validate the plugin's items")?)
}

/// The tool with this name: the plugin's own name for it, or the published one.
fn find<'e>(entry: &'e PluginEntry, name: &str) -> Result<&'e PublishedTool, CommandError> {
    let tool = entry.tools.iter().find(|tool| tool.tool.name == name || tool.name == name);
    tool.map(|tool| &**tool).ok_or_else(|| {
        let is_it = |rejected: &&RejectedItem| rejected.kind == ItemKind::Tool && rejected.name == name;
        if let Some(rejected) = entry.rejected.iter().find(is_it) {
            return CommandError::Usage(anyhow!("the tool `{name}` cannot be published: {}", rejected.why));
        }
        let is_it = |rejected: &&RejectedFunction| rejected.name == name;
        if let Some(rejected) = entry.plugin.rejected_functions().iter().find(is_it) {
            return CommandError::Usage(anyhow!("the function `{name}` is no tool: {}", rejected.why));
        }
        let names: Vec<&str> = entry.tools.iter().map(|tool| tool.tool.name.as_str()).collect();
        CommandError::Usage(anyhow!(unknown(
            &format!("there is no tool `{name}`"),
            "the plugin has",
            name,
            &names
        )))
    })
}

/// Prints a result after validating it, within the processor time that is `left`.
fn show(tool: &PublishedTool, result: &ToolResult, left: Duration, json: bool) -> Result<ExitCode, String> {
    let structured =
        result.structured.as_deref().map(json::raw).transpose().map_err(|error| error.to_string())?;
    let limits = &tool.plugin.config().limits;
    let validated = tool.matches_output_schema(structured.as_deref(), result.is_error, &WorkBudget::of(left));
    validated.map_err(|_| CallError::limit(limits, "cpu_ms").to_string())??;
    let in_words = || {
        match (&structured, &*result.content) {
            // Without content, the structured content is printed, as for clients that read only text.
            (Some(structured), []) => Escaped(structured.get()).to_string(),
            (_, content) => content.iter().map(|content| line(&content.data)).collect::<Vec<_>>().join("\n"),
        }
    };
    match (json, result.is_error) {
        (true, _) => console::print_json(&tool_result_json(result, &tool.plugin.config().grants.ui)?),
        (false, true) => console::eprint(&in_words()),
        (false, false) => console::print(&in_words()),
    }
    Ok(if result.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A content block as text for a terminal.
fn line(data: &ContentData) -> String {
    let text = match data {
        ContentData::Text(text) => text.clone(),
        ContentData::Image(media) => format!("[image, {}, {} bytes]", media.mime_type, media.data.len()),
        ContentData::Audio(media) => format!("[audio, {}, {} bytes]", media.mime_type, media.data.len()),
        ContentData::Embedded(resource) => format!("[resource {}]", resource.uri),
        ContentData::Link(link) => format!("[link {} {}]", link.name, link.uri),
    };
    let lines: Vec<String> = text.lines().map(|line| Escaped(line).to_string()).collect();
    lines.join("\n")
}
