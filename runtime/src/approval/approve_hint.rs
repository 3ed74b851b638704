//! The command that approves a plugin, for the operator to copy.
//!
//! A server may have another folder and another configuration than the defaults of `plugport approve`. So the command
//! has an option with the absolute path of each that is not the default: it may be typed in any folder, and would
//! otherwise approve another file.

use std::fmt::Write as _;
use std::path::Path;

use crate::config::Config;
use crate::observe::shell_quote;

/// The defaults for the plugin folder and its configuration.
const FOLDER: &str = "plugins";
const FILE: &str = "plugport.toml";

/// The options that lead to this folder and this configuration, each after a space.
pub(super) fn options(config: &Config) -> String {
    let mut options = String::new();
    let file = config.file.as_deref().unwrap_or(Path::new(FILE));
    for (option, path, default) in [("--plugins", &*config.folder, FOLDER), ("--config", file, FILE)] {
        if path != Path::new(default) {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            // Writing to a string does not fail.
            let _ = write!(options, " {option} {}", shell_quote(absolute));
        }
    }
    options
}

/// The sentence with the command that approves a plugin.
pub(super) fn approve_command(plugin: &str, options: &str) -> String {
    format!("run `plugport approve {}{options}`", shell_quote(plugin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_the_default_is_said() {
        let mut config = Config::new("plugins".into());
        assert_eq!(approve_command("v", &options(&config)), "run `plugport approve v`");
        config.file = Some("plugport.toml".into());
        assert_eq!(options(&config), "");
        config.folder = "/srv/my tools".into();
        assert_eq!(options(&config), " --plugins '/srv/my tools'");
        config.file = Some("/etc/plugport.toml".into());
        assert_eq!(
            approve_command("v", &options(&config)),
            "run `plugport approve v --plugins '/srv/my tools' --config /etc/plugport.toml`"
        );
        config.folder = "other".into();
        let other = std::env::current_dir().unwrap().join("other");
        assert!(options(&config).contains(&shell_quote(other)), "it holds wherever it is typed");
    }
}
