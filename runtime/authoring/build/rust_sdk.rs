//! The manifests of the Rust SDK in a project. In the repository they inherit from the root's manifest, so a project
//! gets a workspace with the same values.
//!
//! Manifests are read line by line: they are this repository's own, and a TOML parser would be one more crate to
//! compile before everything else.

use std::collections::BTreeSet;
use std::path::Path;

use super::Result;

/// Sections of the SDK's manifests that are about its tests.
const ABOUT_TESTS: [&str; 2] = ["[[test]]", "[dev-dependencies]"];

/// The manifests, by their names in the table.
pub(crate) fn manifests(repository: &Path) -> Result<Vec<(String, String)>> {
    let read = |name: &str| std::fs::read_to_string(repository.join(name));
    let root = read("Cargo.toml")?;
    let [sdk, macros] = [read("sdk-guest/Cargo.toml")?, read("sdk-guest/macros/Cargo.toml")?]
        .map(|manifest| without_tests(&manifest));
    let workspace = workspace(&root, &[&sdk, &macros]);
    Ok(vec![
        ("sdk/rust/Cargo.toml".to_owned(), workspace),
        ("sdk/rust/sdk-guest/Cargo.toml".to_owned(), sdk),
        ("sdk/rust/sdk-guest/macros/Cargo.toml".to_owned(), macros),
    ])
}

/// The lines below a header.
fn section<'t>(text: &'t str, header: &'t str) -> impl Iterator<Item = &'t str> {
    let below = text.lines().skip_while(move |line| *line != header).skip(1);
    below.take_while(|line| !line.starts_with('['))
}

/// The key before `=`, without `.workspace`.
fn key(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    Some(key.strip_suffix(".workspace").unwrap_or(key)).filter(|key| !key.starts_with('#'))
}

fn without_tests(manifest: &str) -> String {
    let mut shipped = String::new();
    let mut keep = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            keep = !ABOUT_TESTS.contains(&line);
        }
        if keep {
            shipped.push_str(line);
            shipped.push('\n');
        }
    }
    shipped.trim_end().to_owned() + "\n"
}

/// The root manifest of the workspace: only what the members inherit, without the repository's lints.
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
