//! `cargo bindings`: the code of the C and Go SDKs that is made from `wit/plugin.wit`.
//!
//! It is kept in the repository, so that an author of a plugin needs a compiler and no generator, and a Go module can be
//! fetched as it is. A test makes it anew and compares. The generators are libraries of the same release as the one behind
//! the Rust SDK's macro.
#![expect(clippy::print_stdout, reason = "saying what was written is what this program is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use wit_bindgen_core::{Files, WorldGenerator};
use wit_parser::Resolve;

/// What SDKs in other languages are made for: everything that a plugin may export.
const WORLD: &str = "plugin";

/// The module that generated Go code expects beside itself, and where the SDK has what is needed of it.
const GO_SUPPORT: (&str, &str) =
    ("go.bytecodealliance.org/pkg/wit", "github.com/plugport/plugport/sdk-guest/go/internal/wit");

/// The package of the generated Go code.
const GO_PACKAGE: &str = "github.com/plugport/plugport/sdk-guest/go/internal/bindings";

/// Contents by file name.
type Generated = BTreeMap<String, Vec<u8>>;

/// Generated code, and the folder that is its alone.
struct Bindings {
    folder: &'static str,
    generate: fn() -> Result<Generated>,
}

const BINDINGS: &[Bindings] = &[
    Bindings { folder: "sdk-guest/c/bindings", generate: c },
    Bindings { folder: "sdk-guest/go/internal/bindings", generate: go },
];

fn main() -> Result<()> {
    for Bindings { folder, generate } in BINDINGS {
        let place = root().join(folder);
        if place.exists() {
            std::fs::remove_dir_all(&place).with_context(|| format!("cannot empty {folder}"))?;
        }
        for (name, bytes) in generate()? {
            let path = place.join(&name);
            let parent = path.parent().context("a file lies in a folder")?;
            std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
            std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
            println!("{folder}/{name}");
        }
    }
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn c() -> Result<Generated> {
    // The type of the world is added when the component is made, whatever compiler was used.
    let options = wit_bindgen_c::Opts { no_object_file: true, ..Default::default() };
    generated(options.build())
}

fn go() -> Result<Generated> {
    let package = Some(GO_PACKAGE.to_owned());
    // Whether a machine has gofmt must not matter.
    let options = wit_bindgen_go::Opts {
        pkg_name: package,
        format: wit_bindgen_go::Format::False,
        ..Default::default()
    };
    let files = generated(options.build())?;
    let (theirs, ours) = GO_SUPPORT;
    let renamed = files.into_iter().map(|(name, bytes)| -> Result<_> {
        let text = String::from_utf8(bytes).with_context(|| format!("{name} is not text"))?;
        Ok((name, text.replace(theirs, ours).into_bytes()))
    });
    renamed.collect()
}

fn generated(mut generator: Box<dyn WorldGenerator>) -> Result<Generated> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(root().join("wit")).context("cannot read wit/")?;
    let world = resolve.select_world(&[package], Some(WORLD))?;
    let mut files = Files::default();
    generator.generate(&mut resolve, world, &mut files)?;
    Ok(files.iter().map(|(name, bytes)| (name.to_owned(), bytes.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(folder: &Path, prefix: &str, files: &mut Generated) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
            let name = format!("{prefix}{}", name.to_str().unwrap());
            if path.is_dir() {
                present(&path, &format!("{name}/"), files);
            } else {
                files.insert(name, std::fs::read(path).unwrap());
            }
        }
    }

    #[test]
    fn what_is_kept_is_what_is_generated() {
        for Bindings { folder, generate } in BINDINGS {
            let mut kept = Generated::new();
            present(&root().join(folder), "", &mut kept);
            let made = generate().unwrap();
            let differing: Vec<_> =
                made.keys().chain(kept.keys()).filter(|name| made.get(*name) != kept.get(*name)).collect();
            assert_eq!(differing, [""; 0], "{folder} is out of date; `cargo bindings` writes it anew");
        }
    }
}
