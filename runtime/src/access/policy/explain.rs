//! Explains decisions of the policy: which rules match an item, and which rule decided.
//!
//! [`Policy::decide`] runs for every request, so it only finds out that a list matches an item, and not by which rule.
//! For an operator who asks, each rule is compared separately here. The decision itself is not computed again: callers
//! of this module pass the result of [`Policy::decide`], and tests ensure that the two agree.

use super::item::{Item, ItemTarget, RuleKind};
use super::role::Role;
use super::role_set::RoleSet;
use super::subject::Subject;
use super::{Decision, Policy};
use crate::config::{ArgumentCondition, ItemPattern, Rule, WhoPattern};

/// A role of a caller, and why the caller has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldRole<'p> {
    /// The role.
    pub role: &'p str,
    /// The first entry of `who` that names the caller.
    pub who: &'p Rule<WhoPattern>,
}

/// A rule that matches an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedRule<'p> {
    /// The role.
    pub role: &'p str,
    /// The list of the role.
    pub kind: RuleKind,
    /// The pattern as it is written in the configuration; for a condition that does not hold, the pointer to the
    /// argument.
    pub text: &'p str,
    /// The line of the rule in the configuration.
    pub line: usize,
}

/// The rules of one role that match an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRules<'p> {
    /// The role.
    pub role: &'p str,
    /// The rules that match the item: `deny`, then `allow`, then `when`.
    pub rules: Vec<MatchedRule<'p>>,
    /// The conditions of `when` on the arguments.
    pub conditions: Vec<&'p ArgumentCondition>,
}

/// The rules of all roles of a caller that match an item, sorted by role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation<'p> {
    /// One for each role of the caller.
    pub roles: Vec<RoleRules<'p>>,
}

impl Policy {
    /// The roles of a caller, each with the entry that gives it to the caller.
    #[must_use]
    pub fn held_roles(&self, subject: &Subject<'_>) -> Vec<HeldRole<'_>> {
        let mut held = Vec::new();
        for role in self.roles.iter() {
            let who = role.config.who.iter().find(|rule| subject.is(&rule.value));
            held.extend(who.map(|who| HeldRole { role: &role.config.name, who }));
        }
        held
    }

    /// Returns the rules of these roles that match an item.
    #[must_use]
    pub fn explain(&self, roles: RoleSet, item: &Item<'_>) -> Explanation<'_> {
        let target = ItemTarget::new(item);
        Explanation { roles: self.held(roles).map(|role| rules_of(role, &target)).collect() }
    }

    /// Returns the rule that led to this decision about the item. `None` if there are no roles, or if no role allows
    /// the item.
    #[must_use]
    pub fn deciding_rule<'p>(
        &'p self,
        explanation: &Explanation<'p>,
        decision: &Decision<'p>,
    ) -> Option<MatchedRule<'p>> {
        match decision {
            Decision::Hidden => explanation.first(RuleKind::Deny),
            Decision::NeedsScopes(_) => explanation.first(RuleKind::Allow),
            Decision::Allow(by) => {
                let names: Vec<&str> = self.role_names(*by).collect();
                explanation.allowing(&names)
            }
            Decision::ArgumentForbidden(forbidden) => Some(MatchedRule {
                role: forbidden.role,
                kind: RuleKind::When,
                text: forbidden.argument,
                line: forbidden.line,
            }),
        }
    }
}

impl<'p> Explanation<'p> {
    /// The conditions on the arguments, each with its role. Empty if one of the roles allows the item without
    /// conditions.
    #[must_use]
    pub fn conditions(&self) -> Vec<(&'p str, &'p ArgumentCondition)> {
        let allowing = || self.roles.iter().filter(|role| role.has(RuleKind::Allow));
        if allowing().any(|role| role.conditions.is_empty()) {
            return Vec::new();
        }
        allowing()
            .flat_map(|role| role.conditions.iter().map(move |condition| (role.role, *condition)))
            .collect()
    }

    /// All rules that match the item.
    pub fn rules(&self) -> impl Iterator<Item = &MatchedRule<'p>> {
        self.roles.iter().flat_map(|role| &role.rules)
    }

    fn first(&self, kind: RuleKind) -> Option<MatchedRule<'p>> {
        self.rules().find(|rule| rule.kind == kind).copied()
    }

    /// A rule of one of these roles that allows the item, preferably of a role without conditions on the arguments.
    fn allowing(&self, names: &[&str]) -> Option<MatchedRule<'p>> {
        let of_role =
            |role: &RoleRules<'p>| role.rules.iter().find(|rule| rule.kind == RuleKind::Allow).copied();
        let named = || self.roles.iter().filter(|role| names.contains(&role.role));
        let free = named().filter(|role| role.conditions.is_empty()).find_map(of_role);
        free.or_else(|| named().find_map(of_role))
    }
}

impl RoleRules<'_> {
    fn has(&self, kind: RuleKind) -> bool {
        self.rules.iter().any(|rule| rule.kind == kind)
    }
}

fn rules_of<'p>(role: &'p Role, target: &ItemTarget<'_>) -> RoleRules<'p> {
    let name = role.config.name.as_str();
    let matched = |kind: RuleKind, rule: &'p Rule<ItemPattern>| {
        let is_meant = target.is_meant_by(&rule.value, kind);
        is_meant.then_some(MatchedRule { role: name, kind, text: &rule.text, line: rule.line })
    };
    let deny = role.config.deny.iter().filter_map(|rule| matched(RuleKind::Deny, rule));
    let allow = role.config.allow.iter().filter_map(|rule| matched(RuleKind::Allow, rule));
    let when = role.config.when.iter().filter_map(|item| matched(RuleKind::When, &item.item));
    let rules = deny.chain(allow).chain(when).collect();
    RoleRules { role: name, rules, conditions: role.conditions(target).collect() }
}
