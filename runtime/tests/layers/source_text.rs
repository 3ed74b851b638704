//! The text of a file: its code, and the names that it uses.

use std::collections::BTreeSet;

/// The code of a file without comments.
pub(crate) fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Code without comments and without the tests in the same file.
pub(crate) fn product_code(text: &str) -> String {
    code(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default())
}

/// The names that follow `prefix` in code; of a group in braces, each member's first name.
pub(crate) fn names_after(text: &str, prefix: &str) -> BTreeSet<String> {
    let first_word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = BTreeSet::new();
    for rest in code(text).split(prefix).skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => names.extend(top_level(group).into_iter().map(first_word)),
            None => drop(names.insert(first_word(rest))),
        }
    }
    names
}

/// The members of a group, up to its closing brace, without what is nested in them.
fn top_level(group: &str) -> Vec<&str> {
    let mut members = vec![group];
    let mut depth = 0;
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => members.push(&group[at + 1..]),
            _ => {}
        }
    }
    members
}

/// The longest chain of `super::` in code, without the tests in the file, which are a module of their own.
pub(crate) fn climbs(text: &str) -> usize {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    (1..9).take_while(|count| code(text).contains(&"super::".repeat(*count))).count()
}

/// Whether a name means a module of this crate in this file, and not the foreign crate.
pub(crate) fn is_own_module(code: &str, name: &str) -> bool {
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    code.lines()
        .map(str::trim_start)
        .any(|line| line == format!("mod {name};") || (line.starts_with("use crate::") && words(line)))
}

#[test]
fn names_are_read_from_code() {
    let text = "use crate::a::b;\n// crate::c\n x(crate::d) use crate::{e::{x, y}, f};";
    let names: Vec<String> = names_after(text, "crate::").into_iter().collect();
    assert_eq!(names, ["a", "d", "e", "f"]);
    assert!(
        is_own_module("use crate::transport::{http, stdio};", "http")
            && !is_own_module("use http::x;", "http")
    );
    assert_eq!(climbs("use super::super::x;\n// super::super::super::y"), 2);
}
