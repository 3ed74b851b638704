//! The command that approves a plugin, as a person can copy it.
//!
//! A server may have another folder and another configuration than `plugport approve` would look for by itself. So whatever
//! is not the default is a part of the command, by its whole path: nobody knows where it will be typed, and it would
//! otherwise approve another file.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::config::Config;
use crate::observe::is_deceptive;

/// Where plugins are looked for when nothing is said, and their configuration.
const FOLDER: &str = "plugins";
const FILE: &str = "plugport.toml";

/// The options that lead to this folder and this configuration, each after a space.
pub(super) fn options(config: &Config) -> String {
    let mut options = String::new();
    let file = config.file.as_deref().unwrap_or(Path::new(FILE));
    for (option, path, usual) in [("--plugins", &*config.folder, FOLDER), ("--config", file, FILE)] {
        if path != Path::new(usual) {
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            // Writing to a string does not fail.
            let _ = write!(options, " {option} {}", quoted(whole.as_os_str()));
        }
    }
    options
}

/// What to do about a plugin.
pub(super) fn remedy(plugin: &str, options: &str) -> String {
    format!("run `plugport approve {}{options}`", quoted(OsStr::new(plugin)))
}

/// A word as a shell takes it for itself.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:@%,=".contains(byte);
    let is_harmless = |text: &&str| !text.chars().any(is_deceptive);
    match word.to_str().filter(is_harmless) {
        Some(text) if !text.is_empty() && text.as_bytes().iter().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => format!("$'{}'", spelled(word.as_bytes())),
    }
}

/// With all that is not plain ASCII as its bytes.
fn spelled(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_the_default_is_said() {
        let mut config = Config::new("plugins".into());
        assert_eq!(remedy("v", &options(&config)), "run `plugport approve v`");
        config.file = Some("plugport.toml".into());
        assert_eq!(options(&config), "");
        config.folder = "/srv/my tools".into();
        assert_eq!(options(&config), " --plugins '/srv/my tools'");
        config.file = Some("/etc/plugport.toml".into());
        assert_eq!(
            remedy("v", &options(&config)),
            "run `plugport approve v --plugins '/srv/my tools' --config /etc/plugport.toml`"
        );
        config.folder = "other".into();
        let other = std::env::current_dir().unwrap().join("other");
        assert!(options(&config).contains(&quoted(other.as_os_str())), "it holds wherever it is typed");
    }

    #[test]
    fn a_shell_reads_the_very_word() {
        for (word, written) in [
            (&b"/a/b-c_1.wasm"[..], "/a/b-c_1.wasm"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"$(id); it's", r"'$(id); it'\''s'"),
            ("\u{fc}".as_bytes(), "'\u{fc}'"),
            (b"a\nb'\\\xff", r"$'a\x0ab\'\\\xff'"),
            ("\u{202e}".as_bytes(), r"$'\xe2\x80\xae'"),
        ] {
            assert_eq!(quoted(OsStr::from_bytes(word)), written);
        }
    }
}
