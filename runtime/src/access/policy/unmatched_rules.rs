//! Entries of `allow`, `deny` and `when` that mean nothing of what the folder lists, such as a misspelled name.
//!
//! A misspelled `deny` denies nothing, and nobody notices. But a warning that is wrong teaches operators to ignore
//! warnings. So there is none where an entry may mean something that cannot be seen here:
//!
//! | Not seen here | No warning on |
//! |---|---|
//! | items of a plugin that could not be listed | its name, and patterns that its names may match |
//! | the same | patterns of resources and templates, and `hint:`: such a plugin may have any |
//! | URIs that are read through a template | `deny` of resources that the template's URIs may match |
//! | resources that a plugin lists only with its grants | patterns of resources and templates |

use super::item::{Item, ItemTarget, RuleKind};
use crate::config::{
    ItemKind, ItemPattern, NameGlob, RoleConfig, RolesConfig, Rule, comparable_uri, nearest,
};

/// The kinds before a colon under which an entry may have been meant.
const KINDS: [&str; 5] = ["tool", "prompt", "plugin", "resource", "template"];

/// A plugin of the folder whose items are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlistedPlugin {
    /// Its name.
    pub name: String,
    /// What its published names begin with, without the dash.
    pub prefix: String,
}

/// What the folder lists.
#[derive(Debug, Clone, Copy)]
pub struct FolderItems<'f> {
    /// All published items.
    pub items: &'f [Item<'f>],
    /// The plugins that list them, also those that list nothing.
    pub plugins: &'f [&'f str],
    /// The plugins whose items are not known.
    pub unlisted: &'f [UnlistedPlugin],
    /// Whether a plugin may list more resources when it is served.
    pub may_list_more_resources: bool,
}

/// A warning about each entry of a role that means nothing, one sentence each.
#[must_use]
pub fn unmatched_rules(config: &RolesConfig, folder: FolderItems<'_>) -> Vec<String> {
    let targets: Vec<ItemTarget<'_>> = folder.items.iter().map(ItemTarget::new).collect();
    let search = Search { folder, targets };
    config.roles.iter().flat_map(|role| search.warnings(role)).collect()
}

/// The items, prepared for many patterns.
struct Search<'f> {
    folder: FolderItems<'f>,
    targets: Vec<ItemTarget<'f>>,
}

impl Search<'_> {
    fn warnings(&self, role: &RoleConfig) -> Vec<String> {
        let allow = role.allow.iter().map(|rule| (RuleKind::Allow, rule));
        let deny = role.deny.iter().map(|rule| (RuleKind::Deny, rule));
        let when = role.when.iter().map(|item| (RuleKind::When, &item.item));
        allow.chain(deny).chain(when).filter_map(|(kind, rule)| self.warning(role, kind, rule)).collect()
    }

    fn warning(&self, role: &RoleConfig, kind: RuleKind, rule: &Rule<ItemPattern>) -> Option<String> {
        if self.means_something(&rule.value, kind) || self.may_mean_something(&rule.value, kind) {
            return None;
        }
        let what = match &rule.value {
            ItemPattern::Everything => return None,
            ItemPattern::Plugin(_) => "no plugin",
            ItemPattern::PluginOrTool(_) => "no plugin and no tool",
            ItemPattern::Named(ItemKind::Resource, _) => "no resource that is listed",
            ItemPattern::Named(ItemKind::Template, _) => "no resource template",
            ItemPattern::Named(ItemKind::Prompt, _) => "no prompt",
            ItemPattern::Named(ItemKind::Tool, _) | ItemPattern::Hint(_) => "no tool",
        };
        let meant = self.suggestion(&rule.text, kind);
        let meant =
            meant.map(|meant| format!("; did you mean `{}`?", meant.escape_debug())).unwrap_or_default();
        let (name, line, text) = (&role.name, rule.line, rule.text.escape_debug());
        Some(format!("[roles.{name}] line {line}: `{text}` in `{}` means {what}{meant}", kind.as_str()))
    }

    fn means_something(&self, pattern: &ItemPattern, kind: RuleKind) -> bool {
        let is_plugin = match pattern {
            ItemPattern::Plugin(glob) => self.folder.plugins.iter().any(|plugin| glob.matches(plugin)),
            ItemPattern::PluginOrTool(name) => self.folder.plugins.contains(&&**name),
            _ => false,
        };
        is_plugin || self.targets.iter().any(|target| target.is_meant_by(pattern, kind))
    }

    /// Whether the pattern may mean an item that is not known here.
    fn may_mean_something(&self, pattern: &ItemPattern, kind: RuleKind) -> bool {
        let unlisted = self.folder.unlisted;
        match pattern {
            ItemPattern::Everything => true,
            ItemPattern::Hint(_) => !unlisted.is_empty(),
            ItemPattern::Plugin(glob) => unlisted.iter().any(|plugin| glob.matches(&plugin.name)),
            ItemPattern::PluginOrTool(name) => {
                let glob = NameGlob::new(name);
                unlisted.iter().any(|plugin| *plugin.name == **name || plugin.may_publish(&glob))
            }
            ItemPattern::Named(ItemKind::Tool | ItemKind::Prompt, glob) => {
                unlisted.iter().any(|plugin| plugin.may_publish(glob))
            }
            ItemPattern::Named(ItemKind::Template, _) => self.may_have_more_uris(),
            ItemPattern::Named(ItemKind::Resource, glob) => {
                self.may_have_more_uris() || (kind == RuleKind::Deny && self.may_be_read(glob))
            }
        }
    }

    fn may_have_more_uris(&self) -> bool {
        self.folder.may_list_more_resources || !self.folder.unlisted.is_empty()
    }

    /// Whether a URI that the pattern matches may be read through a template.
    fn may_be_read(&self, glob: &NameGlob) -> bool {
        let templates = self.folder.items.iter().filter(|item| item.kind == ItemKind::Template);
        let mut beginnings = templates.map(|item| item.name.split('{').next().unwrap_or_default());
        beginnings.any(|beginning| glob.may_begin_with(&comparable_uri(beginning)))
    }

    /// What the entry was likely meant for: the same under another kind, or the nearest name of a plugin or an item.
    fn suggestion(&self, text: &str, kind: RuleKind) -> Option<String> {
        let (own, name) = text.split_once(':').filter(|(own, _)| KINDS.contains(own)).unwrap_or(("", text));
        let means =
            |text: &str| ItemPattern::parse(text).is_ok_and(|pattern| self.means_something(&pattern, kind));
        let mut others = KINDS.iter().filter(|other| **other != own).map(|other| format!("{other}:{name}"));
        if let Some(other) = others.find(|other| means(other)) {
            return Some(other);
        }
        if let Some(stem) = name.strip_suffix("-*") {
            let near = nearest(stem, self.folder.plugins).map(|near| format!("{near}-*"))?;
            return Some(if own.is_empty() { near } else { format!("{own}:{near}") })
                .filter(|near| means(near));
        }
        let names = self.names(own);
        let near = nearest(name, &names)?;
        Some(if own.is_empty() { near.to_owned() } else { format!("{own}:{near}") })
    }

    /// The names that an entry of this kind may have.
    fn names(&self, kind: &str) -> Vec<&str> {
        let of = |kind: ItemKind| self.folder.items.iter().filter(move |item| item.kind == kind);
        let plugins = || self.folder.plugins.iter().copied();
        match kind {
            "" => plugins().chain(of(ItemKind::Tool).map(|item| item.name)).collect(),
            "plugin" => plugins().collect(),
            kind => {
                let kind = ItemKind::ALL.into_iter().find(|known| known.as_str() == kind);
                kind.into_iter().flat_map(of).map(|item| item.name).collect()
            }
        }
    }
}

impl UnlistedPlugin {
    /// Whether the plugin may publish a name that the pattern matches.
    fn may_publish(&self, glob: &NameGlob) -> bool {
        let beginning = if self.prefix.is_empty() { String::new() } else { format!("{}-", self.prefix) };
        glob.may_begin_with(&beginning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::policy::Hints;

    fn item(plugin: &'static str, kind: ItemKind, name: &'static str) -> Item<'static> {
        Item { plugin, kind, name, template: None, hints: Hints::default(), scopes: &[] }
    }

    fn items() -> Vec<Item<'static>> {
        vec![
            item("files", ItemKind::Tool, "files-read"),
            item("notes", ItemKind::Tool, "notes-add"),
            item("notes", ItemKind::Prompt, "notes-review"),
            item("notes", ItemKind::Resource, "notes:page"),
            item("notes", ItemKind::Template, "notes:item/{id}"),
        ]
    }

    fn rules(texts: &[&str]) -> Vec<Rule<ItemPattern>> {
        let rule =
            |text: &&str| Rule { value: ItemPattern::parse(text).unwrap(), text: (*text).into(), line: 7 };
        texts.iter().map(rule).collect()
    }

    fn warnings(allow: &[&str], deny: &[&str], unlisted: &[UnlistedPlugin], more: bool) -> Vec<String> {
        let role = RoleConfig {
            name: "analyst".to_owned(),
            allow: rules(allow),
            deny: rules(deny),
            ..RoleConfig::default()
        };
        let items = items();
        let folder = FolderItems {
            items: &items,
            plugins: &["files", "idle", "notes"],
            unlisted,
            may_list_more_resources: more,
        };
        unmatched_rules(&RolesConfig { roles: vec![role] }, folder)
    }

    #[test]
    fn what_means_something_gets_no_warning() {
        let allow = [
            "*",
            "files",
            "idle",
            "files-*",
            "tool:*-read",
            "plugin:i*",
            "prompt:notes-*",
            "resource:notes:%70age",
            "template:notes:item/{id}",
            "hint:destructive",
        ];
        assert_eq!(warnings(&allow, &["*-add"], &[], false), [""; 0]);
        assert_eq!(
            warnings(&[], &["resource:notes:item/secret"], &[], false),
            [""; 0],
            "a template reads it"
        );
    }

    #[test]
    fn what_means_nothing_gets_a_warning_with_what_was_likely_meant() {
        for (entry, said) in [
            ("file", "`file` in `allow` means no plugin and no tool; did you mean `files`?"),
            ("files-raed", "means no plugin and no tool; did you mean `files-read`?"),
            ("file-*", "means no tool; did you mean `files-*`?"),
            ("tool:file-*", "did you mean `tool:files-*`?"),
            ("notes-review", "means no plugin and no tool; did you mean `prompt:notes-review`?"),
            ("plugin:note", "means no plugin; did you mean `plugin:notes`?"),
            ("tool:notes:page", ""),
            ("resource:notes:pages", "means no resource that is listed; did you mean `resource:notes:page`?"),
            ("resource:notes:item/{id}", "did you mean `template:notes:item/{id}`?"),
            ("prompt:weather", "means no prompt"),
            ("hint:read-only", "means no tool"),
        ] {
            if said.is_empty() {
                assert!(ItemPattern::parse(entry).is_err(), "{entry}");
                continue;
            }
            let found = warnings(&[entry], &[], &[], false);
            assert_eq!(found.len(), 1, "{entry}: {found:?}");
            assert!(found[0].starts_with("[roles.analyst] line 7: `"), "{found:?}");
            assert!(found[0].ends_with(said), "{entry}: {found:?}");
        }
        assert!(warnings(&[], &["*-delete"], &[], false)[0].contains("`*-delete` in `deny` means no tool"));
    }

    #[test]
    fn what_may_mean_an_item_that_is_not_known_gets_no_warning() {
        let web = [UnlistedPlugin { name: "web".into(), prefix: "fetch".into() }];
        for entry in [
            "web",
            "plugin:w*",
            "fetch-*",
            "fetch-get",
            "prompt:fetch-*",
            "*-get",
            "resource:x:*",
            "hint:read-only",
        ] {
            assert_eq!(warnings(&[entry], &[entry], &web, false), [""; 0], "{entry}");
        }
        assert_eq!(warnings(&["wob", "feed-*"], &[], &web, false).len(), 2);
        let bare = [UnlistedPlugin { name: "web".into(), prefix: String::new() }];
        assert_eq!(warnings(&["anything"], &[], &bare, false), [""; 0]);
        assert_eq!(warnings(&["resource:x:*", "template:x:*"], &[], &[], true), [""; 0]);
    }
}
