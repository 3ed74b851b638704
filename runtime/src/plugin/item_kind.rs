//! The four kinds of items, which a plugin lists, an operator approves and the catalog publishes. Here, since all of
//! those know what a plugin is, and none of them needs the others for it.

/// A kind of item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// Something to call.
    Tool,
    /// Something to read.
    Resource,
    /// A family of things to read.
    Template,
    /// Something to fill in.
    Prompt,
}

impl ItemKind {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Tool, Self::Resource, Self::Template, Self::Prompt];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Prompt => "prompt",
        }
    }

    /// What its key is.
    #[must_use]
    pub fn key_word(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "URI",
            Self::Template => "URI template",
        }
    }
}
