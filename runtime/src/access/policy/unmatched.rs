//! Rules that mean no item, for remarks of `plugport check`: most are mistyped names.

use super::Policy;
use super::item::{Effect, Item, Target};
use crate::config::{ItemPattern, Rule};

/// A rule that means no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnmatchedRule<'p> {
    /// The role.
    pub role: &'p str,
    /// `allow`, `deny` or `when`.
    pub key: &'static str,
    /// The rule as it is written.
    pub text: &'p str,
    /// Its line.
    pub line: usize,
}

impl Policy {
    /// Rules that mean none of these items and none of these plugins. Annotations are left out, since a rule about them
    /// is also for plugins that come later.
    #[must_use]
    pub fn unmatched_rules<'p>(&'p self, items: &[Item<'_>], plugins: &[&str]) -> Vec<UnmatchedRule<'p>> {
        let targets: Vec<Target<'_>> = items.iter().map(Target::new).collect();
        let is_unmatched = |rule: &Rule<ItemPattern>| match &rule.value {
            ItemPattern::Everything | ItemPattern::Hint(_) => false,
            ItemPattern::Plugin(glob) if plugins.iter().any(|plugin| glob.matches(plugin)) => false,
            ItemPattern::PluginOrTool(name) if plugins.contains(&&**name) => false,
            pattern => !targets.iter().any(|target| target.is_meant_by(pattern, Effect::Allow)),
        };
        let mut unmatched = Vec::new();
        for role in &self.roles {
            let config = &role.config;
            let allow = config.allow.iter().map(|rule| ("allow", rule));
            let deny = config.deny.iter().map(|rule| ("deny", rule));
            let when = config.when.iter().map(|conditions| ("when", &conditions.item));
            let rules = allow.chain(deny).chain(when).filter(|(_, rule)| is_unmatched(rule));
            unmatched.extend(rules.map(|(key, rule)| UnmatchedRule {
                role: &config.name,
                key,
                text: &rule.text,
                line: rule.line,
            }));
        }
        unmatched
    }
}
