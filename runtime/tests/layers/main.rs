//! The layer rule as a test. It reads the sources and fails if a module uses a layer that it must not know, if modules
//! of one folder use each other in a circle, if a foreign type is used in the wrong layer, or if a file is too long.
//! `docs/architecture.md` lists the layers. The other crates of `runtime` have rules of their own: which crates they
//! must not depend on.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod circles;
mod layer_rule;
mod source;
mod source_text;

use std::path::Path;

use layer_rule::{GRANT_PARTS, describe, hint, may_use, used_layers};
use source::{Source, parts, sources, sources_of};
use source_text::{climbs, code, is_own_module, names_after, product_code};

/// Crates that only some layers may use. Other layers get what such a crate does as plain types.
const CRATES: [(&str, &[&str]); 16] = [
    ("plugport_authoring", &["cli", "commands"]),
    ("plugport_common", &["observe", "catalog", "plugin", "watch", "commands"]),
    ("wasmtime", &["sandbox", "capability", "plugin", "bindings"]),
    ("wasmtime_wasi", &["sandbox", "call_env", "capability", "plugin"]),
    ("wasmtime_wasi_http", &["capability"]),
    ("axum", &["transport"]),
    ("hyper", &["transport", "capability", "access", "observe", "outgoing_connection"]),
    ("hyper_util", &["transport", "capability", "outgoing_connection"]),
    ("http", &["transport", "capability", "access", "config", "grants", "observe", "outgoing_connection"]),
    ("http_body", &["transport", "capability"]),
    ("clap", &["cli", "main"]),
    ("toml", &["toml_reader", "grants", "config", "approval", "commands"]),
    ("minisign_verify", &["config", "plugin"]),
    ("notify", &["watch"]),
    ("x509_parser", &["transport"]),
    ("prost", &["observe"]),
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

#[test]
fn modules_use_only_what_is_below_them() {
    let sources = sources();
    assert!(sources.len() > 50, "the sources were not found");
    let mut breaches = Vec::new();
    for source in &sources {
        for used in used_layers(&source.text) {
            if !may_use(&source.module, &used) {
                let (path, module) = (source.path.display(), &source.module);
                breaches.push(format!("{path}: `{module}` must not use `{used}`: {}", hint(module, &used)));
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
                let users: Vec<String> = layers.iter().map(|layer| describe(layer)).collect();
                breaches.push(format!(
                    "{path}: {} must not use `{name}`: code that needs it belongs to {}",
                    describe(&source.module),
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
