//! The sidecar, `NAME.toml` beside `NAME.wasm`: the operator's settings for one plugin.
//!
//! It has the keys of `[plugins.NAME]`. A sidecar can come with a plugin unnoticed, in an archive for instance, so it
//! grants nothing and loosens no limit unless `[server] sidecar_grants` allows it, and it never revokes
//! `require_signature`. Who may use the plugin is never a sidecar's to say, so it has no scopes.

use std::io;
use std::path::{Path, PathBuf};

use super::toml_reader::TomlReader;
use super::{Config, ConfigError, Diagnostic, InstanceMode, Limits, PluginConfig};
use crate::safe_open::{self, OpenError, Symlinks};

/// Largest sidecar, bytes.
const MAX_SIZE: u64 = 1 << 20;

impl Config {
    /// The settings of the plugin of this name in the file `wasm`: those of its sidecar, or else of this configuration.
    /// Blocks.
    ///
    /// # Errors
    /// With every mistake in the sidecar at once.
    pub fn plugin_with_sidecar(&self, name: &str, wasm: &Path) -> Result<PluginConfig, ConfigError> {
        let file = sidecar_path(wasm);
        match read(&file) {
            // Most plugins have none, and then no paths need to be compared.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(self.plugin(name)),
            _ if self.is_own(&file) => Ok(self.plugin(name)),
            Ok(text) => self.parse_sidecar(name, &text, &file),
            Err(source) => Err(ConfigError::Unreadable { file, source }),
        }
    }

    /// Whether the sidecar's path is that of this configuration: a plugin may be named `plugport`.
    fn is_own(&self, file: &Path) -> bool {
        let own = self.file.as_ref().and_then(|own| own.canonicalize().ok());
        own.is_some_and(|own| file.canonicalize().is_ok_and(|file| file == own))
    }

    fn parse_sidecar(&self, name: &str, text: &str, file: &Path) -> Result<PluginConfig, ConfigError> {
        if self.plugins.contains_key(name) {
            return Err(invalid(
                file,
                format!("the configuration has a section [plugins.{name}] too; keep one of them"),
            ));
        }
        let mut reader = TomlReader::new(text);
        let mut root = reader.root();
        for key in ["scopes", "tools"] {
            let Some(entry) = root.take(key) else { continue };
            let why = format!(
                "a sidecar cannot say which scopes its plugin needs; write them under [plugins.{name}] of \
                 plugport.toml, and move what else is here there too"
            );
            reader.report(entry.span, &entry.key, why);
        }
        let base = file.parent().unwrap_or(Path::new(""));
        let plugin = self.read_plugin(name, root, base, &mut reader);
        if !self.server.sidecar_grants {
            self.reject_looser_limits(&plugin.limits, text, &mut reader);
        }
        let mut plugin = reader.finish(plugin).map_err(|mistakes| ConfigError::invalid(file, mistakes))?;
        plugin.require_signature |= self.plugin(name).require_signature;
        if plugin.prefix != name {
            let prefix = toml::Value::from(plugin.prefix);
            return Err(invalid(
                file,
                format!(
                    "prefix: only plugport.toml may give a plugin other names than its own; move what is here to \
                     [plugins.{name}] there, with the line `prefix = {prefix}`"
                ),
            ));
        }
        if plugin.grants != super::Grants::default() && !self.server.sidecar_grants {
            let why = "a sidecar may grant its plugin something only when `sidecar_grants = true` is set under [server]; \
                       write it into plugport.toml, or set that";
            return Err(invalid(file, why.to_owned()));
        }
        if plugin.instances == InstanceMode::Reuse && !self.server.sidecar_grants {
            let why = "a sidecar may have instances reused only when `sidecar_grants = true` is set under \
                       [server]; write it into plugport.toml, or set that";
            return Err(invalid(file, why.to_owned()));
        }
        if plugin.task_bridge && !self.server.task_bridge && !self.server.sidecar_grants {
            let why = "a sidecar may let calls outlast their clients (`task_bridge`) only when `sidecar_grants = true` \
                       is set under [server]; write it into plugport.toml, or set that";
            return Err(invalid(file, why.to_owned()));
        }
        Ok(plugin)
    }

    /// Reports limits that are laxer than those of every plugin.
    fn reject_looser_limits(&self, limits: &Limits, text: &str, reader: &mut TomlReader<'_>) {
        // Parsed again, for the lines of the keys.
        let mut again = TomlReader::new(text);
        let table = again.root().take("limits").and_then(|entry| entry.table(&mut again));
        let Some(mut table) = table else { return };
        for spec in limits.looser_than(&self.limits) {
            let Some(entry) = table.take(spec.name) else { continue };
            let (own, common) = (limits.get(spec.name), self.limits.get(spec.name));
            let why = format!(
                "{own} is laxer than {common}, which holds for every plugin; a sidecar may loosen a limit only \
                 when `sidecar_grants = true` is set under [server]; write it into plugport.toml, or set that"
            );
            reader.report(entry.span, &entry.key, why);
        }
    }
}

/// The sidecar of the plugin in the file `wasm`.
#[must_use]
pub fn sidecar_path(wasm: &Path) -> PathBuf {
    wasm.with_extension("toml")
}

fn invalid(file: &Path, message: String) -> ConfigError {
    ConfigError::invalid(file, vec![Diagnostic { line: 1, key: String::new(), message }])
}

/// Opens the file once, without following a link, and only if it is a regular file.
fn read(file: &Path) -> io::Result<String> {
    let bytes = safe_open::read(file, MAX_SIZE, Symlinks::Rejected).map_err(|error| match error {
        OpenError::Unreadable(error) => error,
        OpenError::Link => io::Error::other("it is a symbolic link"),
        OpenError::NotAFile => io::Error::other("it is not a regular file"),
        OpenError::TooLarge(_) => io::Error::other("it is larger than 1 MiB"),
    })?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KvGrant;

    fn read_sidecar(config: &Config, text: &str) -> Result<PluginConfig, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.toml"), text).unwrap();
        config.plugin_with_sidecar("a", &dir.path().join("a.wasm"))
    }

    #[test]
    fn a_file_beside_a_plugin_says_what_a_section_would() {
        let mut config = Config::new("plugins".into());
        config.limits.fuel = 7;
        let plugin = read_sidecar(&config, "prefix = \"a\"\nlimits = { wall_ms = 5 }").unwrap();
        assert_eq!((plugin.prefix.as_str(), plugin.limits.wall_ms, plugin.limits.fuel), ("a", 5, 7));
        let none = config.plugin_with_sidecar("a", Path::new("/nowhere/a.wasm")).unwrap();
        assert_eq!(none, config.plugin("a"));
        let message = read_sidecar(&config, "wall_ms = 5").unwrap_err().to_string();
        assert!(message.contains("a.toml:1: wall_ms: unknown key"), "{message}");
    }

    #[test]
    fn it_gives_a_plugin_no_other_name_whatever_it_may_grant() {
        let mut config = Config::new("plugins".into());
        for sidecar_grants in [false, true] {
            config.server.sidecar_grants = sidecar_grants;
            for prefix in ["mail", "A", ""] {
                let message =
                    read_sidecar(&config, &format!("prefix = \"{prefix}\"")).unwrap_err().to_string();
                let line =
                    format!("move what is here to [plugins.a] there, with the line `prefix = \"{prefix}\"`");
                assert!(message.contains(&line), "{message}");
            }
        }
    }

    #[test]
    fn it_grants_nothing_unless_that_is_allowed() {
        let mut config = Config::new("plugins".into());
        let message = read_sidecar(&config, "[grants]\nkv = true").unwrap_err().to_string();
        assert!(message.contains("sidecar_grants = true"), "{message}");
        let message = read_sidecar(&config, "instances = \"reuse\"").unwrap_err().to_string();
        assert!(message.contains("have instances reused only when `sidecar_grants = true`"), "{message}");
        assert!(read_sidecar(&config, "instances = \"fresh\"").is_ok());
        let message = read_sidecar(&config, "task_bridge = true").unwrap_err().to_string();
        assert!(message.contains("only when `sidecar_grants = true`"), "{message}");
        assert!(read_sidecar(&config, "task_bridge = false").is_ok());
        config.server.sidecar_grants = true;
        assert_eq!(
            read_sidecar(&config, "[grants]\nkv = true").unwrap().grants.keyvalue,
            Some(KvGrant::default())
        );
        assert_eq!(read_sidecar(&config, "instances = \"reuse\"").unwrap().instances, InstanceMode::Reuse);
        assert!(read_sidecar(&config, "task_bridge = true").unwrap().task_bridge);
    }

    #[test]
    fn it_loosens_no_limit_unless_that_is_allowed() {
        let mut config = Config::new("plugins".into());
        config.limits.wall_ms = 50;
        let stricter = "limits = { wall_ms = 50, fuel = 7, quarantine_failures = 1, quarantine_s = 31 }";
        assert_eq!(read_sidecar(&config, stricter).unwrap().limits.fuel, 7);
        let laxer = "[limits]\nfuel = 7\nwall_ms = 51\nquarantine_failures = 6\nquarantine_s = 29\n";
        let message = read_sidecar(&config, laxer).unwrap_err().to_string();
        for expected in [
            "3 mistakes in",
            "a.toml:3: limits.wall_ms: 51 is laxer than 50, which holds for every plugin",
            ":4: limits.quarantine_failures: 6 is laxer than 5",
            ":5: limits.quarantine_s: 29 is laxer than 30",
            "only when `sidecar_grants = true` is set under [server]; write it into plugport.toml, or set that",
        ] {
            assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
        }
        config.server.sidecar_grants = true;
        assert_eq!(read_sidecar(&config, laxer).unwrap().limits.wall_ms, 51);
    }

    #[test]
    fn it_says_nothing_about_scopes_whatever_it_may_grant() {
        let mut config = Config::new("plugins".into());
        for sidecar_grants in [false, true] {
            config.server.sidecar_grants = sidecar_grants;
            let text = "limits = { fuel = 7 }\nscopes = [\"a\"]\n[tools.delete]\nscopes = [\"b\"]\n";
            let message = read_sidecar(&config, text).unwrap_err().to_string();
            for expected in [
                ":2: scopes: a sidecar cannot say which scopes its plugin needs; write them under [plugins.a]",
                ": tools: a sidecar cannot say",
            ] {
                assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
            }
        }
    }

    #[test]
    fn a_plugin_has_a_section_or_a_sidecar() {
        let mut config = Config::new("plugins".into());
        config.plugins.insert("a".to_owned(), config.plugin("a"));
        let message = read_sidecar(&config, "").unwrap_err().to_string();
        assert!(message.contains("[plugins.a] too"), "{message}");
    }

    #[test]
    fn links_and_pipes_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("b.toml"), "prefix = \"\"").unwrap();
        std::os::unix::fs::symlink("b.toml", dir.path().join("a.toml")).unwrap();
        let config = Config::new("plugins".into());
        assert!(config.plugin_with_sidecar("a", &dir.path().join("a.wasm")).is_err());
        std::fs::create_dir(dir.path().join("c.toml")).unwrap();
        assert!(config.plugin_with_sidecar("c", &dir.path().join("c.wasm")).is_err());
    }
}
