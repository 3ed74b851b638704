//! The layer rule as a test: reads the sources and fails when a module reaches into a layer that it may not know, when
//! a foreign type turns up in the wrong layer, or when a file has outgrown a reader. The other crates of `runtime` have
//! rules of their own, which say what they must compile without.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// From the top of a call to its bottom. A layer may use those after it.
const ORDER: [&str; 8] = ["commands", "transport", "mcp", "catalog", "plugin", "host", "sandbox", "config"];

/// Usable by every layer; they use none.
const LEAVES: [&str; 2] = ["json", "observe"];

/// Beside the order: who may use what.
const BESIDE: [(&str, &[&str]); 4] = [
    ("watch", &["catalog", "plugin", "config"]),
    ("bindings", &["host"]),
    ("cli", &[]),
    ("main", &["cli", "commands"]),
];

/// Who may use what stands beside the order.
const USERS: [(&str, &[&str]); 3] =
    [("watch", &["commands"]), ("bindings", &["plugin", "host"]), ("cli", &["commands", "main"])];

/// Crates that belong to some layers only.
const CRATES: [(&str, &[&str]); 11] = [
    ("plugport_authoring", &["cli", "commands"]),
    ("plugport_common", &["observe", "catalog", "watch", "commands"]),
    ("wasmtime", &["sandbox", "host", "plugin", "bindings"]),
    ("wasmtime_wasi", &["sandbox", "host", "plugin"]),
    ("wasmtime_wasi_http", &["host"]),
    ("axum", &["transport"]),
    ("hyper", &["transport", "host"]),
    ("clap", &["cli", "main"]),
    ("toml", &["config", "catalog", "commands"]),
    ("minisign_verify", &["config", "plugin"]),
    ("notify", &["watch"]),
];

/// The other crates of `runtime`, and what each must not depend on.
const OTHER_CRATES: [(&str, &[&str]); 2] = [
    // What only the server can do is a function of `ServerAccess`.
    ("authoring", &["plugport", "wasmtime", "wasmtime-wasi", "axum", "hyper", "redb"]),
    ("common", &["plugport", "plugport-authoring", "tokio", "wasmtime", "clap"]),
];

/// The commands for authors, none of which uses another.
const AUTHOR_COMMANDS: [&str; 3] = ["new", "build", "dev"];

/// Longest file, lines. A pure table may be longer, and none is yet.
const LONGEST: usize = 400;

struct Source {
    path: PathBuf,
    module: String,
    /// How often `super` stays within the layer. Tests inside a file are one module deeper.
    depth: usize,
    text: String,
}

/// The sources of the server.
fn sources() -> Vec<Source> {
    sources_of("")
}

/// The sources of the crate in a folder of `runtime`.
fn sources_of(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("src");
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
                let parts = path.strip_prefix(&root).unwrap().components().count();
                let folder = path.file_name().is_some_and(|name| name == "mod.rs");
                let depth = (parts - usize::from(folder)).saturating_sub(1);
                found.push(Source { path, module, depth, text });
            }
        }
    }
    found
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
        for used in names_after(&source.text, "crate::") {
            if !may_use(&source.module, &used) {
                breaches.push(format!("{}: {} must not use {used:?}", source.path.display(), source.module));
            }
        }
        // A chain of `super` that leaves its layer would escape the rule.
        if climbs(&source.text) > source.depth {
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
fn the_other_crates_do_without_the_server() {
    for (folder, kept_out) in OTHER_CRATES {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let used = manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        let breaches: Vec<&str> = used.filter(|name| kept_out.contains(name)).collect();
        assert!(breaches.is_empty(), "runtime/{folder} must not depend on {}", breaches.join(", "));
    }
}

#[test]
fn commands_for_authors_do_not_use_each_other() {
    let sources = sources_of("authoring");
    assert!(sources.len() > 20, "the sources were not found");
    let mut breaches = Vec::new();
    for source in sources.iter().filter(|source| source.module != "lib") {
        let used = names_after(&source.text, "crate::");
        let commands = used.iter().filter(|used| AUTHOR_COMMANDS.contains(&used.as_str()));
        for used in commands.filter(|used| **used != source.module) {
            let (path, module) = (source.path.display(), &source.module);
            breaches.push(format!("{path}: {module} must not use {used}; what both need lies beside them"));
        }
        if climbs(&source.text) > source.depth {
            breaches.push(format!("{}: `super` leads out of {}", source.path.display(), source.module));
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn no_file_outgrows_its_reader() {
    let others = OTHER_CRATES.iter().flat_map(|(folder, _)| sources_of(folder));
    let long: Vec<String> = sources()
        .into_iter()
        .chain(others)
        .map(|source| (source.text.lines().count(), source.path.display().to_string()))
        .filter(|(lines, _)| *lines > LONGEST)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "split these:\n{}", long.join("\n"));
}

#[test]
fn the_rule_can_fail() {
    assert!(may_use("transport", "mcp") && may_use("plugin", "observe") && may_use("host", "bindings"));
    assert!(!may_use("mcp", "transport") && !may_use("sandbox", "host") && !may_use("catalog", "bindings"));
    assert!(!may_use("mcp", "watch") && !may_use("watch", "mcp"));
    let text = "use crate::a::b;\n// crate::c\n x(crate::d) use crate::{e::{x, y}, f};";
    let names: Vec<String> = names_after(text, "crate::").into_iter().collect();
    assert_eq!(names, ["a", "d", "e", "f"]);
    assert_eq!(climbs("use super::super::x;\n// super::super::super::y"), 2);
}
