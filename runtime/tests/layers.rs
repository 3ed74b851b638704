//! The layer rule as a test. It reads the sources and fails if a module uses a layer that it must not know, if modules
//! of one folder use each other in a circle, if a foreign type is used in the wrong layer, or if a file is too long.
//! `docs/architecture.md` says what each layer knows. The other crates of `runtime` have rules of their own: which
//! crates they must not depend on.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The layers from the top of a call to its bottom, with what belongs into each. A layer may use those after it.
const ORDER: [(&str, &str); 11] = [
    ("commands", "subcommands of the program"),
    (
        "transport",
        "sockets, pipes, framing, and all of HTTP: headers, status codes, sessions by id, resumable streams",
    ),
    ("mcp", "messages, methods, revisions, sessions and requests under way, as plain types"),
    ("catalog", "what is published, and under which name"),
    ("approval", "`plugport.lock`, and how a plugin differs from its approval"),
    ("plugin", "the life of a component and of a call"),
    ("capability", "what each import of a plugin does, in a folder for each capability"),
    ("call_env", "the client and the log of one call, as host functions see them"),
    ("sandbox", "the engine, limits, the compiler"),
    ("config", "settings and limits as types"),
    (
        "grants",
        "what the operator grants: of each capability its `grant` and `policy`, and what these share and make together",
    ),
];

/// The modules of a capability that belong to the layer `grants`, like `capability/grant_trait` and
/// `capability/plugin_grants`.
const GRANT_PARTS: [&str; 2] = ["grant", "policy"];

/// Modules that every layer may use, and that use no layer.
const LEAVES: [&str; 3] = ["json", "observe", "safe_open"];

/// Modules outside the order, with the layers that they may use.
const UNORDERED: [(&str, &[&str]); 5] = [
    ("toml_reader", &[]),
    ("watch", &["catalog", "approval", "plugin", "config"]),
    ("bindings", &["capability"]),
    ("cli", &[]),
    ("main", &["cli", "commands"]),
];

/// Modules outside the order, with the layers that may use them.
const USERS: [(&str, &[&str]); 4] = [
    ("watch", &["commands"]),
    ("bindings", &["plugin", "capability"]),
    ("cli", &["commands", "main"]),
    ("toml_reader", &["config", "grants"]),
];

/// Crates that only some layers may use. Other layers get what such a crate does as plain types.
const CRATES: [(&str, &[&str]); 14] = [
    ("plugport_authoring", &["cli", "commands"]),
    ("plugport_common", &["observe", "catalog", "watch", "commands"]),
    ("wasmtime", &["sandbox", "capability", "plugin", "bindings"]),
    ("wasmtime_wasi", &["sandbox", "call_env", "capability", "plugin"]),
    ("wasmtime_wasi_http", &["capability"]),
    ("axum", &["transport"]),
    ("hyper", &["transport", "capability"]),
    ("hyper_util", &["transport", "capability"]),
    ("http", &["transport", "capability", "grants"]),
    ("http_body", &["transport", "capability"]),
    ("clap", &["cli", "main"]),
    ("toml", &["toml_reader", "grants", "config", "approval", "commands"]),
    ("minisign_verify", &["config", "plugin"]),
    ("notify", &["watch"]),
];

/// The other crates of `runtime`, and what each must not depend on.
const OTHER_CRATES: [(&str, &[&str]); 2] = [
    // `ServerAccess` has what only the server can do.
    ("authoring", &["plugport", "wasmtime", "wasmtime-wasi", "axum", "hyper", "redb"]),
    ("common", &["plugport", "plugport-authoring", "tokio", "wasmtime", "clap"]),
];

/// The commands for authors, none of which uses another.
const AUTHOR_COMMANDS: [&str; 3] = ["new", "build", "dev"];

/// Maximum length of a file in lines.
const MAX_LINES: usize = 400;

struct Source {
    path: PathBuf,
    module: String,
    /// How many steps of `super` stay within the layer. Tests inside a file are one module deeper.
    depth: usize,
    /// The number of modules around the code, its own included.
    nesting: usize,
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
    let mut sources = Vec::new();
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
                let nesting = parts.len() - usize::from(folder);
                let depth = nesting.saturating_sub(top);
                let module = module.to_owned();
                sources.push(Source { path, module, depth, nesting, text });
            }
        }
    }
    sources
}

/// The layer of a module, and how many parts of its path name the top of that layer.
fn layer<'p>(parts: &[&'p str]) -> (&'p str, usize) {
    match parts {
        ["capability", "grant_trait" | "plugin_grants", ..] => ("grants", 2),
        ["capability", _, part, ..] if GRANT_PARTS.contains(part) => ("grants", 3),
        [first, ..] => (first, 1),
        [] => ("", 0),
    }
}

/// The layers that the code uses.
fn used_layers(text: &str) -> BTreeSet<String> {
    // In a macro, `$folder` stands for the folder of every capability.
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

/// The code of a file without comments.
fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names that follow `prefix` in code; of a group in braces, each member's first name.
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

/// The longest chain of `super::` in code, without the tests in the file, which are a module of their own.
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
    if let Some((_, allowed)) = UNORDERED.iter().find(|(name, _)| *name == module) {
        return allowed.contains(&used);
    }
    let rank = |name: &str| ORDER.iter().position(|(layer, _)| *layer == name);
    match (rank(module), rank(used)) {
        (Some(from), Some(to)) => from < to,
        _ => false,
    }
}

/// A module with what belongs into it, for messages.
fn belongs(module: &str) -> String {
    let layer = ORDER.iter().find(|(layer, _)| *layer == module);
    layer.map_or_else(|| module.to_owned(), |(layer, what)| format!("{layer} ({what})"))
}

/// Whether a name means a module of this crate in this file, and not the foreign crate.
fn is_own_module(code: &str, name: &str) -> bool {
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    code.lines()
        .map(str::trim_start)
        .any(|line| line == format!("mod {name};") || (line.starts_with("use crate::") && words(line)))
}

/// How to mend a use that breaks the rule.
fn advice(module: &str, used: &str) -> String {
    let rank = |name: &str| ORDER.iter().position(|(layer, _)| *layer == name);
    if let Some((_, users)) = USERS.iter().find(|(name, _)| *name == used) {
        return format!("only {} may", users.join(", "));
    }
    match (rank(module), rank(used)) {
        (Some(from), Some(to)) if from > to => format!(
            "move what both need to `{module}` or below it, and pass results of `{module}` as return values"
        ),
        _ => format!("this test lists what `{module}` may use"),
    }
}

/// Code without comments and without the tests in the same file.
fn product_code(text: &str) -> String {
    code(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default())
}

/// The parts of a file's path below `src`, without its suffix.
fn parts(source: &Source) -> Vec<&str> {
    let parts: Vec<&str> = source.path.iter().map(|part| part.to_str().unwrap()).collect();
    let at = parts.iter().rposition(|part| *part == "src").unwrap();
    parts[at + 1..].iter().map(|part| part.trim_end_matches(".rs")).collect()
}

/// The module directly below a folder that a file belongs to. `None` for the folder's own file, a test or a file
/// elsewhere.
fn submodule(source: &Source, folder: &[&str]) -> Option<String> {
    let parts = parts(source);
    let first = *parts.strip_prefix(folder)?.first()?;
    (first != "mod" && !parts.contains(&"tests")).then(|| first.to_owned())
}

/// The folders with modules, each by the parts of its path.
fn folders(sources: &[Source]) -> BTreeSet<Vec<&str>> {
    let mut folders = BTreeSet::new();
    for source in sources {
        let parts = parts(source);
        folders.extend((1..parts.len()).map(|end| parts[..end].to_vec()));
    }
    folders.retain(|folder| !folder.contains(&"tests"));
    folders
}

/// The names that a folder's own file imports from its modules, each with its module.
fn re_exports(text: &str) -> BTreeMap<String, String> {
    let text = product_code(text);
    let mut names = BTreeMap::new();
    for statement in text.split("use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let Some((module, imported)) = statement.split_once("::") else { continue };
        for name in imported.split(',') {
            let name = name.rsplit("::").next().unwrap_or_default().rsplit(" as ").next().unwrap_or_default();
            let name = name.trim_matches(|c: char| c.is_whitespace() || "{}".contains(c));
            let name = if name == "self" { module } else { name };
            if !name.is_empty() {
                names.insert(name.to_owned(), module.trim().to_owned());
            }
        }
    }
    names
}

/// For each module of a folder, the neighbours that it uses.
fn neighbours(folder: &[&str], sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let own = || sources.iter().filter_map(|source| Some((source, submodule(source, folder)?)));
    let mut uses: BTreeMap<String, BTreeSet<String>> =
        own().map(|(_, module)| (module, BTreeSet::new())).collect();
    let is_head = |parts: &[&str]| parts == folder || parts == [folder, &["mod"]].concat();
    let head = sources.iter().find(|source| is_head(&parts(source)));
    let names = head.map(|head| re_exports(&head.text)).unwrap_or_default();
    for (source, module) in own() {
        let text = product_code(&source.text);
        let mut used = names_after(&text, &"super::".repeat(source.nesting - folder.len()));
        used.extend(names_after(&text, &format!("crate::{}::", folder.join("::"))));
        let used = used.into_iter().map(|name| names.get(&name).cloned().unwrap_or(name));
        let known: Vec<String> = used.filter(|used| *used != module && uses.contains_key(used)).collect();
        uses.get_mut(&module).unwrap().extend(known);
    }
    uses
}

/// All modules that a module uses, also through others.
fn reached<'u>(uses: &'u BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'u str> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<&str> = uses[from].iter().map(String::as_str).collect();
    while let Some(module) = pending.pop() {
        if reached.insert(module) {
            pending.extend(uses[module].iter().map(String::as_str));
        }
    }
    reached
}

/// The modules in circles, each with the neighbours through which it uses itself.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<&str, Vec<&str>> {
    let mut circles = BTreeMap::new();
    for (module, used) in uses {
        let back = used.iter().map(String::as_str).filter(|next| reached(uses, next).contains(&**module));
        let back: Vec<&str> = back.collect();
        if !back.is_empty() {
            circles.insert(module.as_str(), back);
        }
    }
    circles
}

#[test]
fn modules_of_a_folder_do_not_use_each_other_in_a_circle() {
    let sources = sources();
    let mut wrong = Vec::new();
    for folder in folders(&sources) {
        let (uses, folder) = (neighbours(&folder, &sources), folder.join("/"));
        for (module, back) in circles(&uses) {
            wrong.push(format!(
                "`{folder}/{module}` uses {}, which uses it in turn: \
                 move what both need to a module below them, and what joins them to a module above",
                back.join(", ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_use_only_what_is_below_them() {
    let sources = sources();
    assert!(sources.len() > 50, "the sources were not found");
    let mut breaches = Vec::new();
    for source in &sources {
        for used in used_layers(&source.text) {
            if !may_use(&source.module, &used) {
                let (path, module) = (source.path.display(), &source.module);
                breaches.push(format!("{path}: `{module}` must not use `{used}`: {}", advice(module, &used)));
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
fn only_the_publisher_writes_the_catalog() {
    let sources = sources();
    let writes = |source: &&Source| product_code(&source.text).contains("catalog.publish(");
    let writers: Vec<String> = sources.iter().filter(writes).map(|source| parts(source).join("/")).collect();
    assert_eq!(writers, ["watch/publisher"], "send what is to be published to the publisher");
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
            if named && !layers.contains(&source.module.as_str()) && !is_own_module(&code, name) {
                let path = source.path.display();
                let users: Vec<String> = layers.iter().map(|layer| belongs(layer)).collect();
                breaches.push(format!(
                    "{path}: {} must not use `{name}`: code that needs it belongs to {}",
                    belongs(&source.module),
                    users.join(" or ")
                ));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn the_other_crates_do_without_the_server() {
    for (folder, forbidden) in OTHER_CRATES {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let used = manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        let breaches: Vec<&str> = used.filter(|name| forbidden.contains(name)).collect();
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
            breaches.push(format!(
                "{path}: {module} must not use {used}; move what both need to a module next to them"
            ));
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
        .filter(|(lines, _)| *lines > MAX_LINES)
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
    assert!(belongs("mcp").contains("plain types") && belongs("watch") == "watch");
    assert!(
        is_own_module("use crate::transport::{http, stdio};", "http")
            && !is_own_module("use http::x;", "http")
    );
    let text = "use crate::capability::{X, y::Z}; crate::capability::http::grant::A crate::capability::plugin_grants::B";
    assert_eq!(used_layers(text).into_iter().collect::<Vec<_>>(), ["capability", "grants"]);
    for text in ["use crate::capability::plugin_grants::B", "use crate::capability::grant_trait::B"] {
        assert_eq!(used_layers(text).into_iter().collect::<Vec<_>>(), ["grants"]);
    }
    assert_eq!(climbs("use super::super::x;\n// super::super::super::y"), 2);
    let names =
        re_exports("pub use a::b::{\n C, D as E,\n};\nuse f::g;\n#[cfg(test)]\nmod tests {\n use h::I; }");
    let names: Vec<(&str, &str)> = names.iter().map(|(name, module)| (&**name, &**module)).collect();
    assert_eq!(names, [("C", "a"), ("E", "a"), ("g", "f")]);
    let used = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let uses = [("a", used(&["b", "d"])), ("b", used(&["c"])), ("c", used(&["a"])), ("d", used(&[]))];
    let uses = uses.map(|(name, used): (&str, BTreeSet<String>)| (name.to_owned(), used)).into();
    assert_eq!(circles(&uses), [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a"])].into());
}
