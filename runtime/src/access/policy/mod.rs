//! The policy: which items a caller sees and may use.
//!
//! Every decision is made by [`Policy::decide`]: for lists, calls, reads, `prompts/get`, completions and subscriptions.
//! So an item that is not in a caller's lists cannot be used, and an item that can be used is in the lists. The policy
//! knows no MCP, reads nothing and changes nothing: the same caller, item and arguments always get the same decision.
//!
//! A caller may use what any of its roles allows, except what one of them denies. The order of roles does not matter.
//!
//! | The caller's roles | In lists | [`Decision`] |
//! |---|---|---|
//! | there is no `[roles]`, and the token has the item's scopes | shown | `Allow` |
//! | there is no `[roles]`, and the token lacks scopes | shown | `NeedsScopes` |
//! | none of the caller's roles allows the item, or the caller has none | not shown | `Hidden` |
//! | one of them denies the item, whatever others allow | not shown | `Hidden` |
//! | one allows it, and the token lacks scopes | shown: the client can ask for them | `NeedsScopes` |
//! | one allows it without `when` for it | shown | `Allow` |
//! | those that allow it have `when`, and all conditions of one role hold | shown | `Allow` |
//! | those that allow it have `when`, and no role has all its conditions met | shown | `ArgumentForbidden` |
//!
//! The first row that applies decides. So the response about a hidden item, which is the same as for an unknown one,
//! does not reveal its scopes, and arguments are checked last. A client on stdio needs no scopes, because it cannot
//! obtain any.

mod arguments;
mod described_caller;
mod explain;
#[doc(hidden)]
pub mod fuzzing;
mod item;
mod pattern_set;
mod role;
mod role_names;
mod role_set;
mod subject;
#[cfg(test)]
pub(crate) mod tests;
mod unmatched_rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

pub use arguments::{ArgumentFault, Arguments};
pub use described_caller::{DescribedCaller, DescribedCallerError};
pub use explain::{Explanation, HeldRole, MatchedRule, RoleRules};
pub use item::{Hints, Item, RuleKind};
pub use role_set::RoleSet;
pub use subject::Subject;
pub use unmatched_rules::{FolderItems, UnlistedPlugin, unmatched_rules};

use crate::access::quota::RoleQuota;
use crate::config::{ArgumentCondition, RequiredScopes, RolesConfig, WhoPattern};
use item::ItemTarget;
use role::Role;
use role_names::RoleNames;
use role_set::RoleBit;

/// The rules of `[roles]`, prepared for decisions. A changed configuration creates a new policy.
#[derive(Debug)]
pub struct Policy {
    /// Sorted by name, so that decisions do not depend on the order in the file.
    roles: Box<[Role]>,
    /// A hash of the rules: equal for equal rules, and valid in this process only. Each `RoleSet` has the id of its
    /// policy.
    id: u64,
    has_networks: bool,
    /// The scopes that the items of each plugin need, by the plugin's name.
    scopes: BTreeMap<String, RequiredScopes>,
    /// The scopes of `scopes` as one set.
    needed_scopes: BTreeSet<Box<str>>,
    names: RoleNames,
}

/// What a caller may do with an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision<'d> {
    /// The caller may use the item. The set has the roles that allow it; it is empty without `[roles]`.
    Allow(RoleSet),
    /// The item does not exist for this caller.
    Hidden,
    /// The caller may use the item with a token that has all these scopes.
    NeedsScopes(&'d [Box<str>]),
    /// The caller may use the item with other arguments.
    ArgumentForbidden(ForbiddenArgument<'d>),
}

/// The first condition that does not hold. Its `Display` text is for the client: it names the argument, and not the
/// rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForbiddenArgument<'d> {
    /// The pointer to the argument.
    pub argument: &'d str,
    /// What is wrong with it.
    pub fault: ArgumentFault,
    /// The role with the condition, for the audit.
    pub role: &'d str,
    /// The line of the condition, for the audit.
    pub line: usize,
}

impl Policy {
    /// Makes a policy of these roles.
    #[must_use]
    pub fn new(config: &RolesConfig) -> Self {
        let mut sorted: Vec<_> = config.roles.iter().collect();
        sorted.sort_by(|one, other| one.name.cmp(&other.name));
        let mut hasher = DefaultHasher::new();
        sorted.hash(&mut hasher);
        let roles: Box<[Role]> = RoleBit::all().zip(sorted).map(|(bit, role)| Role::new(bit, role)).collect();
        let mut who = roles.iter().flat_map(|role| &role.config.who);
        let has_networks = who.any(|rule| matches!(rule.value, WhoPattern::Address(_)));
        Self {
            roles,
            id: hasher.finish(),
            has_networks,
            scopes: BTreeMap::new(),
            needed_scopes: BTreeSet::new(),
            names: RoleNames::default(),
        }
    }

    /// The same policy, with the scopes that plugins need, by plugin name.
    #[must_use]
    pub fn with_scopes(self, scopes: BTreeMap<String, RequiredScopes>) -> Self {
        let needed_scopes = scopes.values().flat_map(RequiredScopes::all).cloned().collect();
        Self { scopes, needed_scopes, ..self }
    }

    /// Whether all callers are treated alike.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.scopes.is_empty()
    }

    /// The scopes that an item needs. `tool` is the plugin's own name of a tool, and `None` for other items.
    #[must_use]
    pub fn scopes_of(&self, plugin: &str, tool: Option<&str>) -> &[Box<str>] {
        let Some(scopes) = self.scopes.get(plugin) else { return &[] };
        tool.map_or_else(|| scopes.of_other_items(), |tool| scopes.of_tool(tool))
    }

    /// Whether there are roles, so that two callers may see different items.
    #[must_use]
    pub fn has_roles(&self) -> bool {
        !self.roles.is_empty()
    }

    /// Whether the roles of a principal depend on its address. If not, they can be computed once for each token.
    #[must_use]
    pub fn depends_on_address(&self) -> bool {
        self.has_networks
    }

    /// Returns the roles of a caller. They depend on its token, with scopes and groups, and not only on the principal's
    /// id: two tokens of one person may have different roles.
    #[must_use]
    pub fn roles_of(&self, subject: &Subject<'_>) -> RoleSet {
        let is_held = |role: &&Role| role.config.who.iter().any(|rule| subject.is(&rule.value));
        self.roles.iter().filter(is_held).fold(RoleSet::empty(self.id), |set, role| set.with(role.bit))
    }

    /// Whether a caller sees and may use whatever another one does: it has all roles of the other and all of its scopes
    /// that a plugin needs, and its further roles deny nothing. That is decided without items, so it may be false
    /// although no item differs.
    #[must_use]
    pub fn covers(&self, caller: &Subject<'_>, other: &Subject<'_>) -> bool {
        let (roles, roles_of_other) = (self.roles_of(caller), self.roles_of(other));
        let mut further = self.held(roles.without(roles_of_other));
        roles_of_other.without(roles).is_empty()
            && further.all(|role| role.config.deny.is_empty())
            && caller.has_scopes_of(other, &self.needed_scopes)
    }

    /// Whether a policy with these rules computed the roles. This policy allows nothing to other role sets.
    #[must_use]
    pub fn knows(&self, roles: RoleSet) -> bool {
        roles.is_of(self.id)
    }

    /// Whether a caller with these roles sees the item: true exactly if [`Policy::decide`] does not return `Hidden`.
    #[must_use]
    pub fn is_visible(&self, roles: RoleSet, item: &Item<'_>) -> bool {
        self.allowing(roles, &ItemTarget::new(item)).is_some()
    }

    /// Decides what a caller may do with an item. Without arguments, conditions on arguments count as met.
    #[must_use]
    pub fn decide<'d>(
        &'d self,
        roles: RoleSet,
        subject: &Subject<'_>,
        item: &Item<'d>,
        arguments: Option<Arguments<'_>>,
    ) -> Decision<'d> {
        let target = ItemTarget::new(item);
        let Some(allowing) = self.allowing(roles, &target) else { return Decision::Hidden };
        if !subject.has_scopes(item.scopes) {
            return Decision::NeedsScopes(item.scopes);
        }
        match arguments {
            Some(arguments) if self.has_roles() => self.decide_arguments(allowing, &target, arguments),
            _ => Decision::Allow(allowing),
        }
    }

    /// Whether the decision depends on the arguments. If so, [`Policy::decide`] parses them, which takes time in
    /// proportion to their length. If roles have quotas, the arguments also decide which roles allow the call.
    #[must_use]
    pub fn has_conditions(&self, roles: RoleSet, item: &Item<'_>) -> bool {
        let target = ItemTarget::new(item);
        let Some(allowing) = self.allowing(roles, &target).filter(|roles| !roles.is_empty()) else {
            return false;
        };
        let has_conditions = |role: &Role| role.conditions(&target).next().is_some();
        match self.is_any_limited(allowing) {
            true => self.held(allowing).any(has_conditions),
            false => self.held(allowing).all(has_conditions),
        }
    }

    /// Returns the quotas of the roles that allow a call; the call counts against one of them. Empty if one of the
    /// roles has no quota: then the call is not counted.
    #[must_use]
    pub fn quotas_of(&self, allowing: RoleSet) -> Vec<RoleQuota> {
        let quotas: Option<Vec<RoleQuota>> = self.held(allowing).map(|role| role.quota.clone()).collect();
        quotas.unwrap_or_default()
    }

    /// Whether one of these roles has a quota, so that it matters which of them allow a call.
    fn is_any_limited(&self, roles: RoleSet) -> bool {
        self.held(roles).any(|role| role.quota.is_some())
    }

    /// The names of these roles as one text, for the audit.
    #[must_use]
    pub fn joined_names(&self, roles: RoleSet) -> Arc<str> {
        self.names.of(roles, || self.role_names(roles).collect::<Vec<_>>().join(", "))
    }

    /// The names of these roles, in order.
    pub fn role_names(&self, roles: RoleSet) -> impl Iterator<Item = &str> {
        self.held(roles).map(|role| role.config.name.as_str())
    }

    /// The roles of a set; none if another policy made the set.
    fn held(&self, roles: RoleSet) -> impl Iterator<Item = &Role> {
        self.roles.iter().filter(move |role| self.knows(roles) && roles.contains(role.bit))
    }

    /// Returns the roles that allow the item; `None` if the item is hidden.
    fn allowing(&self, roles: RoleSet, target: &ItemTarget<'_>) -> Option<RoleSet> {
        let none = RoleSet::empty(self.id);
        if !self.has_roles() {
            return Some(none);
        }
        if self.held(roles).any(|role| role.deny.matches(target, RuleKind::Deny)) {
            return None;
        }
        let allowing = self.held(roles).filter(|role| role.allow.matches(target, RuleKind::Allow));
        Some(allowing.fold(none, |set, role| set.with(role.bit))).filter(|set| !set.is_empty())
    }

    fn decide_arguments(
        &self,
        allowing: RoleSet,
        target: &ItemTarget<'_>,
        arguments: Arguments<'_>,
    ) -> Decision<'_> {
        let mut unconditional = RoleSet::empty(self.id);
        let mut conditions: Vec<(&Role, &ArgumentCondition)> = Vec::new();
        for role in self.held(allowing) {
            let others = conditions.len();
            conditions.extend(role.conditions(target).map(|condition| (role, condition)));
            if conditions.len() == others {
                unconditional = unconditional.with(role.bit);
            }
        }
        // If roles have quotas, it matters which of them allow the call, and not only whether one does.
        if !unconditional.is_empty() && !self.is_any_limited(allowing) {
            return Decision::Allow(unconditional);
        }
        let read: Vec<&ArgumentCondition> = conditions.iter().map(|(_, condition)| *condition).collect();
        let mut failing = RoleSet::empty(self.id);
        let mut first = None;
        for ((role, condition), fault) in conditions.into_iter().zip(arguments::check(&read, arguments)) {
            let Some(fault) = fault else { continue };
            failing = failing.with(role.bit);
            let (argument, name) = (condition.pointer.as_str(), role.config.name.as_str());
            first.get_or_insert(ForbiddenArgument { argument, fault, role: name, line: condition.line });
        }
        let meeting = allowing.without(failing);
        match first {
            Some(forbidden) if meeting.is_empty() => Decision::ArgumentForbidden(forbidden),
            _ => Decision::Allow(meeting),
        }
    }
}

impl fmt::Display for ForbiddenArgument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let argument = self.argument;
        match self.fault {
            ArgumentFault::Value => write!(f, "you may not use this value of the argument `{argument}`"),
            ArgumentFault::Missing => write!(f, "you may not leave out the argument `{argument}`"),
            ArgumentFault::Ambiguous => write!(
                f,
                "the argument `{argument}` is not clear: it stands there twice, or in other upper and lower case; send \
                 it once, under exactly this name"
            ),
            ArgumentFault::Unreadable => {
                write!(f, "the arguments are no JSON object, and `{argument}` is needed here")
            }
        }
    }
}
