//! Modules of one folder that use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source::{Source, parts, sources_of};
use crate::source_text::{names_after, product_code};

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
    let mut wrong = Vec::new();
    for of_crate in ["", "authoring", "common"] {
        let sources = sources_of(of_crate);
        for folder in folders(&sources) {
            let uses = neighbours(&folder, &sources);
            let folder = Path::new(of_crate).join("src").join(folder.join("/"));
            for (module, back) in circles(&uses) {
                wrong.push(format!(
                    "`{}` uses {}, which uses it in turn: \
                     move what both need to a module below them, and what joins them to a module above",
                    folder.join(module).display(),
                    back.join(", ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let names =
        re_exports("pub use a::b::{\n C, D as E,\n};\nuse f::g;\n#[cfg(test)]\nmod tests {\n use h::I; }");
    let names: Vec<(&str, &str)> = names.iter().map(|(name, module)| (&**name, &**module)).collect();
    assert_eq!(names, [("C", "a"), ("E", "a"), ("g", "f")]);
    let used = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let uses = [("a", used(&["b", "d"])), ("b", used(&["c"])), ("c", used(&["a"])), ("d", used(&[]))];
    let uses = uses.map(|(name, used): (&str, BTreeSet<String>)| (name.to_owned(), used)).into();
    assert_eq!(circles(&uses), [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a"])].into());
}
