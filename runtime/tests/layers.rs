//! The layer rule as a test: reads the sources and fails when a module reaches into a layer that it may not know, when
//! a foreign type turns up in the wrong layer, or when a file has outgrown a reader.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// From the top of a call to its bottom. A layer may use those after it.
const ORDER: [&str; 8] =
    ["commands", "transport", "protocol", "catalog", "plugin", "host", "sandbox", "config"];

/// Usable by every layer; they use none.
const LEAVES: [&str; 2] = ["json", "observe"];

/// Beside the order: who may use what.
const BESIDE: [(&str, &[&str]); 4] = [
    ("reload", &["catalog", "plugin", "config"]),
    ("bindings", &["host"]),
    ("cli", &[]),
    ("main", &["cli", "commands"]),
];

/// Who may use what stands beside the order.
const USERS: [(&str, &[&str]); 3] =
    [("reload", &["commands"]), ("bindings", &["plugin", "host"]), ("cli", &["commands", "main"])];

/// Crates that belong to some layers only.
const CRATES: [(&str, &[&str]); 6] = [
    ("wasmtime", &["sandbox", "host", "plugin", "bindings"]),
    ("wasmtime_wasi", &["sandbox", "host", "plugin"]),
    ("axum", &["transport"]),
    ("hyper", &["transport"]),
    ("clap", &["cli", "main"]),
    ("toml", &["config"]),
];

/// Longest file, lines. A pure table may be longer, and none is yet.
const LONGEST: usize = 400;

struct Source {
    path: PathBuf,
    module: String,
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
                let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
                let module = first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
                let text = std::fs::read_to_string(&path).unwrap();
                found.push(Source { path, module, text });
            }
        }
    }
    found
}

/// The names that follow `prefix` in code, comments left out.
fn names_after<'t>(text: &'t str, prefix: &str) -> BTreeSet<&'t str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(prefix).skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
        .collect()
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
        for used in names_after(&source.text, "crate::") {
            if !used.is_empty() && !may_use(&source.module, used) {
                breaches.push(format!("{}: {} must not use {used}", source.path.display(), source.module));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn foreign_types_stay_in_their_layers() {
    let mut breaches = Vec::new();
    for source in &sources() {
        let code: Vec<&str> =
            source.text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for (name, layers) in CRATES {
            let path = format!("{name}::");
            let named = code.iter().any(|line| {
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
    assert!(may_use("transport", "protocol") && may_use("plugin", "observe") && may_use("host", "bindings"));
    assert!(
        !may_use("protocol", "transport") && !may_use("sandbox", "host") && !may_use("catalog", "bindings")
    );
    assert!(!may_use("protocol", "reload") && !may_use("reload", "protocol"));
    assert_eq!(
        names_after("use crate::a::b;\n// crate::c\n x(crate::d)", "crate::"),
        BTreeSet::from(["a", "d"])
    );
}
