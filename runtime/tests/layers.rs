//! The layer rule as a test: reads the sources and fails when a module reaches into a layer that it may not know, when
//! a foreign type turns up in the wrong layer, or when a file has outgrown a reader.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// From the top of a call to its bottom. A layer may use those after it.
const ORDER: [&str; 10] = [
    "commands",
    "transport",
    "mcp",
    "catalog",
    "plugin",
    "capability",
    "host",
    "sandbox",
    "config",
    "grants",
];

/// In the folder of a capability, what belongs to the layer `grants`, as `capability/grants` does.
const GRANT_PARTS: [&str; 2] = ["grant", "policy"];

/// Usable by every layer; they use none.
const LEAVES: [&str; 2] = ["json", "observe"];

/// Beside the order: who may use what.
const BESIDE: [(&str, &[&str]); 5] = [
    ("toml_reader", &[]),
    ("watch", &["catalog", "plugin", "config"]),
    ("bindings", &["capability"]),
    ("cli", &[]),
    ("main", &["cli", "commands"]),
];

/// Who may use what stands beside the order.
const USERS: [(&str, &[&str]); 4] = [
    ("watch", &["commands"]),
    ("bindings", &["plugin", "capability"]),
    ("cli", &["commands", "main"]),
    ("toml_reader", &["config", "grants"]),
];

/// Crates that belong to some layers only.
const CRATES: [(&str, &[&str]); 11] = [
    ("wasmtime", &["sandbox", "capability", "plugin", "bindings"]),
    ("wasmtime_wasi", &["sandbox", "host", "capability", "plugin"]),
    ("wasmtime_wasi_http", &["capability"]),
    ("axum", &["transport"]),
    ("hyper", &["transport", "capability"]),
    ("clap", &["cli", "main"]),
    ("toml", &["toml_reader", "grants", "config", "catalog", "commands"]),
    ("minisign_verify", &["config", "plugin"]),
    ("notify", &["watch", "commands"]),
    ("wit_component", &["commands"]),
    ("wit_parser", &["commands"]),
];

/// Longest file, lines. A pure table may be longer, and none is yet.
const LONGEST: usize = 400;

struct Source {
    path: PathBuf,
    module: String,
    /// How often `super` stays within the layer. Tests inside a file are one module deeper.
    depth: usize,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut pending = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(&root).unwrap();
                let parts: Vec<&str> =
                    below.iter().map(|part| part.to_str().unwrap().trim_end_matches(".rs")).collect();
                let (module, top) = layer(&parts);
                let text = std::fs::read_to_string(&path).unwrap();
                let folder = path.file_name().is_some_and(|name| name == "mod.rs");
                let depth = (parts.len() - usize::from(folder)).saturating_sub(top);
                let module = module.to_owned();
                found.push(Source { path, module, depth, text });
            }
        }
    }
    found
}

/// The layer of a module, and how many parts of its path name the top of that layer.
fn layer<'p>(parts: &[&'p str]) -> (&'p str, usize) {
    match parts {
        ["capability", "grants", ..] => ("grants", 2),
        ["capability", _, part, ..] if GRANT_PARTS.contains(part) => ("grants", 3),
        [first, ..] => (first, 1),
        [] => ("", 0),
    }
}

/// The layers that code names.
fn used_layers(text: &str) -> BTreeSet<String> {
    // A macro stands for the folder of every capability.
    let text = text.replace("$folder", "folder");
    let mut used = names_after(&text, "crate::");
    if used.remove("capability") {
        for second in names_after(&text, "crate::capability::") {
            let mut third = names_after(&text, &format!("crate::capability::{second}::"));
            if third.is_empty() {
                third.insert(String::new());
            }
            used.extend(third.iter().map(|third| layer(&["capability", &second, third]).0.to_owned()));
        }
    }
    used
}

/// The code of a file, comments left out.
fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names that follow `prefix` in code, a group in braces giving each of its own.
fn names_after(text: &str, prefix: &str) -> BTreeSet<String> {
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

/// The longest chain of `super::` in code. A test inside a file is a module of its own and is not looked at.
fn climbs(text: &str) -> usize {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    (1..9).take_while(|count| code(text).contains(&"super::".repeat(*count))).count()
}

fn may_use(module: &str, used: &str) -> bool {
    if module == used || module == "lib" || LEAVES.contains(&used) {
        return true;
    }
    if let Some((_, users)) = USERS.iter().find(|(name, _)| *name == used) {
        return users.contains(&module);
    }
    if let Some((_, allowed)) = BESIDE.iter().find(|(name, _)| *name == module) {
        return allowed.contains(&used);
    }
    let rank = |name: &str| ORDER.iter().position(|layer| *layer == name);
    match (rank(module), rank(used)) {
        (Some(from), Some(to)) => from < to,
        _ => false,
    }
}

#[test]
fn modules_use_only_what_is_below_them() {
    let sources = sources();
    assert!(sources.len() > 50, "the sources were not found");
    let mut breaches = Vec::new();
    for source in &sources {
        for used in used_layers(&source.text) {
            if !may_use(&source.module, &used) {
                breaches.push(format!("{}: {} must not use {used:?}", source.path.display(), source.module));
            }
        }
        // A chain of `super` that leaves its layer would escape the rule.
        let text = match source.module.as_str() {
            // Grant and policy of one capability are neighbours.
            "grants" => GRANT_PARTS
                .iter()
                .fold(source.text.clone(), |text, part| text.replace(&format!("super::{part}::"), "crate::")),
            _ => source.text.clone(),
        };
        if climbs(&text) > source.depth {
            breaches.push(format!("{}: `super` leads out of {}", source.path.display(), source.module));
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn foreign_types_stay_in_their_layers() {
    let mut breaches = Vec::new();
    for source in &sources() {
        let code = code(&source.text);
        for (name, layers) in CRATES {
            let path = format!("{name}::");
            let named = code.lines().any(|line| {
                line.split(&path).next().is_some_and(|before| {
                    before.len() < line.len()
                        && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                })
            });
            if named && !layers.contains(&source.module.as_str()) {
                breaches.push(format!("{}: {} must not know {name}", source.path.display(), source.module));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn no_file_outgrows_its_reader() {
    let long: Vec<String> = sources()
        .iter()
        .map(|source| (source.text.lines().count(), source.path.display().to_string()))
        .filter(|(lines, _)| *lines > LONGEST)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "split these:\n{}", long.join("\n"));
}

#[test]
fn the_rule_can_fail() {
    assert!(may_use("transport", "mcp") && may_use("plugin", "observe") && may_use("capability", "bindings"));
    assert!(may_use("config", "grants") && !may_use("grants", "config") && !may_use("grants", "capability"));
    assert!(
        !may_use("mcp", "transport") && !may_use("sandbox", "capability") && !may_use("catalog", "bindings")
    );
    assert!(!may_use("mcp", "watch") && !may_use("watch", "mcp"));
    let text = "use crate::a::b;\n// crate::c\n x(crate::d) use crate::{e::{x, y}, f};";
    let names: Vec<String> = names_after(text, "crate::").into_iter().collect();
    assert_eq!(names, ["a", "d", "e", "f"]);
    let text =
        "use crate::capability::{X, y::Z}; crate::capability::http::grant::A crate::capability::grants::B";
    assert_eq!(used_layers(text).into_iter().collect::<Vec<_>>(), ["capability", "grants"]);
    assert_eq!(used_layers("use crate::capability::grants::B").into_iter().collect::<Vec<_>>(), ["grants"]);
    assert_eq!(climbs("use super::super::x;\n// super::super::super::y"), 2);
}
