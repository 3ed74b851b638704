//! `plugport check`: what `serve` would find, without serving.
//!
//! It loads every plugin as `serve` does, with its grants and under its limits, but keeps what they store in memory only: so
//! it can run beside a server, changes nothing, and finds what no look at a file would. A fault is what makes something not
//! be served; what is imported and not granted is none.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::capabilities::Reach;
use super::published::Published;
use super::{Failure, console};
use crate::catalog::{Entry, Refused, Snapshot};
use crate::cli;
use crate::config::{self, Config, ConfigError};
use crate::observe::{Audit, Escaped};
use crate::plugin::Loader;
use crate::reload::{Skipped, load_folder};
use crate::sandbox::{Cache, Compiler, Store};

pub(super) async fn run(args: cli::Check) -> Result<ExitCode, Failure> {
    let checked = check(&args).await;
    if args.json
        && let Err(failure) = &checked
    {
        let none: [Value; 0] = [];
        let found = json!({
            "ok": false,
            "faults": faults(failure),
            "plugins": none,
            "skipped": none,
            "missing": none,
            "remarks": none,
        });
        console::print(&format!("{found:#}"));
        return Ok(failure.code());
    }
    let checked = checked?;
    let text = if args.json { format!("{:#}", checked.as_json()) } else { checked.as_text() };
    console::print(&text);
    Ok(if checked.faults() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everything that was found.
struct Checked {
    config: Config,
    snapshot: Snapshot,
    skipped: Vec<Skipped>,
}

async fn check(args: &cli::Check) -> Result<Checked, Failure> {
    let config = args.source.configuration()?;
    let store = Store::in_memory().context("cannot keep anything in memory")?;
    let compiler =
        Compiler::outside().keeping(Cache::existing(&config.state, config.server.compiled_cache_mib));
    let server = config::Server { parked_calls: 0, ..config.server.clone() };
    let loader = Loader::new(&server, store, Audit::none(), compiler).context("cannot start")?;
    let (snapshot, skipped) =
        load_folder(&loader, &config).await.map_err(|error| Failure::Usage(error.into()))?;
    Ok(Checked { config, snapshot, skipped })
}

/// What kept anything from being checked, for programs.
fn faults(failure: &Failure) -> Vec<Value> {
    let (Failure::Usage(error) | Failure::Failed(error)) = failure;
    match error.downcast_ref::<ConfigError>() {
        Some(ConfigError::Invalid { faults, .. }) => faults
            .iter()
            .map(|fault| json!({ "line": fault.line, "key": fault.key, "message": fault.message.trim_end() }))
            .collect(),
        _ => vec![json!({ "line": null, "key": null, "message": format!("{error:#}") })],
    }
}

impl Checked {
    /// Plugins that the configuration names and the folder does not have.
    fn missing(&self) -> Vec<&str> {
        let is_there = |name: &str| {
            let skipped =
                self.skipped.iter().any(|file| file.path.file_stem().is_some_and(|stem| stem == name));
            skipped || self.snapshot.entry(name).is_some()
        };
        self.config.plugins.keys().map(String::as_str).filter(|name| !is_there(name)).collect()
    }

    fn refused(&self) -> usize {
        self.snapshot.entries().iter().map(|entry| self.snapshot.refused(entry).count()).sum()
    }

    fn faults(&self) -> usize {
        self.skipped.len() + self.missing().len() + self.refused()
    }

    fn as_json(&self) -> Value {
        let plugins: Vec<_> = self.snapshot.entries().iter().map(|entry| self.plugin_json(entry)).collect();
        let skipped: Vec<_> =
            self.skipped.iter().map(|file| json!({ "file": file.path, "why": file.why })).collect();
        json!({
            "ok": self.faults() == 0,
            "config": self.config.file,
            "folder": self.config.folder,
            "faults": [],
            "plugins": plugins,
            "skipped": skipped,
            "missing": self.missing(),
            "remarks": self.config.remarks(),
        })
    }

    fn plugin_json(&self, entry: &Entry) -> Value {
        let plugin = &entry.plugin;
        let refused = self.snapshot.refused(entry);
        let refused: Vec<_> = refused
            .map(|Refused { kind, name, why }| json!({ "kind": kind.as_str(), "name": name, "why": why }))
            .collect();
        let mut described = json!({
            "name": plugin.name(),
            "file": file_of(&self.config.folder, plugin.name()),
            "digest": format!("sha256:{}", plugin.digest()),
            "ok": refused.is_empty(),
            "published": Published::of(&self.snapshot, plugin.name()).as_json(),
            "refused": refused,
            "imports": entry.surface.imports,
        });
        Reach::of(&entry.surface.imports, &plugin.config().grants).describe(&mut described);
        plugin.mask().value(&mut described);
        described
    }

    fn as_text(&self) -> String {
        let mut lines = Vec::new();
        for entry in self.snapshot.entries() {
            let own = self.plugin_lines(entry).into_iter();
            lines.extend(own.map(|line| Escaped(&entry.plugin.mask().text(&line)).to_string()));
        }
        for Skipped { path, why } in &self.skipped {
            lines.push(format!("{}: cannot be served", Escaped(&path.display().to_string())));
            lines.push(format!("  fault: {}", Escaped(why)));
        }
        for name in self.missing() {
            let file = file_of(&self.config.folder, name);
            lines.push(format!("{}: is named in the configuration", Escaped(name)));
            lines
                .push(format!("  fault: there is no {}; put it there or remove its section", file.display()));
        }
        lines.extend(self.config.remarks().into_iter().map(|remark| format!("remark: {remark}")));
        let (plugins, faults) = (self.snapshot.entries().len(), self.faults());
        let config =
            self.config.file.as_ref().map(|file| format!("{} and ", file.display())).unwrap_or_default();
        let folder = self.config.folder.display();
        lines.push(match faults {
            0 => format!("checked {config}{folder}: {plugins} plugins, no faults"),
            1 => format!("checked {config}{folder}: {plugins} plugins, 1 fault"),
            _ => format!("checked {config}{folder}: {plugins} plugins, {faults} faults"),
        });
        lines.join("\n")
    }

    fn plugin_lines(&self, entry: &Entry) -> Vec<String> {
        let name = entry.plugin.name();
        let reach = Reach::of(&entry.surface.imports, &entry.plugin.config().grants);
        let published = Published::of(&self.snapshot, name).in_words();
        let mut lines = vec![
            format!("{name}: sha256:{}", entry.plugin.digest()),
            format!("  publishes {}", if published.is_empty() { "nothing" } else { &published }),
            format!("  imports {}", packages(&entry.surface.imports).join(", ")),
        ];
        lines.extend(reach.lines().into_iter().map(|line| format!("  {line}")));
        lines.extend(self.snapshot.refused(entry).map(|Refused { kind, name, why }| {
            format!("  fault: the {} `{name}` is not published: {why}", kind.as_str())
        }));
        lines
    }
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
