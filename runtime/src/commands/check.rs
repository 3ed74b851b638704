//! `plugport check`: shows what `serve` would report, without serving.
//!
//! Loads every plugin as `serve` does and under its limits, but without grants ([`UngrantedFolder`]). So `check` can
//! run beside a server and changes nothing. A fault is whatever keeps a plugin or an item from being served. A missing
//! grant is no fault, and neither is a plugin that cannot list its items without its grants.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use super::capability_report::CapabilityReport;
use super::inspect::{files_json, rejected_functions_json};
use super::memory_estimate::MemoryEstimate;
use super::published_names::{LISTS_NOTHING, PublishedNames};
use super::ungranted_folder::{self, UngrantedFolder};
use super::{CommandError, call, console, serve};
use crate::access::policy::{FolderItems, unmatched_rules};
use crate::catalog::{PluginEntry, RejectedItem, Snapshot};
use crate::cli;
use crate::config::{Config, ConfigError, Grants};
use crate::observe::Escaped;
use crate::plugin::{Plugin, ShippedFile};
use crate::watch::RejectedFile;

pub(super) async fn run(args: cli::Check) -> Result<ExitCode, CommandError> {
    let checked = check(&args).await;
    if args.json
        && let Err(failure) = &checked
    {
        let none: [Value; 0] = [];
        let document = json!({
            "ok": false,
            "faults": faults(failure),
            "plugins": none,
            "rejected": none,
            "unlisted": none,
            "missing": none,
            "warnings": none,
        });
        console::print_json(&format!("{document:#}"));
        return Ok(failure.code());
    }
    let checked = checked?;
    if args.json {
        console::print_json(&format!("{:#}", checked.as_json()));
    } else {
        console::print(&checked.as_text());
    }
    Ok(if checked.faults() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The text before the reason why a plugin could not be listed here.
const UNLISTED: &str = "warning: a check gives it nothing that it is granted, and without its grants it \
                        cannot list its items; only `serve` can find out whether it can be served: ";

/// What apps do besides what they are granted.
pub(super) const APPS_CALL_TOOLS: &str =
    "its apps may call each tool of the server, of every plugin, that has an app or the visibility `app`";

/// The result of the check.
struct CheckResult {
    config: Config,
    snapshot: Snapshot,
    /// Files that cannot be served.
    rejected: Vec<RejectedFile>,
    /// Files that could not be listed here and have grants, which they get only from a server.
    unlisted: Vec<RejectedFile>,
    /// What concerns several plugins, and entries of roles that mean nothing.
    warnings: Vec<String>,
}

async fn check(args: &cli::Check) -> Result<CheckResult, CommandError> {
    let config = args.source.configuration()?;
    let folder = UngrantedFolder::load(&config).await?;
    let mut warnings = config.warnings();
    warnings.extend(role_warnings(&config, &folder));
    let UngrantedFolder { snapshot, rejected, unlisted } = folder;
    Ok(CheckResult { config, snapshot, rejected, unlisted, warnings })
}

/// Warnings about entries of roles that mean nothing of what the folder lists.
fn role_warnings(config: &Config, folder: &UngrantedFolder) -> Vec<String> {
    let policy = serve::policy(config);
    let (items, plugins) = (folder.items(&policy), folder.listed_plugins());
    let unlisted = folder.prefixes_of_unlisted(config);
    let folder = FolderItems {
        items: &items,
        plugins: &plugins,
        unlisted: &unlisted,
        may_list_more_resources: folder.has_grants(config),
    };
    unmatched_rules(&config.roles, folder)
}

/// The errors that kept `check` from running, for programs.
fn faults(failure: &CommandError) -> Vec<Value> {
    let (CommandError::Usage(error) | CommandError::Failed(error)) = failure;
    match error.downcast_ref::<ConfigError>() {
        Some(ConfigError::Invalid { diagnostics, .. }) => diagnostics
            .iter()
            .map(|fault| json!({ "line": fault.line, "key": fault.key, "message": fault.message.trim_end() }))
            .collect(),
        _ => vec![json!({ "line": null, "key": null, "message": format!("{error:#}") })],
    }
}

impl CheckResult {
    /// Plugins that the configuration names and the folder does not have.
    fn missing(&self) -> Vec<&str> {
        let is_there = |name: &str| {
            let mut others = self.rejected.iter().chain(&self.unlisted);
            others.any(|file| call::stem(&file.path) == name) || self.snapshot.entry(name).is_some()
        };
        self.config.plugins.keys().map(String::as_str).filter(|name| !is_there(name)).collect()
    }

    /// The plugin of the folder that a section with an unknown name was likely meant for.
    fn suggestion(&self, name: &str) -> Option<&str> {
        self.config.suggest_plugin(name, self.snapshot.entries().iter().map(|entry| entry.plugin.name()))
    }

    fn rejected_count(&self) -> usize {
        let count = |entry: &Arc<PluginEntry>| match self.withheld(entry) {
            Some(_) => 1,
            None => self.snapshot.rejected(entry).count(),
        };
        self.snapshot.entries().iter().map(count).sum()
    }

    /// Why a plugin is withheld because of its name.
    fn withheld(&self, entry: &PluginEntry) -> Option<&str> {
        self.snapshot.owners().withheld(entry.plugin.name())
    }

    /// The names of a plugin that other plugins list too, each with that other plugin.
    fn contested_names<'c>(&'c self, entry: &'c PluginEntry) -> impl Iterator<Item = (&'c str, &'c str)> {
        self.snapshot.contested_names(entry.plugin.name())
    }

    fn faults(&self) -> usize {
        self.rejected.len() + self.missing().len() + self.rejected_count()
    }

    fn as_json(&self) -> Value {
        let plugins: Vec<_> = self.snapshot.entries().iter().map(|entry| self.plugin_json(entry)).collect();
        let files = |files: &[RejectedFile]| -> Value {
            files.iter().map(|file| json!({ "file": file.path, "reason": file.why })).collect()
        };
        json!({
            "ok": self.faults() == 0,
            "config": self.config.file,
            "folder": self.config.folder,
            "faults": [],
            "plugins": plugins,
            "rejected": files(&self.rejected),
            "unlisted": files(&self.unlisted),
            "missing": self.missing(),
            "warnings": self.warnings,
            "memory": self.estimate().as_json(),
        })
    }

    fn plugin_json(&self, entry: &PluginEntry) -> Value {
        let plugin = &entry.plugin;
        let published = PublishedNames::of(&self.snapshot, plugin.name());
        let rejected: Vec<_> = self.snapshot.rejected(entry).map(rejected_json).collect();
        let contested = self.contested_names(entry).map(|(key, by)| json!({ "key": key, "by": by }));
        let mut described = json!({
            "name": plugin.name(),
            "file": file_of(&self.config.folder, plugin.name()),
            "digest": format!("sha256:{}", plugin.digest()),
            "ok": rejected.is_empty() && self.withheld(entry).is_none(),
            "withheld": self.withheld(entry),
            "published": published,
            "rejected": rejected,
            "wantedByOthers": contested.collect::<Vec<_>>(),
            "instances": plugin.config().instances.as_str(),
            "rejectedFunctions": rejected_functions_json(plugin),
            "imports": entry.interfaces.imports,
            "files": files_json(plugin),
        });
        let grants = self.grants(entry);
        let nothing = self.lists_nothing(entry, &published).map(ToOwned::to_owned);
        let others: Vec<_> = nothing.into_iter().chain(warnings(entry)).collect();
        CapabilityReport::of(&entry.interfaces.imports, &grants).describe(&mut described, &others);
        grants.config.secrets.redactor().value(&mut described);
        described
    }

    /// The warning about a plugin of which nothing is published, if no fault says why.
    fn lists_nothing(&self, entry: &PluginEntry, published: &PublishedNames) -> Option<&'static str> {
        let is_explained = self.withheld(entry).is_some() || self.snapshot.rejected(entry).next().is_some();
        (published.is_empty() && !is_explained).then_some(LISTS_NOTHING)
    }

    fn as_text(&self) -> String {
        let mut lines = Vec::new();
        for entry in self.snapshot.entries() {
            let grants = self.grants(entry);
            let own = self.plugin_lines(entry, &grants).into_iter();
            lines.extend(own.map(|line| Escaped(&grants.config.secrets.redactor().text(&line)).to_string()));
        }
        lines.extend(file_lines(&self.rejected, "cannot be served", "fault: "));
        lines.extend(file_lines(&self.unlisted, "was not checked to the end", UNLISTED));
        for name in self.missing() {
            lines.push(format!("{}: is named in the configuration", Escaped(name)));
            let what = match self.suggestion(name) {
                Some(suggestion) => {
                    format!("no plugin has this name; did you mean `[plugins.{}]`?", Escaped(suggestion))
                }
                None => {
                    let file = file_of(&self.config.folder, name);
                    format!("there is no {}; put it there or remove its section", file.display())
                }
            };
            lines.push(format!("  fault: {what}"));
        }
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {}", Escaped(warning))));
        let estimate = self.estimate();
        lines.push(format!("memory: {}", estimate.in_words()));
        lines.extend(estimate.warning().map(|warning| format!("  warning: {warning}")));
        lines.push(self.summary());
        lines.join("\n")
    }

    fn estimate(&self) -> MemoryEstimate {
        MemoryEstimate::of(&self.config.server)
    }

    fn summary(&self) -> String {
        let config =
            self.config.file.as_ref().map(|file| format!("{} and ", file.display())).unwrap_or_default();
        let (folder, plugins) = (self.config.folder.display(), self.snapshot.entries().len());
        let faults = match self.faults() {
            0 => "no faults".to_owned(),
            1 => "1 fault".to_owned(),
            faults => format!("{faults} faults"),
        };
        let unlisted = match self.unlisted.len() {
            0 => String::new(),
            count => format!(", {count} not checked to the end"),
        };
        let noun = if plugins == 1 { "plugin" } else { "plugins" };
        format!("checked {config}{folder}: {plugins} {noun}, {faults}{unlisted}")
    }

    /// What a plugin is granted when it is served.
    fn grants(&self, entry: &PluginEntry) -> Grants {
        let name = entry.plugin.name();
        ungranted_folder::grants(&self.config, name, &file_of(&self.config.folder, name))
    }

    fn plugin_lines(&self, entry: &PluginEntry, grants: &Grants) -> Vec<String> {
        let name = entry.plugin.name();
        let capabilities = CapabilityReport::of(&entry.interfaces.imports, grants);
        let published = PublishedNames::of(&self.snapshot, name);
        let mut lines = vec![
            format!("{name}: sha256:{}", entry.plugin.digest()),
            format!("  publishes {}", published.in_words()),
            format!("  imports {}", packages(&entry.interfaces.imports).join(", ")),
        ];
        lines.extend(ships(&entry.plugin));
        lines.extend(entry.has_apps().then(|| format!("  {APPS_CALL_TOOLS}")));
        lines.extend(entry.plugin.config().instances.cost_note().map(|note| format!("  {note}")));
        lines.extend(capabilities.lines().into_iter().map(|line| format!("  {line}")));
        match self.withheld(entry) {
            Some(why) => lines.push(format!("  fault: is withheld: {why}")),
            None => {
                lines.extend(self.snapshot.rejected(entry).map(|RejectedItem { kind, name, why, .. }| {
                    format!("  fault: the {} `{name}` is not published: {why}", kind.as_str())
                }))
            }
        }
        lines.extend(self.lists_nothing(entry, &published).map(|warning| format!("  warning: {warning}")));
        lines.extend(self.contested_names(entry).map(|(key, by)| {
            format!("  warning: the plugin `{by}` lists `{key}`, which belongs to this one and is not published for it")
        }));
        lines.extend(warnings(entry).into_iter().map(|warning| format!("  warning: {warning}")));
        // A warning only: the author may have meant the function for other callers.
        lines.extend(entry.plugin.rejected_functions().iter().map(|function| {
            format!("  warning: the function {} is rejected: {}", function.shown(), function.why)
        }));
        lines
    }
}

/// What its guest does that no approval covers, and what the configuration does not do.
fn warnings(entry: &PluginEntry) -> Vec<String> {
    let apps = entry.guest_apps().map(|app| {
        format!("the plugin makes the app `{app}` itself, so nobody can approve its HTML; ship it in ui/")
    });
    let bridge = entry.no_result_tool.iter().map(|why| format!("`task_bridge` does nothing for it: {why}"));
    apps.chain(bridge).collect()
}

/// A line about the files in a component, if it has some.
fn ships(plugin: &Plugin) -> Option<String> {
    let files = plugin.shipped_files();
    let bytes: usize = files.iter().map(ShippedFile::size).sum();
    (!files.is_empty()).then(|| format!("  ships {} files with {bytes} bytes", files.len()))
}

fn rejected_json(rejected: &RejectedItem) -> Value {
    let RejectedItem { kind, name, key, why, owner } = rejected;
    json!({ "kind": kind.as_str(), "name": name, "key": key, "reason": why, "owner": owner })
}

/// The packages of interfaces such as `wasi:cli/stdout@0.2.6`, each once: most components import a score of those.
fn packages(imports: &[String]) -> Vec<String> {
    let mut packages = Vec::new();
    for import in imports {
        let (package, version) = match (import.split_once('/'), import.split_once('@')) {
            (Some((package, _)), Some((_, version))) => (package, version),
            _ => (import.as_str(), ""),
        };
        let shown = if version.is_empty() { package.to_owned() } else { format!("{package}@{version}") };
        if !packages.contains(&shown) {
            packages.push(shown);
        }
    }
    packages
}

/// Two lines for each file that is not among the plugins: what happened and why.
fn file_lines<'f>(
    files: &'f [RejectedFile],
    what: &'f str,
    why: &'f str,
) -> impl Iterator<Item = String> + 'f {
    files.iter().flat_map(move |file| {
        let path = file.path.display().to_string();
        [format!("{}: {what}", Escaped(&path)), format!("  {why}{}", Escaped(&file.why))]
    })
}

fn file_of(folder: &Path, name: &str) -> std::path::PathBuf {
    folder.join(format!("{name}.wasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_told_by_package() {
        let imports =
            ["wasi:cli/stdin@0.2.6", "wasi:cli/stdout@0.2.6", "wasi:io/poll@0.2.0", "bare", "a:b/c"]
                .map(String::from);
        assert_eq!(packages(&imports), ["wasi:cli@0.2.6", "wasi:io@0.2.0", "bare", "a:b/c"]);
        assert!(packages(&[]).is_empty());
    }
}
