//! The manifests of the Rust SDK as it lies in a project. In the repository they inherit from the root's manifest, so in a
//! project they lie in a workspace that has the same to give; the lock says which versions of other crates were tested.
//!
//! Manifests are read line by line: they are this repository's own, and a build script that needs a parser of TOML would be
//! one more thing to compile before everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Result;

/// Parts of the SDK's manifest that are about its tests.
const ABOUT_TESTS: [&str; 2] = ["[[test]]", "[dev-dependencies]"];

/// The files, by their names in the table.
pub(crate) fn written(repository: &Path) -> Result<Vec<(String, String)>> {
    let read = |name: &str| std::fs::read_to_string(repository.join(name));
    let (root, lock) = (read("Cargo.toml")?, read("Cargo.lock")?);
    let (sdk, macros) = (read("sdk-guest/Cargo.toml")?, read("sdk-guest/macros/Cargo.toml")?);
    let shipped = without_tests(&sdk);
    let workspace = workspace(&root, &[&shipped, &macros]);
    let tests: BTreeSet<&str> = section(&sdk, "[dev-dependencies]").filter_map(key).collect();
    Ok(vec![
        ("sdk/rust/Cargo.toml".to_owned(), workspace),
        ("sdk/rust/sdk-guest/Cargo.toml".to_owned(), shipped),
        ("sdk/rust/sdk-guest/macros/Cargo.toml".to_owned(), macros),
        ("templates/rust/Cargo.lock".to_owned(), locked(&lock, &tests)?),
    ])
}

/// The lines below a header.
fn section<'t>(text: &'t str, header: &'t str) -> impl Iterator<Item = &'t str> {
    let below = text.lines().skip_while(move |line| *line != header).skip(1);
    below.take_while(|line| !line.starts_with('['))
}

/// What stands before `=`, or before `.workspace`.
fn key(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    Some(key.strip_suffix(".workspace").unwrap_or(key)).filter(|key| !key.starts_with('#'))
}

fn without_tests(manifest: &str) -> String {
    let mut kept = String::new();
    let mut keep = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            keep = !ABOUT_TESTS.contains(&line);
        }
        if keep {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.trim_end().to_owned() + "\n"
}

/// The root of the workspace: what the members inherit, and nothing else. The lints are the repository's affair.
fn workspace(root: &str, members: &[&str]) -> String {
    let used: BTreeSet<&str> = members
        .iter()
        .flat_map(|manifest| manifest.lines())
        .filter(|line| line.contains(".workspace = true") || line.contains("workspace = true,"))
        .filter_map(key)
        .collect();
    let own = |line: &&str| !line.trim().is_empty();
    let package: Vec<&str> = section(root, "[workspace.package]").filter(own).collect();
    let dependencies: Vec<String> = section(root, "[workspace.dependencies]")
        .filter(|line| key(line).is_some_and(|key| used.contains(key)))
        .map(str::to_owned)
        .collect();
    let head = "# The Plugport SDK for plugins in Rust, as `plugport new` has written it.\n[workspace]\n\
                resolver = \"3\"\nmembers = [\"sdk-guest\", \"sdk-guest/macros\"]\n";
    format!(
        "{head}\n[workspace.package]\n{}\n\n[workspace.dependencies]\n{}\n\n[workspace.lints]\n",
        package.join("\n"),
        dependencies.join("\n")
    )
}

/// A lock for the template: its own package, and of the repository's lock what the SDK leads to. Cargo takes out what a
/// project does not need after all.
fn locked(lock: &str, tests: &BTreeSet<&str>) -> Result<String> {
    let (head, packages) = lock.split_once("\n[[package]]\n").ok_or("Cargo.lock has no packages")?;
    let packages: Vec<&str> = packages.split("\n[[package]]\n").map(str::trim_end).collect();
    let mut by_name = BTreeMap::<&str, Vec<usize>>::new();
    for (at, package) in packages.iter().enumerate() {
        by_name.entry(quoted(package, "name").ok_or("a package has no name")?).or_default().push(at);
    }
    let mut kept = BTreeSet::new();
    let mut pending: Vec<usize> = by_name.get("plugport-sdk").cloned().unwrap_or_default();
    while let Some(at) = pending.pop() {
        if !kept.insert(at) {
            continue;
        }
        let package = packages.get(at).copied().unwrap_or_default();
        let is_sdk = quoted(package, "name") == Some("plugport-sdk");
        for (name, version) in dependencies(package).filter(|(name, _)| !(is_sdk && tests.contains(name))) {
            let all = by_name.get(name).into_iter().flatten().copied();
            let meant = |at: &usize| {
                let own = packages.get(*at).and_then(|package| quoted(package, "version"));
                version.is_none() || version == own
            };
            pending.extend(all.filter(meant));
        }
    }
    let mut blocks: Vec<String> =
        kept.iter().filter_map(|at| packages.get(*at)).map(|package| (*package).to_owned()).collect();
    blocks
        .push("name = \"{{name}}\"\nversion = \"0.1.0\"\ndependencies = [\n \"plugport-sdk\",\n]".to_owned());
    let blocks: Vec<String> = blocks.iter().map(|block| format!("\n[[package]]\n{block}\n")).collect();
    Ok(format!("{}\n{}", head.trim_end(), blocks.concat()))
}

/// The text that a key of a package has.
fn quoted<'t>(package: &'t str, key: &str) -> Option<&'t str> {
    let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
    line.strip_suffix('"')
}

/// Names of dependencies, with versions where there are several.
fn dependencies(package: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let entries = package.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
    entries.map(|entry| {
        let mut parts = entry.split(' ');
        (parts.next().unwrap_or_default(), parts.next())
    })
}
