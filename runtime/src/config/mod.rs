//! From `plugport.toml` to a configuration that cannot be wrong.
//!
//! Reading and checking happen once, at start, and every mistake is reported together; what comes out has no optional
//! half-states left, so nothing about configuration can fail while a call is being served. Knows TOML and the file
//! system; knows no plugin's contents.

mod error;
mod grants;
mod limits;
mod reader;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use error::{ConfigError, Fault};
pub use grants::{DirGrant, GrantError, Grants, Place, Protected, Room, RootRefusal, RootsGrant};
pub use limits::{LimitError, Limits, Spec, kib, mib};
pub use server::{Server, parse_listen};

use reader::{Entry, Reader, Section};

/// The state folder, beside the configuration file unless it names another.
const STATE: &str = "plugport-state";

/// Everything the operator has decided.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where and how to listen.
    pub server: Server,
    /// Limits of a plugin that has no section of its own.
    pub limits: Limits,
    /// Sections of single plugins, by the stem of their file.
    pub plugins: BTreeMap<String, PluginConfig>,
    /// The folder that holds the plugins.
    pub folder: PathBuf,
    /// The file that all this was read from.
    pub file: Option<PathBuf>,
    /// Where what plugins keep is kept.
    pub state: PathBuf,
}

/// What the operator says of one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginConfig {
    /// Published before each tool's name, with a dash; empty for bare names.
    pub prefix: String,
    /// The limits its calls run under.
    pub limits: Limits,
    /// What it may reach.
    pub grants: Grants,
}

impl Config {
    /// What holds without a configuration file.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            server: Server::default(),
            limits: Limits::default(),
            plugins: BTreeMap::new(),
            folder,
            file: None,
            state: PathBuf::from(STATE),
        }
    }

    /// Reads and checks a file. Paths in it are relative to the folder it stands in.
    ///
    /// # Errors
    /// With every mistake in the file at once.
    pub fn read(file: &Path, folder: PathBuf) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { file: file.to_owned(), source };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        Self::parse(&text, file, folder)
    }

    fn parse(text: &str, file: &Path, folder: PathBuf) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(text);
        let mut root = reader.root();
        let mut config = Self { file: Some(file.to_owned()), ..Self::new(folder) };
        if let Some(section) = root.take("server").and_then(|entry| entry.section(&mut reader)) {
            config.server = Server::read(section, &mut reader);
        }
        if let Some(entry) = root.take("limits") {
            read_limits(entry, &mut config.limits, &mut reader);
        }
        let base = file.parent().unwrap_or(Path::new(""));
        config.state = base.join(config.server.state.as_deref().unwrap_or(Path::new(STATE)));
        if let Some(mut section) = root.take("plugins").and_then(|entry| entry.section(&mut reader)) {
            for (name, entry) in section.take_all() {
                if let Some(section) = entry.section(&mut reader) {
                    let plugin = config.read_plugin(&name, section, base, &mut reader);
                    config.plugins.insert(name, plugin);
                }
            }
        }
        root.finish(&mut reader, &["server", "limits", "plugins"]);
        reader.finish(file, config)
    }

    fn read_plugin(
        &self,
        name: &str,
        mut from: Section<'_>,
        base: &Path,
        reader: &mut Reader<'_>,
    ) -> PluginConfig {
        let mut plugin = self.plugin(name);
        if let Some(prefix) = from.take("prefix").and_then(|entry| entry.string(reader)) {
            plugin.prefix = prefix;
        }
        if let Some(entry) = from.take("limits") {
            read_limits(entry, &mut plugin.limits, reader);
        }
        if let Some(section) = from.take("grants").and_then(|entry| entry.section(reader)) {
            let protected = self.protected();
            plugin.grants = Grants::read(section, Place { base, protected: &protected }, reader);
        }
        from.finish(reader, &["prefix", "limits", "grants"]);
        plugin
    }

    /// Places that no guest may write, since whoever can decides what is served and what it may reach; and those that
    /// none may even read.
    #[must_use]
    pub fn protected(&self) -> Protected {
        let whole = |path: &PathBuf| grants::resolved(path);
        let folders = [Some(&self.folder), self.file.as_ref()].into_iter().flatten().filter_map(whole);
        Protected {
            folders: folders.collect(),
            state: whole(&self.state),
            home: std::env::home_dir().as_ref().and_then(whole),
        }
    }

    /// What holds for the plugin of this name: its own section, or the defaults with nothing granted.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PluginConfig {
        self.plugins.get(name).cloned().unwrap_or_else(|| PluginConfig {
            prefix: name.to_owned(),
            limits: self.limits.clone(),
            grants: Grants::default(),
        })
    }
}

fn read_limits(entry: Entry<'_>, limits: &mut Limits, reader: &mut Reader<'_>) {
    let Some(mut section) = entry.section(reader) else {
        return;
    };
    for name in Limits::names() {
        let Some(entry) = section.take(name) else { continue };
        let Some(value) = entry.integer(reader) else {
            continue;
        };
        if let Err(error) = limits.set(name, value) {
            reader.fault(entry.span, &entry.key, error.to_string());
        }
    }
    section.finish(reader, &Limits::names());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        let base = std::env::temp_dir();
        Config::parse(text, &base.join("plugport.toml"), base.join("no-such-plugins"))
    }

    #[test]
    fn a_plugin_inherits_the_common_limits_and_overrides_some() {
        let config =
            parse("[limits]\nwall_ms = 7\n[plugins.a]\nprefix = \"\"\nlimits = { fuel = 9 }\n").unwrap();
        let plugin = config.plugin("a");
        assert_eq!((plugin.limits.wall_ms, plugin.limits.fuel, plugin.prefix.as_str()), (7, 9, ""));
        assert_eq!(config.plugin("b").prefix, "b");
        assert_eq!(config.plugin("b").grants, Grants::default());
    }

    #[test]
    fn every_mistake_is_reported_at_once_with_its_line_and_key() {
        let text = "colour = 1\n[server]\nlisten = \"nowhere\"\n[limits]\nwal_ms = 5\nfuel = \"many\"\nmemory_mib = 4096\n\
                    [plugins.files.grants]\ndirs = [\"./no/such/dir\", { guest = \"/x\" }]\n";
        let message = parse(text).unwrap_err().to_string();
        for expected in [
            "7 mistakes in",
            "plugport.toml:1: colour: unknown key",
            ":3: server.listen: `nowhere` is not an address",
            ":5: limits.wal_ms: unknown key; did you mean `wall_ms`?",
            ":6: limits.fuel: expected a whole number",
            ":7: limits.memory_mib: must be at most 1024",
            ":9: plugins.files.grants.dirs: cannot grant",
            "needs `host`",
        ] {
            assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
        }
    }

    #[test]
    fn text_that_is_not_toml_names_the_line() {
        let message = parse("[server\nlisten = 1").unwrap_err().to_string();
        assert!(message.contains("plugport.toml:1:"), "{message}");
    }
}
