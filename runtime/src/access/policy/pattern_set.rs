//! The patterns of one list of a role, grouped by what they are compared with, so that a decision does not try each
//! pattern.
//!
//! Names without a star are found by binary search. Patterns with a star are tried one after another, but only those
//! for the item's kind.

use super::item::{ComparedUri, ItemTarget, RuleKind};
use crate::config::{Hint, ItemKind, ItemPattern, NameGlob, Rule};

/// The patterns of one list.
#[derive(Debug, Default)]
pub(super) struct PatternSet {
    everything: bool,
    plugins: NameSet,
    tools: NameSet,
    resources: NameSet,
    templates: NameSet,
    prompts: NameSet,
    hints: Vec<Hint>,
}

#[derive(Debug, Default)]
struct NameSet {
    /// Sorted.
    exact: Vec<Box<str>>,
    globs: Vec<NameGlob>,
}

impl PatternSet {
    pub(super) fn new(rules: &[Rule<ItemPattern>]) -> Self {
        let mut set = Self::default();
        for rule in rules {
            set.add(&rule.value);
        }
        let names =
            [&mut set.plugins, &mut set.tools, &mut set.resources, &mut set.templates, &mut set.prompts];
        names.into_iter().for_each(|names| names.exact.sort_unstable());
        set
    }

    fn add(&mut self, pattern: &ItemPattern) {
        match pattern {
            ItemPattern::Everything => self.everything = true,
            ItemPattern::Plugin(glob) => self.plugins.add(glob),
            ItemPattern::PluginOrTool(name) => {
                self.plugins.exact.push(name.clone());
                self.tools.exact.push(name.clone());
            }
            ItemPattern::Hint(hint) => self.hints.push(*hint),
            ItemPattern::Named(ItemKind::Tool, glob) => self.tools.add(glob),
            ItemPattern::Named(ItemKind::Resource, glob) => self.resources.add(glob),
            ItemPattern::Named(ItemKind::Template, glob) => self.templates.add(glob),
            ItemPattern::Named(ItemKind::Prompt, glob) => self.prompts.add(glob),
        }
    }

    /// Whether one of the patterns matches this item.
    pub(super) fn matches(&self, target: &ItemTarget<'_>, rule: RuleKind) -> bool {
        let item = &target.item;
        if self.everything || self.plugins.contains(item.plugin) {
            return true;
        }
        match item.kind {
            ItemKind::Tool => {
                self.tools.contains(item.name) || self.hints.iter().any(|hint| item.hints.has(*hint))
            }
            ItemKind::Prompt => self.prompts.contains(item.name),
            ItemKind::Template => self.templates.contains(item.name),
            ItemKind::Resource => {
                let is_named = match target.uri() {
                    Some(ComparedUri::Certain(uri)) => self.resources.contains(uri),
                    Some(ComparedUri::Uncertain) => rule == RuleKind::Deny && !self.resources.is_empty(),
                    None => false,
                };
                is_named || item.template.is_some_and(|template| self.templates.contains(template))
            }
        }
    }
}

impl NameSet {
    fn add(&mut self, glob: &NameGlob) {
        match glob.literal() {
            Some(name) => self.exact.push(name.into()),
            None => self.globs.push(glob.clone()),
        }
    }

    fn contains(&self, name: &str) -> bool {
        self.exact.binary_search_by(|own| (**own).cmp(name)).is_ok()
            || self.globs.iter().any(|glob| glob.matches(name))
    }

    fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.globs.is_empty()
    }
}
