//! Which rules decided, for `plugport access` and for the audit of what was rejected.
//!
//! It tries every pattern, where [`Policy::decide`] asks sets of them, and a test holds the two to the same result.

use std::fmt;

use super::arguments::{self, ArgumentFault, Arguments};
use super::item::{Effect, Item, Target};
use super::role::Role;
use super::subject::Subject;
use super::{Decision, Policy};

/// Why a decision is what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation<'p> {
    /// The decision.
    pub decision: Decision<'p>,
    /// The roles of the caller.
    pub roles: Vec<HeldRole<'p>>,
    /// The rules of these roles that mean the item. Every `deny` decides; of the others, each `allow` whose role has no
    /// `when` with a fault.
    pub rules: Vec<MatchedRule<'p>>,
    /// Whether there are roles at all.
    has_roles: bool,
}

/// A role, and why the caller has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldRole<'p> {
    /// Its name.
    pub role: &'p str,
    /// The first entry of `who` that names the caller.
    pub who: &'p str,
    /// The line of that entry.
    pub line: usize,
}

/// A rule that means the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedRule<'p> {
    /// The role.
    pub role: &'p str,
    /// `allow`, `deny` or `when`.
    pub key: &'static str,
    /// The pattern of the item; of `when`, the pointer to the argument.
    pub text: &'p str,
    /// The line of the rule.
    pub line: usize,
    /// Why a condition of `when` does not hold; `None` if it holds, without arguments, and of other rules.
    pub fault: Option<ArgumentFault>,
}

impl Policy {
    /// The roles of a caller, each with the entry that gives it.
    #[must_use]
    pub fn held_roles(&self, subject: &Subject<'_>) -> Vec<HeldRole<'_>> {
        let mut roles = Vec::new();
        for role in &self.roles {
            let who = role.config.who.iter().find(|rule| subject.is(&rule.value));
            roles.extend(who.map(|rule| HeldRole {
                role: &role.config.name,
                who: &rule.text,
                line: rule.line,
            }));
        }
        roles
    }

    /// Decides, and says which rules it was.
    #[must_use]
    pub fn explain<'p>(
        &'p self,
        subject: &Subject<'_>,
        item: &Item<'p>,
        arguments: Option<Arguments<'_>>,
    ) -> Explanation<'p> {
        let (roles, target) = (self.roles_of(subject), Target::new(item));
        let rules = self.held(roles).flat_map(|role| matched_rules(role, &target, arguments)).collect();
        Explanation {
            decision: self.decide(roles, subject, item, arguments),
            roles: self.held_roles(subject),
            rules,
            has_roles: self.has_roles(),
        }
    }
}

/// The rules of one role that mean the item: `deny`, `allow`, then `when`.
fn matched_rules<'p>(
    role: &'p Role,
    target: &Target<'_>,
    arguments: Option<Arguments<'_>>,
) -> Vec<MatchedRule<'p>> {
    let config = &role.config;
    let mut matched = Vec::new();
    for (key, effect, rules) in
        [("deny", Effect::Deny, &config.deny), ("allow", Effect::Allow, &config.allow)]
    {
        let meant = rules.iter().filter(|rule| target.is_meant_by(&rule.value, effect));
        matched.extend(meant.map(|rule| MatchedRule {
            role: &config.name,
            key,
            text: &rule.text,
            line: rule.line,
            fault: None,
        }));
    }
    let conditions: Vec<_> = role.conditions(target).collect();
    let faults = arguments.map(|arguments| arguments::check(&conditions, arguments)).unwrap_or_default();
    // Without arguments there are no faults, and each condition is shown all the same.
    let faults = faults.into_iter().chain(std::iter::repeat(None));
    matched.extend(conditions.into_iter().zip(faults).map(|(condition, fault)| MatchedRule {
        role: &config.name,
        key: "when",
        text: condition.pointer.as_str(),
        line: condition.line,
        fault,
    }));
    matched
}

/// One sentence for each role and rule, and the decision last.
impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for HeldRole { role, who, line } in &self.roles {
            writeln!(f, "line {line}: `{who}` gives the role `{role}`")?;
        }
        for MatchedRule { role, key, text, line, fault } in &self.rules {
            match (*key, fault) {
                ("allow", _) => writeln!(f, "line {line}: the role `{role}` allows it with `{text}`")?,
                ("deny", _) => writeln!(f, "line {line}: the role `{role}` denies it with `{text}`")?,
                (_, None) => writeln!(f, "line {line}: the role `{role}` has a condition on `{text}`")?,
                (_, Some(_)) => {
                    writeln!(f, "line {line}: the condition of the role `{role}` on `{text}` does not hold")?;
                }
            }
        }
        match &self.decision {
            Decision::Allow(_) => f.write_str("allowed"),
            Decision::NeedsScopes(scopes) => write!(f, "needs a token with the scopes {}", scopes.join(" ")),
            Decision::ArgumentDenied(denied) => write!(f, "denied: {denied}"),
            Decision::Hidden if !self.has_roles => f.write_str("hidden"),
            Decision::Hidden if self.roles.is_empty() => f.write_str("hidden: the caller has no role"),
            Decision::Hidden if self.rules.iter().any(|rule| rule.key == "deny") => {
                f.write_str("hidden: a rule denies it")
            }
            Decision::Hidden => f.write_str("hidden: no rule allows it"),
        }
    }
}
