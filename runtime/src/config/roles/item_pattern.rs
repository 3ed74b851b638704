//! Entries of `allow` and `deny`, and the keys of `when`: which items are meant.

use super::name_glob::NameGlob;
use super::uri_spelling;
use crate::config::item_kind::ItemKind;

/// Which items are meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ItemPattern {
    /// `*`: all items of all plugins.
    Everything,
    /// `plugin:NAME`: all items of such plugins.
    Plugin(NameGlob),
    /// A name without a kind and without a star: all items of the plugin of this name, and the tool that is published
    /// under this name.
    PluginOrTool(Box<str>),
    /// `tool:`, `resource:`, `template:` or `prompt:` and a pattern; without a kind, a name with a star: tools. Of a
    /// resource, the pattern is in the spelling in which URIs are compared.
    Named(ItemKind, NameGlob),
    /// `hint:NAME`: tools with this annotation.
    Hint(Hint),
}

/// An annotation of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hint {
    /// `readOnlyHint`.
    ReadOnly,
    /// `destructiveHint`.
    Destructive,
    /// `idempotentHint`.
    Idempotent,
    /// `openWorldHint`.
    OpenWorld,
}

/// Why a text means no items. The sentences follow the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemPatternError {
    /// Nothing, or nothing after the kind.
    #[error("names no item; write a tool's name, a plugin's name, or `*` for everything")]
    Empty,
    /// A character that no published name has.
    #[error(
        "has the character {}, which no name has; write letters, digits, `_`, `-`, `.` and `*`",
        .0.escape_debug()
    )]
    Character(char),
    /// A text before the first colon that is no kind.
    #[error(
        "begins with no kind of item; write a URI as `resource:URI`, or begin with tool:, resource:, template:, \
         prompt:, plugin: or hint:"
    )]
    Kind,
    /// No annotation.
    #[error("is no annotation; write hint:read-only, hint:destructive, hint:idempotent or hint:open-world")]
    Hint,
}

impl ItemPattern {
    /// Parses an entry.
    ///
    /// # Errors
    /// With what to write instead.
    pub fn parse(text: &str) -> Result<Self, ItemPatternError> {
        if text == "*" {
            return Ok(Self::Everything);
        }
        let Some((kind, pattern)) = text.split_once(':') else {
            let glob = name(text)?;
            let exact = glob.literal().map(|name| Self::PluginOrTool(name.into()));
            return Ok(exact.unwrap_or(Self::Named(ItemKind::Tool, glob)));
        };
        match kind {
            "tool" => Ok(Self::Named(ItemKind::Tool, name(pattern)?)),
            "prompt" => Ok(Self::Named(ItemKind::Prompt, name(pattern)?)),
            "plugin" => Ok(Self::Plugin(name(pattern)?)),
            "hint" => Hint::parse(pattern).map(Self::Hint).ok_or(ItemPatternError::Hint),
            "resource" => {
                let glob = NameGlob::spelled(uri(pattern)?, uri_spelling::comparable_uri);
                Ok(Self::Named(ItemKind::Resource, glob))
            }
            "template" => Ok(Self::Named(ItemKind::Template, NameGlob::new(uri(pattern)?))),
            _ => Err(ItemPatternError::Kind),
        }
    }

    /// Whether items with arguments can be meant.
    #[must_use]
    pub fn may_have_arguments(&self) -> bool {
        !matches!(self, Self::Named(ItemKind::Resource | ItemKind::Template, _))
    }
}

impl Hint {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "read-only" => Some(Self::ReadOnly),
            "destructive" => Some(Self::Destructive),
            "idempotent" => Some(Self::Idempotent),
            "open-world" => Some(Self::OpenWorld),
            _ => None,
        }
    }
}

/// A pattern of published names, or of names of plugins.
fn name(pattern: &str) -> Result<NameGlob, ItemPatternError> {
    let allows = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*');
    match pattern.chars().find(|character| !allows(*character)) {
        Some(character) => Err(ItemPatternError::Character(character)),
        None if pattern.is_empty() => Err(ItemPatternError::Empty),
        None => Ok(NameGlob::new(pattern)),
    }
}

/// A pattern of URIs or templates.
fn uri(pattern: &str) -> Result<&str, ItemPatternError> {
    match pattern.chars().find(|character| character.is_control()) {
        Some(character) => Err(ItemPatternError::Character(character)),
        None if pattern.is_empty() => Err(ItemPatternError::Empty),
        None => Ok(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_a_name_or_a_star_says_which_items_are_meant() {
        use ItemPattern as P;
        for (text, pattern) in [
            ("*", P::Everything),
            ("clock", P::PluginOrTool("clock".into())),
            ("files-read*", P::Named(ItemKind::Tool, NameGlob::new("files-read*"))),
            ("tool:clock", P::Named(ItemKind::Tool, NameGlob::new("clock"))),
            ("prompt:notes-*", P::Named(ItemKind::Prompt, NameGlob::new("notes-*"))),
            ("plugin:*", P::Plugin(NameGlob::new("*"))),
            ("resource:notes:*", P::Named(ItemKind::Resource, NameGlob::new("notes:*"))),
            ("resource:file:///%61*", P::Named(ItemKind::Resource, NameGlob::new("file:/a*"))),
            ("template:notes:{id}", P::Named(ItemKind::Template, NameGlob::new("notes:{id}"))),
            ("hint:read-only", P::Hint(Hint::ReadOnly)),
            ("hint:open-world", P::Hint(Hint::OpenWorld)),
        ] {
            assert_eq!(ItemPattern::parse(text), Ok(pattern), "{text}");
        }
        let star = ItemPattern::parse("resource:n:%2A").unwrap();
        let ItemPattern::Named(ItemKind::Resource, glob) = star else { panic!("{star:?}") };
        assert_eq!(glob.literal(), Some("n:*"), "a star that stands for itself is percent-encoded");
    }

    #[test]
    fn what_means_no_item_is_a_mistake() {
        use ItemPatternError as E;
        for (text, error) in [
            ("", E::Empty),
            ("tool:", E::Empty),
            ("resource:", E::Empty),
            ("files read", E::Character(' ')),
            ("a/b", E::Character('/')),
            ("prompt:é", E::Character('é')),
            ("resource:a:\t", E::Character('\t')),
            ("notes:*", E::Kind),
            ("Tool:x", E::Kind),
            ("hint:destructiveHint", E::Hint),
        ] {
            assert_eq!(ItemPattern::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn tools_and_prompts_have_arguments() {
        let may = |text: &str| ItemPattern::parse(text).unwrap().may_have_arguments();
        assert!(may("*") && may("files") && may("prompt:a") && may("hint:destructive"));
        assert!(!may("resource:a:b") && !may("template:a:{b}"));
    }
}
