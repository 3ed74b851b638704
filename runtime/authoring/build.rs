//! Writes the table of embedded files for `plugport new` and `plugport build`: the WIT, the SDKs and the templates.
//!
//! The folders of this repository are the only source. Files that a project does not need are not embedded: tests,
//! build output and installed packages. The table is sorted by name, so that a build is reproducible.

#[path = "build/rust_sdk.rs"]
mod rust_sdk;
#[path = "build/tree.rs"]
mod tree;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tree::Tree;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    // Read at run time: two checkouts that share a target folder share this program too.
    let package =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets CARGO_MANIFEST_DIR")?);
    let repository = package.ancestors().nth(2).ok_or("the repository is missing")?;
    let mut tree = Tree::of(repository)?;
    for (name, text) in rust_sdk::manifests(repository)? {
        let file = out.join(name.replace('/', "+"));
        std::fs::write(&file, text)?;
        tree.files.insert(name, file);
    }
    std::fs::write(out.join("embedded.rs"), table(&tree)?)?;
    watch(&tree, repository, &package);
    Ok(())
}

/// The table as a Rust expression.
fn table(tree: &Tree) -> Result<String> {
    let mut table = String::from("&[\n");
    for (name, file) in &tree.files {
        let file = file.to_str().ok_or("the repository's path is not UTF-8")?;
        writeln!(table, "    ({name:?}, include_bytes!({file:?}) as &[u8]),")?;
    }
    table.push(']');
    Ok(table)
}

fn watch(tree: &Tree, repository: &Path, package: &Path) {
    let manifests = ["Cargo.toml", "sdk-guest/Cargo.toml", "sdk-guest/macros/Cargo.toml"];
    let manifests = manifests.map(|name| repository.join(name));
    let script = ["build.rs", "build"].map(|name| package.join(name));
    for path in tree.watched.iter().chain(&manifests).chain(&script) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
