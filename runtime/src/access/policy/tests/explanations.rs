//! Property tests: explanations agree with the decisions of random policies.

use super::*;

/// How many decisions of each kind were explained: hidden by a rule, hidden without one, scopes, arguments, allowed.
type Seen = [usize; 5];

fn check(case: &PolicyCase, policy: &Policy, random: &mut Random, seen: &mut Seen) {
    let (subject, roles) = (case.subject(), policy.roles_of(&case.subject()));
    for item in &case.items {
        let explanation = policy.explain(roles, item);
        let arguments = serde_json::json!({ "path": random.path(), "to": [random.path()] }).to_string();
        let arguments = random.half().then(|| Arguments::new(&arguments));
        let decision = policy.decide(roles, &subject, item, arguments);
        let deciding = policy.deciding_rule(&explanation, &decision);
        let said = || format!("{decision:?} {explanation:#?} {item:?} {:#?}", case.config);
        let has = |kind: RuleKind| explanation.rules().any(|rule| rule.kind == kind);
        let is_hidden = has(RuleKind::Deny) || !has(RuleKind::Allow);
        assert_eq!(decision == Decision::Hidden, is_hidden, "{}", said());
        let conditional = !is_hidden && !explanation.conditions().is_empty();
        assert_eq!(conditional, policy.has_conditions(roles, item), "{}", said());
        let (at, is_right) = match (&decision, deciding) {
            (Decision::Hidden, Some(rule)) => (0, rule.kind == RuleKind::Deny),
            (Decision::Hidden, None) => (1, !has(RuleKind::Deny)),
            (Decision::NeedsScopes(_), Some(rule)) => (2, rule.kind == RuleKind::Allow),
            (Decision::ArgumentForbidden(forbidden), Some(rule)) => {
                let conditions = explanation.conditions();
                let is_known = conditions.iter().any(|(role, condition)| {
                    (*role, condition.line, condition.pointer.as_str()) == (rule.role, rule.line, rule.text)
                });
                (3, is_known && rule.kind == RuleKind::When && rule.line == forbidden.line)
            }
            (Decision::Allow(by), Some(rule)) => {
                (4, rule.kind == RuleKind::Allow && policy.role_names(*by).any(|name| name == rule.role))
            }
            (_, None) => (0, false),
        };
        assert!(is_right, "{}", said());
        seen[at] += 1;
    }
}

#[test]
fn an_explanation_agrees_with_the_decision() {
    let mut seen = Seen::default();
    for_each_case(5, |case, policy, random| check(case, policy, random, &mut seen));
    assert!(seen.iter().all(|count| *count > 100), "a decision is hardly ever explained: {seen:?}");
}

#[test]
fn each_rule_that_means_an_item_is_named_with_its_line() {
    for_each_case(6, |case, policy, _| {
        let roles = policy.roles_of(&case.subject());
        for item in &case.items {
            let target = ItemTarget::new(item);
            let of = |role: &RoleConfig, kind: RuleKind, rules: &[Rule<ItemPattern>]| -> Vec<String> {
                let meant = rules.iter().filter(|rule| target.is_meant_by(&rule.value, kind));
                meant.map(|rule| format!("{} {kind:?} {} {}", role.name, rule.text, rule.line)).collect()
            };
            let mut expected = Vec::new();
            for role in case.held() {
                expected.extend(of(role, RuleKind::Allow, &role.allow));
                expected.extend(of(role, RuleKind::Deny, &role.deny));
                let when: Vec<_> = role.when.iter().map(|when| when.item.clone()).collect();
                expected.extend(of(role, RuleKind::When, &when));
            }
            let explanation = policy.explain(roles, item);
            let mut named: Vec<String> = explanation
                .rules()
                .map(|rule| format!("{} {:?} {} {}", rule.role, rule.kind, rule.text, rule.line))
                .collect();
            expected.sort();
            named.sort();
            assert_eq!(named, expected, "{item:?} {:#?}", case.config);
        }
    });
}

#[test]
fn the_roles_of_a_caller_are_told_with_the_entries_that_give_them() {
    for_each_case(7, |case, policy, _| {
        let subject = case.subject();
        let held = policy.held_roles(&subject);
        let names: Vec<&str> = held.iter().map(|held| held.role).collect();
        assert_eq!(names, policy.role_names(policy.roles_of(&subject)).collect::<Vec<_>>());
        assert!(held.iter().all(|held| subject.is(&held.who.value)), "{held:?}");
    });
}

#[test]
fn a_role_without_conditions_is_named_before_one_with_some() {
    let rule = |line: usize| Rule { value: ItemPattern::parse("t").unwrap(), text: "t".into(), line };
    let anyone = || vec![Rule { value: WhoPattern::Anyone, text: "anyone".into(), line: 1 }];
    let condition = crate::config::ArgumentCondition {
        pointer: crate::config::ArgumentPointer::parse("/path").unwrap(),
        values: Vec::new(),
        may_be_absent: true,
        line: 4,
    };
    let when = vec![crate::config::ItemConditions { item: rule(3), arguments: vec![condition] }];
    let some =
        RoleConfig { name: "a".into(), who: anyone(), allow: vec![rule(2)], when, ..RoleConfig::default() };
    let all = RoleConfig { name: "b".into(), who: anyone(), allow: vec![rule(5)], ..RoleConfig::default() };
    let item = Item {
        plugin: "p",
        kind: ItemKind::Tool,
        name: "t",
        template: None,
        hints: Hints::default(),
        scopes: &[],
    };
    let deciding = |roles: Vec<RoleConfig>| {
        let policy = Policy::new(&RolesConfig { roles });
        let held = policy.roles_of(&Subject::Stdio);
        let explanation = policy.explain(held, &item);
        let decision = policy.decide(held, &Subject::Stdio, &item, None);
        let line = policy.deciding_rule(&explanation, &decision).map(|rule| rule.line);
        (line, explanation.conditions().len())
    };
    assert_eq!(deciding(vec![some.clone(), all]), (Some(5), 0));
    assert_eq!(deciding(vec![some]), (Some(2), 1));
    assert_eq!(deciding(Vec::new()), (None, 0));
}
