//! Names that clients see.
//!
//! ASCII letters, digits, `_`, `-` and `.` only: every client accepts these, and few of them look alike. The plugin's
//! name or prefix comes first; [`NameOwners`](super::NameOwners) decides which plugin owns a name.

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

/// The name or URI of an item by its plugin's own name for it; `None` when it can have no public name.
#[must_use]
pub fn published_key(kind: ItemKind, prefix: &str, own: &str) -> Option<String> {
    match kind {
        ItemKind::Tool | ItemKind::Prompt => public(prefix, own).ok(),
        ItemKind::Resource | ItemKind::Template => Some(own.to_owned()),
    }
}

/// A form that is equal for names that a reader or a model could confuse: upper and lower case, `0` and `o`, `1` and
/// `l` and `i`, `rn` and `m`, `vv` and `w`, the separators. Names are ASCII, so no other characters can be confused.
/// The skeleton of a name's beginning is a beginning of the name's skeleton.
pub(super) fn skeleton(name: &str) -> String {
    let mut skeleton = String::with_capacity(name.len() + 8);
    for character in name.chars() {
        match character.to_ascii_lowercase() {
            '0' => skeleton.push('o'),
            '1' | 'i' => skeleton.push('l'),
            '_' | '.' | '+' => skeleton.push('-'),
            // Not the other way round, so that a text that ends between `r` and `n` is still a beginning of both.
            'm' => skeleton.push_str("rn"),
            'w' => skeleton.push_str("vv"),
            other => skeleton.push(other),
        }
    }
    skeleton
}

/// The same for names of plugins, without separators.
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
