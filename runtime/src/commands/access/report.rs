//! What is found of a caller: one document, which `--json` prints and the text is made of.

use serde::Serialize;

use super::AccessExplainer;
use super::connect_decision::{ConnectDecision, who_may_connect};
use crate::access::policy::{Arguments, Decision, Item, MatchedRule, Subject};
use crate::config::Config;

/// What a caller sees and may use.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessReport<'e> {
    /// Whether the caller may use the item that was asked for; `true` if none was.
    pub(super) allowed: bool,
    pub(super) caller: CallerReport,
    pub(super) connection: &'e ConnectDecision,
    /// Everybody who may connect, in words.
    pub(super) who_may_connect: String,
    /// Whether the configuration has roles.
    pub(super) has_roles: bool,
    /// The roles of the caller.
    pub(super) roles: Vec<RoleReport>,
    /// Whether the items are one that was asked for.
    #[serde(skip)]
    pub(super) is_one_item: bool,
    pub(super) items: Vec<ItemReport>,
    /// Plugins whose items are not known here.
    pub(super) unlisted: Vec<UnlistedReport>,
    pub(super) warnings: Vec<String>,
}

/// The caller.
#[derive(Debug, Serialize)]
pub(super) struct CallerReport {
    /// `stdio`, the id of the principal, or `null`.
    pub(super) principal: Option<String>,
    /// The subject alone, which is known without the issuer.
    pub(super) subject: Option<String>,
    pub(super) client: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) scopes: Vec<String>,
    pub(super) address: Option<String>,
}

/// A role, and the entry of `who` that gives it to the caller.
#[derive(Debug, Serialize)]
pub(super) struct RoleReport {
    pub(super) role: String,
    pub(super) who: String,
    pub(super) line: usize,
}

/// What the caller may do with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Verdict {
    /// Use it.
    Allowed,
    /// Use it with some arguments.
    Conditional,
    /// Use it with a token that has more scopes.
    NeedsScopes,
    /// Not use it with these arguments.
    ArgumentsForbidden,
    /// Nothing: for the caller it does not exist.
    Hidden,
}

/// One item.
#[derive(Debug, Serialize)]
pub(super) struct ItemReport {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) plugin: String,
    /// The template through which a URI is read that no plugin lists.
    pub(super) template: Option<String>,
    pub(super) decision: Verdict,
    /// The scopes that using it needs.
    pub(super) scopes: Vec<String>,
    /// What roles demand of its arguments.
    pub(super) conditions: Vec<RuleReport>,
    /// The rule that decided.
    pub(super) rule: Option<RuleReport>,
    /// Why, where no rule decided.
    pub(super) reason: Option<String>,
    /// Every rule of the caller's roles that means the item.
    pub(super) rules: Vec<RuleReport>,
}

/// A rule of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct RuleReport {
    pub(super) role: String,
    /// `allow`, `deny` or `when`.
    pub(super) list: &'static str,
    /// The pattern, or the pointer to an argument.
    pub(super) text: String,
    pub(super) line: usize,
}

/// A plugin whose items are not known.
#[derive(Debug, Serialize)]
pub(super) struct UnlistedReport {
    pub(super) plugin: String,
    pub(super) reason: String,
}

impl<'e> AccessReport<'e> {
    /// The report on one item, or on all.
    pub(super) fn new(explainer: &'e AccessExplainer, config: &Config, asked: Option<ItemReport>) -> Self {
        let is_one_item = asked.is_some();
        let items = asked.map_or_else(|| explainer.all(), |item| vec![item]);
        let may_use = |item: &ItemReport| matches!(item.decision, Verdict::Allowed | Verdict::Conditional);
        let held = explainer.policy.held_roles(&explainer.caller.subject());
        let roles = held.iter().map(|held| RoleReport {
            role: held.role.to_owned(),
            who: held.who.text.to_string(),
            line: held.who.line,
        });
        let unlisted = explainer.folder.unlisted_plugins().into_iter();
        Self {
            allowed: !is_one_item || items.iter().all(may_use),
            caller: CallerReport::of(explainer.caller.subject()),
            connection: &explainer.connection,
            who_may_connect: who_may_connect(config),
            has_roles: explainer.policy.has_roles(),
            roles: roles.collect(),
            is_one_item,
            items,
            unlisted: unlisted.map(|(plugin, reason)| UnlistedReport { plugin, reason }).collect(),
            warnings: explainer.caller.warnings().to_vec(),
        }
    }
}

impl CallerReport {
    fn of(subject: Subject<'_>) -> Self {
        let names =
            |names: &[Box<str>]| -> Vec<String> { names.iter().map(|name| name.to_string()).collect() };
        let (principal, address) = match subject {
            Subject::Stdio => (None, None),
            Subject::Http { principal, address } => (principal, address),
        };
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let id = principal.and_then(|principal| known(&principal.id));
        Self {
            principal: if matches!(subject, Subject::Stdio) { Some("stdio".to_owned()) } else { id },
            subject: principal.and_then(|principal| known(&principal.subject)),
            client: principal.and_then(|principal| principal.client.as_deref()).map(str::to_owned),
            groups: principal.map(|principal| names(&principal.groups)).unwrap_or_default(),
            scopes: principal.map(|principal| names(&principal.scopes)).unwrap_or_default(),
            address: address.map(|address| address.to_string()),
        }
    }
}

impl ItemReport {
    /// What the caller may do with an item. `is_visible`: `false` if nothing leads the caller to it.
    pub(super) fn of(
        explainer: &AccessExplainer,
        item: &Item<'_>,
        arguments: Option<&str>,
        is_visible: bool,
    ) -> Self {
        let AccessExplainer { policy, roles, caller, connection, .. } = explainer;
        let may_see = connection.allowed && is_visible;
        let decision = match may_see {
            true => policy.decide(*roles, &caller.subject(), item, arguments.map(Arguments::new)),
            false => Decision::Hidden,
        };
        let explanation = policy.explain(*roles, item);
        let rule = policy.deciding_rule(&explanation, &decision).filter(|_| connection.allowed);
        let demanded = if decision == Decision::Hidden { Vec::new() } else { explanation.conditions() };
        let conditions: Vec<RuleReport> = demanded
            .into_iter()
            .map(|(role, condition)| RuleReport {
                role: role.to_owned(),
                list: "when",
                text: condition.pointer.as_str().to_owned(),
                line: condition.line,
            })
            .collect();
        let reason = match &decision {
            Decision::ArgumentForbidden(forbidden) => Some(forbidden.to_string()),
            Decision::Hidden if !connection.allowed => {
                Some(format!("may not connect: {}", connection.reason))
            }
            Decision::Hidden if rule.is_some() => None,
            Decision::Hidden if roles.is_empty() => Some("the caller has no role".to_owned()),
            Decision::Hidden if !is_visible && explanation.rules().next().is_some() => {
                Some("no template that the caller sees leads to it".to_owned())
            }
            Decision::Hidden => Some("no role allows it".to_owned()),
            Decision::Allow(_) | Decision::NeedsScopes(_) => None,
        };
        let is_open = conditions.is_empty() || arguments.is_some();
        Self {
            kind: item.kind.as_str(),
            name: item.name.to_owned(),
            plugin: item.plugin.to_owned(),
            template: item.template.map(str::to_owned),
            decision: match decision {
                Decision::Allow(_) if is_open => Verdict::Allowed,
                Decision::Allow(_) => Verdict::Conditional,
                Decision::NeedsScopes(_) => Verdict::NeedsScopes,
                Decision::ArgumentForbidden(_) => Verdict::ArgumentsForbidden,
                Decision::Hidden => Verdict::Hidden,
            },
            scopes: item.scopes.iter().map(|scope| scope.to_string()).collect(),
            conditions,
            rule: rule.as_ref().map(RuleReport::of),
            reason,
            rules: explanation.rules().map(RuleReport::of).collect(),
        }
    }
}

impl RuleReport {
    fn of(rule: &MatchedRule<'_>) -> Self {
        let MatchedRule { role, kind, text, line } = *rule;
        Self { role: role.to_owned(), list: kind.as_str(), text: text.to_owned(), line }
    }
}
