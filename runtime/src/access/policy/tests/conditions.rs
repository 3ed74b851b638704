//! Decisions one by one, and values of arguments.

use super::*;
use crate::config::{
    AllowedValue, ArgumentCondition, ArgumentPointer, ItemConditions, PathGlob, PathValue, QuotaConfig,
    QuotaKind,
};

fn rules<T>(texts: &[&str], parse: impl Fn(&str) -> T) -> Vec<Rule<T>> {
    texts
        .iter()
        .zip(1..)
        .map(|(text, line)| Rule { value: parse(text), text: (*text).into(), line })
        .collect()
}

fn role(name: &str, who: &[&str], allow: &[&str], deny: &[&str]) -> RoleConfig {
    RoleConfig {
        name: name.to_owned(),
        who: rules(who, |text| WhoPattern::parse(text).unwrap()),
        allow: rules(allow, |text| ItemPattern::parse(text).unwrap()),
        deny: rules(deny, |text| ItemPattern::parse(text).unwrap()),
        ..RoleConfig::default()
    }
}

fn condition(pointer: &str, values: &[&str]) -> ArgumentCondition {
    let globs = values.iter().filter(|text| !text.is_empty());
    ArgumentCondition {
        pointer: ArgumentPointer::parse(pointer).unwrap(),
        values: globs.map(|text| AllowedValue::Text(PathGlob::parse(text).unwrap())).collect(),
        may_be_absent: values.contains(&""),
        line: 7,
    }
}

fn tool(name: &str) -> Item<'_> {
    Item { plugin: "files", kind: ItemKind::Tool, name, template: None, hints: Hints::default(), scopes: &[] }
}

fn fault(condition: &ArgumentCondition, arguments: &str) -> Option<ArgumentFault> {
    arguments::check(&[condition], Arguments::new(arguments))[0]
}

#[test]
fn without_roles_everything_is_visible_and_scopes_still_count() {
    let policy = Policy::new(&RolesConfig::default());
    let scopes: [Box<str>; 1] = ["w".into()];
    let item = Item { scopes: &scopes, ..tool("files-read") };
    let anonymous = Subject::Http { principal: None, address: None };
    let roles = policy.roles_of(&anonymous);
    assert!(policy.is_visible(roles, &item) && !policy.has_roles() && !policy.has_conditions(roles, &item));
    assert_eq!(policy.decide(roles, &anonymous, &item, None), Decision::NeedsScopes(&scopes));
    assert_eq!(policy.decide(roles, &Subject::Stdio, &item, None), Decision::Allow(roles));
}

#[test]
fn a_hidden_item_does_not_tell_its_scopes() {
    let policy = Policy::new(&RolesConfig { roles: vec![role("a", &["anyone"], &["clock"], &[])] });
    let scopes: [Box<str>; 1] = ["w".into()];
    let item = Item { scopes: &scopes, ..tool("files-read") };
    let subject = Subject::Http { principal: None, address: None };
    assert_eq!(policy.decide(policy.roles_of(&subject), &subject, &item, None), Decision::Hidden);
}

#[test]
fn roles_of_another_policy_allow_nothing() {
    let old = RolesConfig { roles: vec![role("a", &["anyone"], &["*"], &[])] };
    let mut new = old.clone();
    new.roles.push(role("b", &["stdio"], &["*"], &[]));
    let (old, same, new) = (Policy::new(&old), Policy::new(&old), Policy::new(&new));
    let roles = old.roles_of(&Subject::Stdio);
    assert!(old.is_visible(roles, &tool("t")) && same.knows(roles) && same.is_visible(roles, &tool("t")));
    assert!(!new.knows(roles) && !new.is_visible(roles, &tool("t")));
    assert_eq!(new.role_names(new.roles_of(&Subject::Stdio)).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_token_with_fewer_roles_or_scopes_covers_no_other() {
    let roles = vec![
        role("reader", &["group:readers"], &["files"], &[]),
        role("writer", &["group:writers"], &["*"], &[]),
        role("careful", &["group:careful"], &["*"], &["*-delete"]),
        role("office", &["address:10.0.0.0/8"], &["clock"], &[]),
    ];
    let policy = Policy::new(&RolesConfig { roles });
    let boxed = |names: &[&str]| -> Vec<Box<str>> { names.iter().map(|name| (*name).into()).collect() };
    let token = |groups: &[&str], scopes: &[&str]| Principal {
        id: "token:t".into(),
        kind: PrincipalKind::Token,
        issuer: None,
        subject: "t".into(),
        client: None,
        scopes: boxed(scopes),
        groups: boxed(groups),
        is_dpop_bound: false,
        expires: None,
    };
    let of = |principal| Subject::Http { principal: Some(principal), address: None };
    let (none, reader) = (token(&[], &[]), token(&["readers"], &["s"]));
    let (both, careful) = (token(&["readers", "writers"], &[]), token(&["readers", "careful"], &["s"]));
    let anonymous = Subject::Http { principal: None, address: None };
    let at_office = Subject::Http { principal: None, address: Some("10.0.0.7".parse().unwrap()) };
    for (caller, other, covers) in [
        (of(&reader), of(&reader), true),
        (of(&both), of(&reader), true),
        (of(&reader), of(&both), false),
        (of(&none), of(&reader), false),
        (of(&reader), of(&none), true),
        (of(&careful), of(&reader), false),
        (of(&careful), of(&careful), true),
        (of(&none), anonymous, true),
        (anonymous, of(&none), true),
        (anonymous, of(&reader), false),
        (at_office, anonymous, true),
        (anonymous, at_office, false),
        (at_office, at_office, true),
        (Subject::Stdio, Subject::Stdio, true),
        (Subject::Stdio, of(&reader), false),
    ] {
        assert_eq!(policy.covers(&caller, &other), covers, "{caller:?} and {other:?}");
    }
    let plugin = |section: &str| {
        let scopes = [("files".to_owned(), required_scopes(section))].into();
        Policy::new(&RolesConfig { roles: Vec::new() }).with_scopes(scopes)
    };
    for (section, covers) in [
        ("scopes = [\"s\"]\n", false),
        ("[plugins.p.tools.t]\nscopes = [\"s\"]\n", false),
        ("scopes = [\"t\"]\n", true),
    ] {
        let policy = plugin(section);
        assert_eq!(policy.covers(&of(&both), &of(&reader)), covers, "`both` has no scope: {section}");
        assert!(policy.covers(&of(&reader), &of(&none)) && policy.covers(&of(&reader), &of(&reader)));
        assert!(!policy.covers(&of(&reader), &Subject::Stdio), "which needs no scopes");
        assert!(
            policy.covers(&Subject::Stdio, &Subject::Stdio) && policy.covers(&Subject::Stdio, &of(&reader))
        );
    }
}

#[test]
fn one_role_whose_conditions_hold_is_enough_and_a_role_without_any_too() {
    let with_condition = |name: &str, values: &[&str]| {
        let when = ItemConditions {
            item: rules(&["files-read"], |text| ItemPattern::parse(text).unwrap()).remove(0),
            arguments: vec![condition("/path", values)],
        };
        RoleConfig { when: vec![when], ..role(name, &["anyone"], &["files"], &[]) }
    };
    let mut config = RolesConfig {
        roles: vec![with_condition("a", &["/data/**"]), with_condition("b", &["/tmp/**", ""])],
    };
    let decide = |config: &RolesConfig, arguments: &str| {
        let policy = Policy::new(config);
        let (roles, item) = (policy.roles_of(&Subject::Stdio), tool("files-read"));
        match policy.decide(roles, &Subject::Stdio, &item, Some(Arguments::new(arguments))) {
            Decision::Allow(by) => policy.role_names(by).collect::<Vec<_>>().join(" "),
            Decision::ArgumentForbidden(forbidden) => forbidden.to_string(),
            other => format!("{other:?}"),
        }
    };
    for (arguments, expected) in [
        (r#"{"path":"/data/x"}"#, "a"),
        (r#"{"path":"/tmp/x"}"#, "b"),
        ("{}", "b"),
        (r#"{"path":"/etc/x"}"#, "you may not use this value of the argument `/path`"),
    ] {
        assert_eq!(decide(&config, arguments), expected, "{arguments}");
    }
    let policy = Policy::new(&config);
    let roles = policy.roles_of(&Subject::Stdio);
    assert!(policy.has_conditions(roles, &tool("files-read")));
    assert!(!policy.has_conditions(roles, &tool("files-list")));
    config.roles.push(role("c", &["anyone"], &["files-read"], &[]));
    assert_eq!(decide(&config, r#"{"path":"/etc/x"}"#), "c");
}

#[test]
fn a_value_holds_if_a_pattern_matches_it_and_all_elements_of_an_array_do() {
    use ArgumentFault as F;
    let path = condition("/path", &["/data/**"]);
    for (arguments, expected) in [
        (r#"{"path":"/data/x","other":["/etc"]}"#, None),
        (r#"{"p\u0061th":"\/data\/x"}"#, None),
        (r#"{"path":["/data/x","/data/y"]}"#, None),
        (r#"{"path":"/etc/x"}"#, Some(F::Value)),
        (r#"{"path":["/data/x","/etc/y"]}"#, Some(F::Value)),
        (r#"{"path":["/etc/y","/data/x"]}"#, Some(F::Value)),
        (r#"{"path":["/data/x",null]}"#, Some(F::Value)),
        (r#"{"path":[["/data/x"]]}"#, Some(F::Value)),
        (r#"{"path":["/data/x",{}]}"#, Some(F::Value)),
        (r#"{"path":{"path":"/data/x"}}"#, Some(F::Value)),
        (r#"{"path":7}"#, Some(F::Value)),
        (r#"{"path":1e3}"#, Some(F::Value)),
        (r#"{"path":true}"#, Some(F::Value)),
        (r#"{"path":""}"#, Some(F::Value)),
        (r#"{"path":null}"#, Some(F::Missing)),
        (r#"{"path":[]}"#, Some(F::Missing)),
        ("{}", Some(F::Missing)),
        (r#"{"a":{"path":"/data/x"}}"#, Some(F::Missing)),
        (r#"{"path":"/data/x","path":"/data/x"}"#, Some(F::Ambiguous)),
        (r#"{"path":null,"path":"/data/x"}"#, Some(F::Ambiguous)),
        (r#"{"path":"/data/x","PATH":"/etc"}"#, Some(F::Ambiguous)),
        (r#"{"Path":"/data/x"}"#, Some(F::Ambiguous)),
        (r#"{"path":"/data/x""#, Some(F::Unreadable)),
        (r#"{"path":"/data/x"} {}"#, Some(F::Unreadable)),
        (r#"["/data/x"]"#, Some(F::Unreadable)),
        ("null", Some(F::Unreadable)),
        ("\"/data/x\"", Some(F::Unreadable)),
    ] {
        assert_eq!(fault(&path, arguments), expected, "{arguments}");
    }
    let optional = condition("/path", &["/data/**", ""]);
    for arguments in ["{}", r#"{"path":null}"#, r#"{"path":""}"#, r#"{"path":[]}"#, r#"{"path":"/data/x"}"#] {
        assert_eq!(fault(&optional, arguments), None, "{arguments}");
    }
}

#[test]
fn a_pointer_leads_into_objects_and_to_one_element() {
    use ArgumentFault as F;
    let deep = condition("/a/b", &["x"]);
    for (arguments, expected) in [
        (r#"{"a":{"b":"x"}}"#, None),
        (r#"{"a":{"b":"x"},"a":{}}"#, Some(F::Ambiguous)),
        (r#"{"a":{"b":"x"},"A":{"b":"y"}}"#, Some(F::Ambiguous)),
        (r#"{"a":{"b":"x","B":"y"}}"#, Some(F::Ambiguous)),
        (r#"{"a":null}"#, Some(F::Missing)),
        (r#"{"a":"x"}"#, Some(F::Value)),
        (r#"{"a":[{"b":"x"}]}"#, Some(F::Value)),
    ] {
        assert_eq!(fault(&deep, arguments), expected, "{arguments}");
    }
    let second = condition("/a/1", &["x"]);
    for (arguments, expected) in [
        (r#"{"a":["y","x","z"]}"#, None),
        (r#"{"a":["x","y"]}"#, Some(F::Value)),
        (r#"{"a":["x"]}"#, Some(F::Missing)),
        (r#"{"a":{"1":"x"}}"#, None),
    ] {
        assert_eq!(fault(&second, arguments), expected, "{arguments}");
    }
    let letters = condition("/kiss", &["x"]);
    for name in ["KISS", "\u{212a}iss", "ki\u{17f}s"] {
        assert_eq!(fault(&letters, &format!("{{{name:?}:\"x\"}}")), Some(F::Ambiguous), "{name}");
    }
    assert_eq!(fault(&letters, r#"{"kisses":"y","kis":"y","kiss":"x"}"#), None);
}

#[test]
fn values_of_other_types_are_no_texts() {
    let mut typed = condition("/v", &["5"]);
    typed.values.extend([AllowedValue::Boolean(false), AllowedValue::Number(-3)]);
    for (value, holds) in [
        ("false", true),
        ("-3", true),
        ("\"5\"", true),
        ("[false,-3,\"5\"]", true),
        ("true", false),
        ("\"false\"", false),
        ("5", false),
        ("-3.0", false),
        ("-3e0", false),
        ("18446744073709551613", false),
    ] {
        assert_eq!(fault(&typed, &format!("{{\"v\":{value}}}")).is_none(), holds, "{value}");
    }
}

#[test]
fn several_conditions_are_read_at_once() {
    let (path, to) = (condition("/path", &["/data/**"]), condition("/to/0", &["x"]));
    let faults = arguments::check(&[&path, &to, &path], Arguments::new(r#"{"to":["y"],"path":"/data/a"}"#));
    assert_eq!(faults, [None, Some(ArgumentFault::Value), None]);
}

#[test]
fn a_path_by_chance_stays_in_its_folder() {
    let mut random = Random(7);
    let glob = PathGlob::parse("/data/**").unwrap();
    let mut matched = 0;
    for _ in 0..50_000 {
        let path = random.path();
        if !PathValue::new(&path).is_some_and(|value| glob.matches(&value)) {
            continue;
        }
        matched += 1;
        let rest = path.strip_prefix("/data/").unwrap();
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        assert!(rest.split('/').all(|segment| ["data", "a", "x", "a.b"].contains(&segment)), "{path}");
    }
    assert!(matched > 100, "only {matched} paths matched");
}

#[test]
fn a_call_is_counted_by_the_roles_that_allow_its_arguments_and_by_none_if_one_is_unlimited() {
    let limited = |name: &str, values: &[&str]| {
        let when = ItemConditions {
            item: rules(&["files-read"], |text| ItemPattern::parse(text).unwrap()).remove(0),
            arguments: vec![condition("/path", values)],
        };
        let when = if values.is_empty() { Vec::new() } else { vec![when] };
        let quota = Some(QuotaConfig::of(&[(QuotaKind::CallsPerDay, 5)], None));
        RoleConfig { when, quota, ..role(name, &["anyone"], &["files"], &[]) }
    };
    let counted = |roles: Vec<RoleConfig>, arguments: &str| {
        let policy = Policy::new(&RolesConfig { roles });
        let (roles, item) = (policy.roles_of(&Subject::Stdio), tool("files-read"));
        let arguments = Some(Arguments::new(arguments)).filter(|_| policy.has_conditions(roles, &item));
        let Decision::Allow(by) = policy.decide(roles, &Subject::Stdio, &item, arguments) else { panic!() };
        policy.quotas_of(by).iter().map(|quota| quota.role.to_string()).collect::<Vec<_>>().join(" ")
    };
    let (data, etc) = (r#"{"path":"/data/x"}"#, r#"{"path":"/etc/x"}"#);
    let both = || vec![limited("a", &[]), limited("b", &["/data/**"])];
    assert_eq!((counted(both(), data), counted(both(), etc)), ("a b".into(), "a".into()));
    let unlimited = || RoleConfig { quota: None, ..limited("u", &["/data/**"]) };
    let with = |roles: Vec<RoleConfig>| roles.into_iter().chain([unlimited()]).collect::<Vec<_>>();
    assert_eq!((counted(with(both()), data), counted(with(both()), etc)), (String::new(), "a".into()));
    assert_eq!(counted(vec![role("c", &["anyone"], &["files"], &[])], etc), "");
}
