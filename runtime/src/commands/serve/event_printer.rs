//! Prints the events of `serve` for the operator: what is published or rejected and why, and how to connect.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::super::capability_report::granted;
use super::super::published_names::{LISTS_NOTHING, PublishedNames};
use super::console;
use crate::catalog::{PluginEntry, RejectedItem, Snapshot};
use crate::config::Config;
use crate::observe::Escaped;
use crate::transport::http;
use crate::watch::{FolderEvent, RejectedFile};

/// Maximum number of rejected files that are named one by one at the start.
const MAX_NAMED: usize = 50;

/// The message when there is nothing to call.
pub(in crate::commands) const NO_TOOLS: &str = "no tools are published";

/// Prints what happens in the folder.
pub(super) struct EventPrinter {
    started: Instant,
    config: Config,
    /// Number of files that were rejected before the initial load was complete.
    rejected: AtomicUsize,
    loaded: AtomicBool,
}

impl EventPrinter {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            started: Instant::now(),
            config: config.clone(),
            rejected: AtomicUsize::new(0),
            loaded: AtomicBool::new(false),
        }
    }

    pub(super) fn print(&self, event: &FolderEvent<'_>) {
        match event {
            FolderEvent::Published(snapshot, published) => entry(snapshot, published),
            FolderEvent::Rejected(file) => {
                let loaded = self.loaded.load(Ordering::Relaxed);
                if loaded || self.rejected.fetch_add(1, Ordering::Relaxed) < MAX_NAMED {
                    rejected(file);
                }
            }
            FolderEvent::Compiling(count) => {
                let files = if *count == 1 { "1 file" } else { &format!("{count} files") };
                console::eprint(&format!(
                    "compiling {files}, which happens once for each and may take a minute; \
                     clients that request lists wait for it"
                ));
            }
            FolderEvent::Loaded(snapshot) => self.loaded(snapshot),
            FolderEvent::Rescan => console::eprint("reading the folder and the configuration again"),
            FolderEvent::Removed(plugin) => console::eprint(&format!("removed {plugin}: its file is gone")),
            FolderEvent::Unreadable(error) => {
                console::eprint(&format!("{error}; the published plugins stay"))
            }
            FolderEvent::Reconfigured { restart, .. } => {
                console::eprint("the configuration has changed");
                if *restart {
                    console::eprint(
                        "  changes of [server], [audit] and [telemetry] take effect at the next start",
                    );
                }
            }
            FolderEvent::Withdrawn(plugin) => {
                console::eprint(&format!(
                    "removed {plugin}: a grant, an approval or a signature was revoked, \
                     and its file cannot be loaded without"
                ));
            }
            FolderEvent::LockfileInvalid(error) => {
                console::report(&anyhow::Error::msg(error.to_string()));
                console::eprint("  the approvals that were read before stay in force");
            }
            FolderEvent::ConfigInvalid(error) => {
                console::eprint(&format!("{error}"));
                console::eprint("  the configuration that was read before stays in force");
            }
        }
    }

    /// Prints the summary of the initial load.
    fn loaded(&self, snapshot: &Snapshot) {
        self.loaded.store(true, Ordering::Relaxed);
        let rejected = self.rejected.load(Ordering::Relaxed);
        let unnamed = rejected.saturating_sub(MAX_NAMED);
        if unnamed > 0 {
            console::eprint(&format!("rejected {unnamed} more files; the audit has a line for each"));
        }
        let folder = self.config.folder.display();
        for name in self.config.plugins.keys().filter(|name| snapshot.entry(name).is_none()) {
            let there = snapshot.entries().iter().map(|entry| entry.plugin.name());
            let why = match self.config.suggest_plugin(name, there) {
                Some(suggestion) => format!("{folder} has none; did you mean `[plugins.{suggestion}]`?"),
                None => format!("{folder} has no usable {name}.wasm"),
            };
            console::eprint(&format!("the configuration names a plugin `{name}`, but {why}"));
        }
        if snapshot.is_empty() && rejected == 0 {
            console::eprint(&format!("{NO_TOOLS}; put compiled plugins into {folder}"));
        }
        let (plugins, seconds) = (snapshot.entries().len(), self.started.elapsed().as_secs_f64());
        let noun = if plugins == 1 { "plugin" } else { "plugins" };
        console::eprint(&format!("loaded {plugins} {noun} in {seconds:.2} s; the folder is watched"));
    }
}

fn rejected(file: &RejectedFile) {
    let path = file.path.display().to_string();
    console::eprint(&format!("rejected {}: {}", Escaped(&path), Escaped(&file.why)));
}

fn entry(snapshot: &Snapshot, entry: &PluginEntry) {
    let name = entry.plugin.name();
    let grants = &entry.plugin.config().grants;
    // Redacted, since a plugin that can read secrets may have put one anywhere.
    let print = |text: String| console::eprint(&entry.plugin.redactor().text(&text));
    let published = PublishedNames::of(snapshot, name);
    print(format!("published {name}: {}", published.in_words()));
    for (_, may) in granted(grants) {
        print(format!("  may {may}"));
    }
    for warning in grants.warnings() {
        print(format!("  {warning}"));
    }
    if let Some(why) = snapshot.owners().withheld(name) {
        print(format!("  withheld: {why}"));
        return;
    }
    let mut rejected = snapshot.rejected(entry).peekable();
    if published.is_empty() && rejected.peek().is_none() {
        print(format!("  warning: {LISTS_NOTHING}"));
    }
    if let Some(why) = &entry.no_result_tool {
        print(format!("  `task_bridge` does nothing for it: {}", Escaped(why)));
    }
    for RejectedItem { name, why, .. } in rejected {
        print(format!("  not published: {}: {}", Escaped(name), Escaped(why)));
    }
}

pub(super) fn welcome(listener: &http::Listener, config: &Config, file: Option<&Path>) {
    let address = listener.address;
    let program =
        std::env::current_exe().map_or_else(|_| "plugport".into(), |path| path.display().to_string());
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    let mut args =
        vec!["serve".to_owned(), "--stdio".to_owned(), "--plugins".to_owned(), whole(&config.folder)];
    args.extend(file.into_iter().flat_map(|file| ["--config".to_owned(), whole(file)]));
    let snippet = serde_json::json!({ "mcpServers": { "plugport": { "command": program, "args": args } } });
    console::eprint(&format!("\nserving MCP at {}{}", listener.url(), http::PATH));
    let name = if address.ip().is_unspecified() { ", with a name of this machine" } else { "" };
    console::eprint(&format!("  clients that speak HTTP: give them this URL{name}"));
    console::eprint("  Claude Desktop and editors that start servers themselves: add to their configuration");
    console::eprint(&format!("  {snippet}"));
    if !address.ip().is_loopback() {
        let (has_auth, has_tls) = (config.auth.is_some(), config.server.tls.is_some());
        let reached = "  warning: this address can be reached from other machines, and";
        match (has_auth, has_tls) {
            (false, _) => console::eprint(&format!("{reached} callers are not authenticated (see [auth])")),
            (true, false) => console::eprint(&format!(
                "{reached} tokens travel in the open; set [server.tls], or put a proxy with TLS in front"
            )),
            (true, true) => {}
        }
    }
}
