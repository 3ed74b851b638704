//! Property tests with random policies, and tests of single decisions. What callers see in lists is tested with the
//! same policies in `mcp/methods/item_access/tests.rs`.

mod conditions;
mod explanations;
mod random;
mod reference;

use super::*;
use crate::access::principal::{Principal, PrincipalKind};
use crate::config::{Config, ItemKind, ItemPattern, RoleConfig, Rule};
use random::{NAMES, PLUGINS, Random, TEMPLATES, URIS};
pub(crate) use reference::is_visible;

/// The number of policies in each property test.
const POLICIES: usize = 10_000;

fn principal(random: &mut Random) -> Principal {
    let mut some = |names: [&str; 2]| -> Vec<Box<str>> {
        names.into_iter().filter(|_| random.half()).map(Into::into).collect()
    };
    let (groups, scopes) = (some(["g1", "g2"]), some(["s1", "s2"]));
    let kind = if random.half() { PrincipalKind::Token } else { PrincipalKind::OAuth };
    Principal {
        id: "token:t".into(),
        kind,
        issuer: None,
        subject: "t".into(),
        client: None,
        scopes,
        groups,
        is_dpop_bound: false,
        expires: None,
    }
}

fn items(random: &mut Random, scopes: &'static [Box<str>]) -> Vec<Item<'static>> {
    let mut hint = || [None, Some(false), Some(true)][random.below(3)];
    let hints: Vec<Hints> = (0..8)
        .map(|_| Hints { read_only: hint(), destructive: hint(), idempotent: hint(), open_world: hint() })
        .collect();
    let item = |hints: Hints| {
        let (kind, plugin) = (random.kind(), random.one_of(&PLUGINS));
        let name = match kind {
            ItemKind::Tool | ItemKind::Prompt => random.one_of(&NAMES),
            ItemKind::Resource => random.one_of(&URIS),
            ItemKind::Template => random.one_of(&TEMPLATES),
        };
        let has_template = kind == ItemKind::Resource && random.half();
        let template = has_template.then(|| random.one_of(&TEMPLATES));
        let scopes = if random.half() { scopes } else { &[] };
        Item { plugin, kind, name, template, hints, scopes }
    };
    hints.into_iter().map(item).collect()
}

/// A policy, a caller and items.
pub(crate) struct PolicyCase {
    pub(crate) config: RolesConfig,
    pub(crate) principal: Option<Principal>,
    pub(crate) address: Option<std::net::IpAddr>,
    items: Vec<Item<'static>>,
}

impl PolicyCase {
    fn new(random: &mut Random, scopes: &'static [Box<str>]) -> Self {
        let roles = (0..1 + random.below(5)).map(|at| random.role(&format!("r{at}"))).collect();
        Self {
            config: RolesConfig { roles },
            principal: random.half().then(|| principal(random)),
            address: random.half().then(|| "10.0.0.7".parse().unwrap()),
            items: items(random, scopes),
        }
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Http { principal: self.principal.as_ref(), address: self.address }
    }

    /// The roles of the caller, found by comparing the texts of `who`.
    pub(crate) fn held(&self) -> Vec<&RoleConfig> {
        let subject = self.subject();
        let is_held = |role: &&RoleConfig| role.who.iter().any(|rule| subject.is(&rule.value));
        self.config.roles.iter().filter(is_held).collect()
    }
}

pub(crate) fn for_each_case(seed: u64, mut check: impl FnMut(&PolicyCase, &Policy, &mut Random)) {
    let scopes: Vec<Box<str>> = vec!["s1".into(), "s2".into()];
    let scopes: &'static [Box<str>] = scopes.leak();
    let mut random = Random(seed);
    for _ in 0..POLICIES {
        let case = PolicyCase::new(&mut random, scopes);
        let policy = Policy::new(&case.config);
        check(&case, &policy, &mut random);
    }
}

#[test]
fn the_policy_says_what_the_rules_say_one_by_one() {
    let mut seen = [0_usize; 4];
    for_each_case(2, |case, policy, random| {
        let (roles, subject, held) = (policy.roles_of(&case.subject()), case.subject(), case.held());
        for item in &case.items {
            let path = random.half().then(|| random.path());
            let to = random.half().then(|| random.path());
            let arguments = serde_json::json!({ "path": path, "to": [to.clone().unwrap_or_default()] });
            let text = arguments.to_string();
            let decision = policy.decide(roles, &subject, item, Some(Arguments::new(&text)));
            let is_visible = reference::is_visible(&held, item);
            let has_scopes = subject.has_scopes(item.scopes);
            let may_call =
                held.iter().any(|role| reference::allows_call(role, item, path.as_deref(), to.as_deref()));
            let (at, is_right) = match &decision {
                Decision::Hidden => (0, !is_visible),
                Decision::NeedsScopes(scopes) => (1, is_visible && !has_scopes && *scopes == item.scopes),
                Decision::ArgumentForbidden(_) => (2, is_visible && has_scopes && !may_call),
                Decision::Allow(by) => (3, is_visible && has_scopes && may_call && !by.is_empty()),
            };
            assert!(is_right, "{decision:?} {item:?} {text} {:#?}", case.config);
            seen[at] += 1;
        }
    });
    assert!(seen.iter().all(|count| *count > 500), "a decision is hardly ever made: {seen:?}");
}

#[test]
fn a_deny_wins_whatever_else_is_allowed() {
    for_each_case(3, |case, policy, random| {
        let roles = policy.roles_of(&case.subject());
        let rule = random.pattern();
        let mut stricter = case.config.clone();
        let who = Rule { value: WhoPattern::Anyone, text: "anyone".into(), line: 1 };
        let deny = RoleConfig { name: "z".into(), who: vec![who], deny: vec![rule], ..RoleConfig::default() };
        stricter.roles.push(deny);
        let stricter = Policy::new(&stricter);
        let stricter_roles = stricter.roles_of(&case.subject());
        for item in &case.items {
            let denied =
                stricter.roles[stricter.roles.len() - 1].deny.matches(&ItemTarget::new(item), RuleKind::Deny);
            let (before, after) = (policy.is_visible(roles, item), stricter.is_visible(stricter_roles, item));
            assert_eq!(after, before && !denied, "{item:?} {:#?}", case.config);
        }
    });
}

/// The scopes that a plugin with this section in `plugport.toml` needs.
fn required_scopes(section: &str) -> RequiredScopes {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plugport.toml");
    std::fs::write(&file, format!("[plugins.p]\n{section}")).unwrap();
    Config::read(&file, dir.path().to_owned()).unwrap().plugin("p").scopes
}

#[test]
fn who_covers_another_may_use_all_that_the_other_may() {
    let scopes = [required_scopes("scopes = [\"s1\"]\n"), required_scopes("scopes = [\"s2\"]\n")];
    let (mut covering, mut others) = (0, 0);
    for_each_case(5, |case, _, random| {
        let needed = PLUGINS.iter().filter_map(|plugin| {
            let scopes = if random.half() { None } else { Some(scopes[random.below(2)].clone()) };
            scopes.map(|scopes| ((*plugin).to_owned(), scopes))
        });
        let policy = Policy::new(&case.config).with_scopes(needed.collect());
        let other = principal(random);
        let address = if random.half() { case.address } else { Some("10.0.0.7".parse().unwrap()) };
        let (subject, other) = (case.subject(), Subject::Http { principal: Some(&other), address });
        if !policy.covers(&subject, &other) {
            others += 1;
            return;
        }
        covering += 1;
        for item in &case.items {
            let item = Item { scopes: policy.scopes_of(item.plugin, None), ..*item };
            let text = serde_json::json!({ "path": random.path(), "to": [random.path()] }).to_string();
            let may_use = |subject: &Subject<'_>| {
                let arguments = Some(Arguments::new(&text));
                let decision = policy.decide(policy.roles_of(subject), subject, &item, arguments);
                matches!(decision, Decision::Allow(_))
            };
            assert!(may_use(&subject) || !may_use(&other), "{item:?} {text} {:#?}", case.config);
        }
    });
    assert!(covering > 500 && others > 500, "{covering} cover the other, and {others} do not");
}

#[test]
fn the_order_of_roles_and_of_their_rules_does_not_matter() {
    for_each_case(4, |case, policy, _| {
        let mut reversed = case.config.clone();
        reversed.roles.reverse();
        for role in &mut reversed.roles {
            role.allow.reverse();
            role.deny.reverse();
            role.when.reverse();
        }
        let other = Policy::new(&reversed);
        let (roles, other_roles) = (policy.roles_of(&case.subject()), other.roles_of(&case.subject()));
        for item in &case.items {
            let arguments = Some(Arguments::new("{\"path\":\"/data/x\",\"to\":[\"a\"]}"));
            let names = |policy: &Policy, decision: &Decision<'_>| match decision {
                Decision::Allow(roles) => policy.role_names(*roles).collect::<Vec<_>>().join(" "),
                Decision::ArgumentForbidden(_) => "arguments".to_owned(),
                other => format!("{other:?}"),
            };
            let decision = policy.decide(roles, &case.subject(), item, arguments);
            let other_decision = other.decide(other_roles, &case.subject(), item, arguments);
            assert_eq!(
                names(policy, &decision),
                names(&other, &other_decision),
                "{item:?} {:#?}",
                case.config
            );
        }
    });
}
