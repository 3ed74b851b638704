//! A second implementation of the policy, as simple as possible: it compares the texts of the rules one by one and does
//! not care about speed. The tests compare the policy with it.

use crate::access::policy::{Hints, Item};
use crate::config::{ItemKind, RoleConfig};

/// Whether a caller with these roles sees the item.
pub(crate) fn is_visible(roles: &[&RoleConfig], item: &Item<'_>) -> bool {
    let denied = roles.iter().any(|role| role.deny.iter().any(|rule| means(&rule.text, item, true)));
    let allowed = roles.iter().any(|role| role.allow.iter().any(|rule| means(&rule.text, item, false)));
    allowed && !denied
}

/// Whether a role alone allows a call with these values of `/path` and `/to/0`.
pub(super) fn allows_call(role: &RoleConfig, item: &Item<'_>, path: Option<&str>, to: Option<&str>) -> bool {
    let is_allowed = role.allow.iter().any(|rule| means(&rule.text, item, false));
    let conditions = role.when.iter().filter(|when| means(&when.item.text, item, false));
    is_allowed
        && conditions.flat_map(|when| &when.arguments).all(|condition| {
            let value = if condition.pointer.as_str() == "/path" { path } else { to };
            match value {
                None | Some("") => condition.may_be_absent,
                Some(text) => condition.allows_text(text),
            }
        })
}

fn means(pattern: &str, item: &Item<'_>, is_deny: bool) -> bool {
    let is_tool = item.kind == ItemKind::Tool;
    if pattern == "*" {
        return true;
    }
    let Some((kind, pattern)) = pattern.split_once(':') else {
        let is_plugin = !pattern.contains('*') && pattern == item.plugin;
        return is_plugin || (is_tool && glob(pattern, item.name));
    };
    match kind {
        "tool" => is_tool && glob(pattern, item.name),
        "prompt" => item.kind == ItemKind::Prompt && glob(pattern, item.name),
        "plugin" => glob(pattern, item.plugin),
        "template" => match item.kind {
            ItemKind::Template => glob(pattern, item.name),
            ItemKind::Resource => item.template.is_some_and(|template| glob(pattern, template)),
            _ => false,
        },
        "resource" if item.kind == ItemKind::Resource => {
            let uri = spelled(item.name);
            let is_uncertain = uri.split(['/', ':']).any(|segment| segment == ".." || segment == ".");
            // A literal star is written as %2A, only in patterns.
            let pattern = spelled(&pattern.replace("%2A", "\u{1}"));
            if is_uncertain { is_deny } else { glob(&pattern, &uri.replace('*', "\u{1}")) }
        }
        "hint" => is_tool && hint(pattern, item.hints),
        _ => false,
    }
}

fn hint(name: &str, hints: Hints) -> bool {
    let is_read_only = hints.read_only == Some(true);
    match name {
        "read-only" => is_read_only,
        "destructive" => !is_read_only && hints.destructive != Some(false),
        "idempotent" => is_read_only || hints.idempotent == Some(true),
        "open-world" => hints.open_world != Some(false),
        _ => panic!("{name}"),
    }
}

/// Normalizes a URI as far as the URIs of these tests need it.
fn spelled(uri: &str) -> String {
    let mut uri = uri.replace("%78", "x").replace("%2F", "/").replace("%2e", ".");
    while uri.contains("//") {
        uri = uri.replace("//", "/");
    }
    uri
}

/// Matches a glob by trying every text for every star.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = &pattern[1..];
            text.char_indices().any(|(at, _)| glob(rest, &text[at..])) || glob(rest, "")
        }
        Some(first) => text.strip_prefix(first).is_some_and(|text| glob(&pattern[first.len_utf8()..], text)),
    }
}
