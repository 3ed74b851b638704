//! One item in the form that rules compare.

use crate::config::{Hint, ItemKind, ItemPattern, comparable_uri, has_dot_segment};

/// One item, under the name that clients use.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The plugin that serves it.
    pub plugin: &'a str,
    /// The kind of the item. A URI that is read, subscribed to or linked is a resource, even if only a template matches
    /// it.
    pub kind: ItemKind,
    /// The published name of a tool or a prompt, the URI of a resource, or the text of a template.
    pub name: &'a str,
    /// If a URI is read that no plugin lists: the template that matches it. Otherwise `None`, even if a template
    /// matches a listed URI, because a listed URI must get the same decision in the list and when it is read.
    pub template: Option<&'a str>,
    /// The approved annotations of a tool. A plugin must not get more rights by what it claims: if the item differs
    /// from its approval, use the default, which assumes the worst.
    pub hints: Hints,
    /// The scopes that a token needs for the item ([`RequiredScopes`](crate::config::RequiredScopes)).
    pub scopes: &'a [Box<str>],
}

/// The annotations of a tool. An absent annotation has the default of the MCP specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`; if absent, the tool changes something.
    pub read_only: Option<bool>,
    /// `destructiveHint`, which applies only to tools that change something; if absent, the tool is destructive.
    pub destructive: Option<bool>,
    /// `idempotentHint`, which applies only to tools that change something; if absent, the tool is not idempotent.
    pub idempotent: Option<bool>,
    /// `openWorldHint`; if absent, the tool interacts with an open world.
    pub open_world: Option<bool>,
}

impl Hints {
    /// Whether a tool with these annotations satisfies the hint of a pattern.
    pub(super) fn has(self, hint: Hint) -> bool {
        let is_read_only = self.read_only.unwrap_or(false);
        match hint {
            Hint::ReadOnly => is_read_only,
            Hint::Destructive => !is_read_only && self.destructive.unwrap_or(true),
            Hint::Idempotent => is_read_only || self.idempotent.unwrap_or(false),
            Hint::OpenWorld => self.open_world.unwrap_or(true),
        }
    }
}

/// The list of a role that a pattern is in. It makes a difference where it is uncertain which URI is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// An entry of `allow`.
    Allow,
    /// An entry of `deny`.
    Deny,
    /// A key of `when`.
    When,
}

impl RuleKind {
    /// The key of the list in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::When => "when",
        }
    }
}

/// An item with its name in the form that patterns compare.
#[derive(Debug)]
pub(super) struct ItemTarget<'i> {
    pub(super) item: Item<'i>,
    uri: Option<String>,
}

/// What patterns of resources are compared with.
pub(super) enum ComparedUri<'t> {
    /// This normalized URI.
    Certain(&'t str),
    /// No URI: it has dot segments, which may lead to any other URI.
    Uncertain,
}

impl<'i> ItemTarget<'i> {
    pub(super) fn new(item: &Item<'i>) -> Self {
        let uri = (item.kind == ItemKind::Resource).then(|| comparable_uri(item.name));
        Self { item: *item, uri }
    }

    /// The URI of a resource.
    pub(super) fn uri(&self) -> Option<ComparedUri<'_>> {
        let uri = self.uri.as_deref()?;
        Some(if has_dot_segment(uri) { ComparedUri::Uncertain } else { ComparedUri::Certain(uri) })
    }

    /// Whether one pattern matches this item. [`PatternSet`](super::pattern_set::PatternSet) gives the same result for
    /// many patterns faster; this function tells which pattern it was.
    pub(super) fn is_meant_by(&self, pattern: &ItemPattern, rule: RuleKind) -> bool {
        let item = &self.item;
        let is_tool = item.kind == ItemKind::Tool;
        match pattern {
            ItemPattern::Everything => true,
            ItemPattern::Plugin(glob) => glob.matches(item.plugin),
            ItemPattern::PluginOrTool(name) => **name == *item.plugin || (is_tool && **name == *item.name),
            ItemPattern::Hint(hint) => is_tool && item.hints.has(*hint),
            ItemPattern::Named(ItemKind::Resource, glob) => match self.uri() {
                None => false,
                Some(ComparedUri::Certain(uri)) => glob.matches(uri),
                // The URI may be one that the entry denies, but is not certainly one that the entry allows.
                Some(ComparedUri::Uncertain) => rule == RuleKind::Deny,
            },
            ItemPattern::Named(ItemKind::Template, glob) if item.kind == ItemKind::Resource => {
                item.template.is_some_and(|template| glob.matches(template))
            }
            ItemPattern::Named(kind, glob) => item.kind == *kind && glob.matches(item.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_annotations_mean_what_mcp_says() {
        let has = |hints: Hints| {
            [Hint::ReadOnly, Hint::Destructive, Hint::Idempotent, Hint::OpenWorld].map(|hint| hints.has(hint))
        };
        assert_eq!(has(Hints::default()), [false, true, false, true]);
        let read_only = Hints { read_only: Some(true), destructive: Some(true), ..Hints::default() };
        assert_eq!(has(read_only), [true, false, true, true]);
        let careful = Hints { destructive: Some(false), open_world: Some(false), ..Hints::default() };
        assert_eq!(has(careful), [false, false, false, false]);
    }

    fn is_meant(pattern: &str, item: &Item<'_>) -> bool {
        ItemTarget::new(item).is_meant_by(&ItemPattern::parse(pattern).unwrap(), RuleKind::Allow)
    }

    #[test]
    fn each_kind_of_item_has_its_own_names() {
        let hints = Hints { read_only: Some(true), ..Hints::default() };
        let item = |kind, name| Item { plugin: "files", kind, name, template: None, hints, scopes: &[] };
        let tool = item(ItemKind::Tool, "files-read");
        for (pattern, expected) in [
            ("*", true),
            ("files", true),
            ("plugin:f*", true),
            ("files-read", true),
            ("files-*", true),
            ("tool:files-*", true),
            ("hint:read-only", true),
            ("hint:destructive", false),
            ("file*", true),
            ("file", false),
            ("plugin:files-read", false),
            ("prompt:files-read", false),
        ] {
            assert_eq!(is_meant(pattern, &tool), expected, "{pattern}");
        }
        let prompt = item(ItemKind::Prompt, "files-read");
        assert!(is_meant("prompt:*", &prompt) && is_meant("files", &prompt));
        assert!(!is_meant("files-*", &prompt) && !is_meant("hint:read-only", &prompt));
        let template = item(ItemKind::Template, "files:{+path}");
        assert!(is_meant("template:files:{*", &template) && !is_meant("resource:*", &template));
    }

    #[test]
    fn a_uri_is_compared_in_one_spelling_and_with_its_template() {
        let read = |name, template| Item {
            plugin: "notes",
            kind: ItemKind::Resource,
            name,
            template,
            hints: Hints::default(),
            scopes: &[],
        };
        let by_template = read("notes:%61/b", Some("notes:{+id}"));
        for pattern in ["resource:notes:a*", "resource:notes:a%2Fb", "template:notes:{+id}", "notes"] {
            assert!(is_meant(pattern, &by_template), "{pattern}");
        }
        assert!(!is_meant("template:*", &read("notes:a", None)));
        let uncertain = ItemTarget::new(&read("notes:public/..%2Fsecret", Some("notes:{+id}")));
        let pattern = ItemPattern::parse("resource:notes:public/*").unwrap();
        assert!(!uncertain.is_meant_by(&pattern, RuleKind::Allow), "it may lead elsewhere");
        assert!(uncertain.is_meant_by(&pattern, RuleKind::Deny), "it may lead here");
    }
}
