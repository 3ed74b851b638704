//! Reading `[roles]` and required scopes from a file.

use std::path::Path;

use super::*;
use crate::config::{Config, ConfigError};

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("plugport.toml"), "no-such-plugins".into())
}

const WHOLE: &str = r#"
[roles.writer]
who = ["token:ci"]
allow = ["files"]

[roles.analyst]
who = ["group:analysts", "address:10.0.0.0/8"]
allow = [
    "clock",
    "files-*",
    "resource:notes:*",
]
deny = ["*-delete"]
when = { "files-read" = { "/path" = ["/data/**", ""], "/lines" = [10, -1], "/follow" = [false] } }
"#;

#[test]
fn a_role_is_read_whole_and_each_rule_knows_its_line() {
    let roles = parse(WHOLE).unwrap().roles.roles;
    let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
    assert_eq!(names, ["analyst", "writer"], "by name, whatever the order in the file");
    let analyst = &roles[0];
    let lines: Vec<(&str, usize)> = analyst.allow.iter().map(|rule| (&*rule.text, rule.line)).collect();
    assert_eq!(lines, [("clock", 9), ("files-*", 10), ("resource:notes:*", 11)]);
    assert_eq!((analyst.who[1].line, analyst.deny[0].line), (7, 13));
    assert_eq!(analyst.who[0].value, WhoPattern::Group("analysts".into()));
    let [when] = analyst.when.as_slice() else { panic!("{:?}", analyst.when) };
    assert_eq!((&*when.item.text, when.arguments.len()), ("files-read", 3));
    let condition = |pointer: &str| {
        when.arguments.iter().find(|condition| condition.pointer.as_str() == pointer).unwrap()
    };
    assert!(condition("/path").may_be_absent && condition("/path").allows_text("/data/x"));
    assert_eq!(condition("/path").line, 14);
    assert!(!condition("/path").allows_text("/etc/x") && condition("/path").allows_text(""));
    assert_eq!(condition("/lines").values, [AllowedValue::Number(10), AllowedValue::Number(-1)]);
    assert!(condition("/follow").allows(&AllowedValue::Boolean(false)));
    assert!(!condition("/follow").may_be_absent);
    assert!(parse("").unwrap().roles.is_empty());
}

fn assert_mistakes(text: &str, expected: &[&str]) {
    let message = parse(text).unwrap_err().to_string();
    for expected in expected {
        assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
    }
    let noun = if expected.len() == 1 { "mistake" } else { "mistakes" };
    let count = format!("{} {noun} in", expected.len());
    assert!(message.contains(&count), "{count:?} is not in:\n{message}");
}

#[test]
fn every_mistake_in_a_role_is_reported_with_its_line_and_key() {
    let text = "[roles.a]\nwho = [\n\"everyone\",\n\"group:*\",\n5]\nallow = [\"notes:*\", \"a b\"]\ndeny = \"x\"\n\
                confirm = [\"*\"]\n";
    assert_mistakes(
        text,
        &[
            ":3: roles.a.who: `everyone` names no callers",
            ":4: roles.a.who: `group:*` has a star",
            ":5: roles.a.who: expected a string, found a number",
            ":6: roles.a.allow: `notes:*` begins with no kind of item",
            ":6: roles.a.allow: `a b` has the character  , which no name has",
            ":7: roles.a.deny: expected an array, found a string",
            ":8: roles.a.confirm: unknown key",
        ],
    );
}

#[test]
fn every_mistake_in_a_condition_is_reported_with_its_line_and_key() {
    let text = "[roles.a]\nwho = [\"anyone\"]\nallow = [\"*\"]\n[roles.a.when]\n\
                \"resource:a:b\" = { \"/x\" = [\"a\"] }\n\
                none = {}\n\
                text = { path = [\"a\"] }\n\
                values = { \"/x\" = [\"/a/../b\", 0.5], \"/y\" = [] }\n\
                url = { \"/url\" = [\"https://*.example.com/**\"] }\n\
                list = [\"/data\"]\n";
    assert_mistakes(
        text,
        &[
            ":5: roles.a.when.resource:a:b: has no arguments",
            ":6: roles.a.when.none: needs 1 to 16 arguments",
            ":7: roles.a.when.text.path: `path` is no JSON pointer",
            ":8: roles.a.when.values./x: `/a/../b` has a segment",
            ":8: roles.a.when.values./x: must be a text",
            ":8: roles.a.when.values./y: needs 1 to 64 values",
            ":9: roles.a.when.url./url: `https://*.example.com/**` has a star before the path",
            ":10: roles.a.when.list: expected a table, found an array",
        ],
    );
}

#[test]
fn a_role_without_effect_is_a_mistake() {
    for (role, expected) in [
        ("allow = [\"*\"]", ":1: roles.a: needs `who`"),
        ("who = []\nallow = [\"*\"]", ":1: roles.a: needs `who`"),
        ("who = [\"anyone\"]", ":1: roles.a: needs `allow` or `deny`"),
        (
            "who = [\"anyone\"]\ndeny = [\"a\"]\nwhen = { a = { \"/b\" = [true] } }",
            ":1: roles.a: has `when` without",
        ),
    ] {
        assert_mistakes(&format!("[roles.a]\n{role}\n"), &[expected]);
    }
    assert_mistakes("[roles]\n", &[":1: roles: needs 1 to 64 roles"]);
    let many: String =
        (0..65).map(|n| format!("[roles.r{n}]\nwho = [\"anyone\"]\nallow = [\"*\"]\n")).collect();
    assert_mistakes(&many, &["roles: needs 1 to 64 roles"]);
    assert_mistakes(
        "[roles.\"a b\"]\nwho = [\"anyone\"]\nallow = [\"*\"]\n",
        &[":1: roles.a b: is no name of a role"],
    );
}

#[test]
fn what_is_too_long_or_too_much_is_a_mistake() {
    let role = |key: &str, value: &str| {
        format!("[roles.a]\nwho = [\"anyone\"]\nallow = [\"a\"]\n{key} = [{value}]\n")
    };
    assert_mistakes(&role("deny", &"\"a\",".repeat(257)), &[":4: roles.a.deny: has more than 256 entries"]);
    let long = format!("\"{}\"", "a".repeat(257));
    assert_mistakes(&role("deny", &long), &[":4: roles.a.deny: must have at most 256 bytes"]);
    assert!(parse(&role("deny", &"\"a\",".repeat(256))).is_ok());
}

#[test]
fn a_tool_needs_the_scopes_of_its_plugin_and_its_own() {
    let text = "[plugins.files]\nscopes = [\"tools\"]\n\
                [plugins.files.tools.delete]\nscopes = [\"tools:write\", \"tools\"]\n";
    let scopes = parse(text).unwrap().plugin("files").scopes;
    let names = |scopes: &[Box<str>]| scopes.join(" ");
    assert_eq!(names(scopes.of_tool("delete")), "tools tools:write");
    assert_eq!(
        (names(scopes.of_tool("read")), names(scopes.of_other_items())),
        ("tools".into(), "tools".into())
    );
    assert_eq!(scopes.tools().collect::<Vec<_>>(), ["delete"]);
    assert_eq!(parse("").unwrap().plugin("files").scopes, RequiredScopes::default());
    assert_mistakes(
        "[plugins.a]\nscopes = [\"a b\"]\n[plugins.a.tools.t]\nscope = [\"x\"]\n",
        &[
            ":2: plugins.a.scopes: must be a scope",
            ":3: plugins.a.tools.t: needs `scopes`",
            ":4: plugins.a.tools.t.scope: unknown key; did you mean `scopes`?",
        ],
    );
}

#[test]
fn roles_that_nobody_can_have_are_warned_about() {
    let role = "[roles.a]\nwho = [\"token:ci\", \"sub:alice\", \"anyone\", \"address:::1\", \"group:g\"]\n\
                allow = [\"*\"]\n";
    let warnings = |text: &str| {
        let config = parse(&format!("{role}{text}")).unwrap();
        config.roles.warnings(config.auth.as_ref())
    };
    assert_eq!(warnings("").len(), 3, "{:?}", warnings(""));
    assert!(warnings("")[0].starts_with("[roles.a] line 2: `token:ci` is nobody"), "{:?}", warnings(""));
    let token = format!("[[auth.tokens]]\nname = \"ci\"\nsha256 = \"{}\"\n", "0f".repeat(32));
    let with_token = warnings(&token);
    assert_eq!(with_token.len(), 2, "{with_token:?}");
    assert!(with_token[0].contains("`sub:alice` is nobody"), "{with_token:?}");
    assert!(with_token[1].contains("`group:g` is nobody"), "{with_token:?}");
    let with_group = warnings(&format!("{token}groups = [\"g\"]\n"));
    assert_eq!(with_group.len(), 1, "{with_group:?}");
    let issuers: String = ["a", "b"]
        .iter()
        .map(|host| format!("[[auth.issuers]]\nissuer = \"https://{host}.example.com\"\ngroups = \"/g\"\n"))
        .collect();
    let with_issuers = warnings(&format!("[auth]\nresource = \"https://t.example.com/mcp\"\n{issuers}"));
    assert_eq!(with_issuers.len(), 3, "{with_issuers:?}");
    assert!(with_issuers[1].contains("principal:oauth:ISSUER#alice"), "{with_issuers:?}");
    assert!(with_issuers[2].contains("`group:g` counts whichever"), "{with_issuers:?}");
}

#[test]
fn a_scope_that_nothing_gives_is_warned_about() {
    let role = "[roles.a]\nwho = [\"scope:data\"]\nallow = [\"*\"]\n";
    let warnings = |text: &str| {
        let config = parse(&format!("{role}{text}")).unwrap();
        config.roles.warnings(config.auth.as_ref())
    };
    let token = format!("[[auth.tokens]]\nname = \"ci\"\nsha256 = \"{}\"\n", "0f".repeat(32));
    let told = warnings(&token);
    assert!(matches!(&*told, [one] if one.contains("`scope:data` is nobody")), "{told:?}");
    assert!(warnings(&format!("{token}scopes = [\"data\"]\n")).is_empty());
    let issuer = "[auth]\nresource = \"https://t.example.com/mcp\"\n\
                  [[auth.issuers]]\nissuer = \"https://a.example.com\"\n";
    assert!(warnings(issuer).is_empty());
}
