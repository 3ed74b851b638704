//! What is wrong with a line of frontmatter.

/// Longest frontmatter in bytes.
pub(super) const MAX_BYTES: usize = 16 << 10;

/// Maximum number of keys and of items of lists.
pub(super) const MAX_VALUES: usize = 64;

/// Maximum nesting of maps.
pub(super) const MAX_DEPTH: usize = 3;

/// Why a line is rejected. Each says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum Fault {
    #[error("a SKILL.md begins with a line `---`, the frontmatter, and another line `---`")]
    Fence,
    #[error("the frontmatter has more than {} KiB", MAX_BYTES >> 10)]
    Long,
    #[error("the frontmatter has more than {MAX_VALUES} keys and items")]
    Many,
    #[error("maps are nested more than {MAX_DEPTH} deep")]
    Deep,
    #[error("the frontmatter has a tab, or a character that can hide words from a reader; remove it")]
    Character,
    #[error("this is no `key: value`, with a key of letters, digits, `-`, `_`, `.` and `/`")]
    Key,
    #[error("this key is there twice")]
    Twice,
    #[error(
        "this line is indented otherwise than the one above; write a long value on one line or after `>-`"
    )]
    Indent,
    #[error("a block begins with `|`, `|-`, `>` or `>-`, and its lines are indented alike")]
    Block,
    #[error("parsers of YAML read this value differently; write it in quotes")]
    Ambiguous,
    #[error("anchors, aliases and tags are not read; write the value itself, in quotes if it is a text")]
    Anchor,
    #[error("this value has a character that means something in YAML; write it in quotes")]
    Indicator,
    #[error("a list is `[a, b]` with single values")]
    List,
    #[error("this quote does not end on its line")]
    Quote,
    #[error("in double quotes, `\\` stands only before `\"`, `\\`, `/` and `n`")]
    Escape,
    #[error("something follows the quote")]
    Rest,
}
