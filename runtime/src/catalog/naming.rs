//! Names that clients see.
//!
//! ASCII letters, digits, `_`, `-` and `.` only: what every client accepts, and what leaves little room for
//! look-alikes. The plugin's name comes first; whose it is when several plugins' names could be meant is decided by
//! [`NameOwners`](super::NameOwners).

use plugport_common::check_name;
pub use plugport_common::{NameError, plugin_name};

use crate::plugin::ItemKind;

/// MCP 2025-11-25 allows up to 128 characters.
const LONGEST: usize = 128;

/// The public name of an item: `PREFIX-NAME`, or the bare name without a prefix.
pub(super) fn public(prefix: &str, name: &str) -> Result<String, NameError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    check_name(name, LONGEST, allowed)?;
    let public = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}-{name}") };
    check_name(&public, LONGEST, allowed)?;
    Ok(public)
}

/// The name or URI of an item that its plugin calls so; none, when it can have no public name.
#[must_use]
pub fn published_key(kind: ItemKind, prefix: &str, own: &str) -> Option<String> {
    match kind {
        ItemKind::Tool | ItemKind::Prompt => public(prefix, own).ok(),
        ItemKind::Resource | ItemKind::Template => Some(own.to_owned()),
    }
}

/// The same for names that a hurried reader, or a model, could take for one another: upper and lower case, `0` and `o`,
/// `1` and `l` and `i`, `rn` and `m`, `vv` and `w`, the separators. Other characters than ASCII have no place in names,
/// so this is all that can be confused. What begins with a text looks as what begins with the look of that text.
pub(super) fn skeleton(name: &str) -> String {
    let mut alike = String::with_capacity(name.len() + 8);
    for character in name.chars() {
        match character.to_ascii_lowercase() {
            '0' => alike.push('o'),
            '1' | 'i' => alike.push('l'),
            '_' | '.' | '+' => alike.push('-'),
            // In this direction, so that a text that is cut between `r` and `n` looks like the beginning of both.
            'm' => alike.push_str("rn"),
            'w' => alike.push_str("vv"),
            other => alike.push(other),
        }
    }
    alike
}

/// The same for names of plugins, where a separator more or less makes no other name either.
pub(super) fn plugin_skeleton(name: &str) -> String {
    skeleton(name).replace('-', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_comes_first_unless_it_is_trusted_to_go_bare() {
        assert_eq!(public("clock", "now").as_deref(), Ok("clock-now"));
        assert_eq!(public("", "now").as_deref(), Ok("now"));
    }

    #[test]
    fn names_that_look_alike_are_told() {
        for (name, twin) in [
            ("files-read", "Files-read"),
            ("files-read", "fi1es_read"),
            ("a-b0", "a.bO"),
            ("mail-view", "rnail-vievv"),
        ] {
            assert_eq!(skeleton(name), skeleton(twin));
        }
        assert_ne!(skeleton("files-read"), skeleton("file-reads"));
        assert_eq!(plugin_skeleton("GitHub_issues"), plugin_skeleton("git-hub-issues"));
        assert!(skeleton("corn").starts_with(&skeleton("cor")) && skeleton("com").starts_with("cor"));
    }

    #[test]
    fn names_that_could_deceive_or_break_a_client_are_rejected() {
        assert_eq!(public("a", ""), Err(NameError::Empty));
        assert_eq!(public("a", "n\u{43e}w"), Err(NameError::Character('\u{43e}')));
        assert_eq!(public("a", "x/y"), Err(NameError::Character('/')));
        assert_eq!(public("abc", &"x".repeat(125)), Err(NameError::TooLong(129, 128)));
    }
}
