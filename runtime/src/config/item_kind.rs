//! The four kinds of items, which a plugin lists, an operator approves and the catalog publishes. They are defined in
//! this layer, since roles name items, and the layers `approval` and `catalog` both know this one.

/// A kind of item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

    /// Its name in messages and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Prompt => "prompt",
        }
    }

    /// The word for its key in messages.
    #[must_use]
    pub fn key_word(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "URI",
            Self::Template => "URI template",
        }
    }
}
