//! The code of the Rust SDK: the imports once, and each interface that a plugin may export on its own.
//!
//! A plugin then has only the exports that it names, and the linker combines them into the component's type.

use anyhow::{Context as _, Result};
use wit_bindgen_rust::{Opts, WithOption};

use super::{Generated, packages, world_code};

/// The interfaces that a plugin may export.
const EXPORTS: &[&str] = &["completions", "prompts", "resources", "tools"];

const PARTIAL_EQ: &[&str] = &["PartialEq"];
const EQ: &[&str] = &["PartialEq", "Eq"];

/// Types that the SDK writes by hand.
const TYPES: &[(&str, &str)] = &[("plugport:plugin/types@0.1.0/error", "crate::error::Error")];
const HTTP_TYPES: &[(&str, &str)] = &[("plugport:plugin/http-client@0.1.0/failure", "crate::http::Failure")];

/// The modules that the exports share.
const SHARED: &[(&str, &str)] = &[
    ("plugport:plugin/types@0.1.0", "crate::bindings::types"),
    ("plugport:plugin/request@0.1.0", "crate::bindings::request"),
];

const REQUEST: &[(&str, &str)] = &[("plugport:plugin/request@0.1.0", "crate::bindings::request")];

pub(crate) fn generate() -> Result<Generated> {
    let mut files = Generated::new();
    for (world, options) in imports() {
        let (resolve, package) = packages()?;
        let code = world_code(Box::new(options.build()), resolve, package, Some(world))?;
        files.insert(format!("{world}.rs"), only_file(code)?);
    }
    for interface in EXPORTS {
        let (mut resolve, _) = packages()?;
        let world = format!(
            "package sdk:{interface}; world plugport-{interface} {{ export plugport:plugin/{interface}@0.1.0; }}"
        );
        let package = resolve.push_str("world", &world)?;
        let options = Opts { pub_export_macro: true, ..with(PARTIAL_EQ, SHARED) };
        let code = world_code(Box::new(options.build()), resolve, package, None)?;
        files.insert(format!("{interface}.rs"), only_file(code)?);
    }
    Ok(files)
}

/// The worlds of `wit/plugin.wit` that only import.
fn imports() -> [(&'static str, Opts); 5] {
    [
        ("config", foreign()),
        ("detaching", with(&[], REQUEST)),
        ("http", Opts { generate_unused_types: true, ..with(EQ, HTTP_TYPES) }),
        ("imports", Opts { generate_unused_types: true, ..with(PARTIAL_EQ, TYPES) }),
        ("keyvalue", foreign()),
    ]
}

/// For interfaces of other packages, which are not generated unless one asks for them.
fn foreign() -> Opts {
    Opts { generate_all: true, ..with(&[], &[]) }
}

/// Formatted, with these traits for each type, and these types or modules in the place of generated ones.
fn with(derives: &[&str], types: &[(&str, &str)]) -> Opts {
    let path = |(name, path): &(&str, &str)| ((*name).to_owned(), WithOption::Path((*path).to_owned()));
    Opts {
        format: true,
        additional_derive_attributes: derives.iter().map(|&derive| derive.to_owned()).collect(),
        with: types.iter().map(path).collect(),
        ..Opts::default()
    }
}

fn only_file(files: Generated) -> Result<Vec<u8>> {
    files.into_values().next().context("the generator wrote no file")
}
