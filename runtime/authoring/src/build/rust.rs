//! Rust: cargo makes the component. Cargo also reads `Cargo.toml`, since that may inherit from a workspace.

use std::path::Path;

use plugport_common::Metadata;
use serde::Deserialize;

use super::error::BuildError;
use super::tool_command::ToolCommand;
use super::toolchain::{ToolError, Toolchain, tool_output};
use super::{BuiltComponent, read_made};
use crate::child_output::print_line;
use crate::project::cargo_artifacts::Artifacts;
use crate::project::manifest::joined;
use crate::project::{Project, cargo_options, valid_name};

const TARGET: &str = "wasm32-wasip2";

const INSTALL: &str = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";

/// The output of `cargo metadata`.
#[derive(Deserialize)]
struct Packages {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: std::path::PathBuf,
    license: Option<String>,
    description: Option<String>,
    repository: Option<String>,
    homepage: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
}

pub(super) async fn build(project: &Project, tools: &Toolchain) -> Result<BuiltComponent, BuildError> {
    let root = &project.root;
    let cargo = tools.require("cargo", INSTALL)?;
    check_target(root, tools).await?;
    let metadata = ["metadata", "--no-deps", "--format-version", "1"];
    let packages = ToolCommand::new(&cargo, root).args(metadata).output().await?;
    let (name, about) = about(root, &packages)?;
    let mut artifacts = Artifacts::of(root);
    let each = |line: &str| {
        if !artifacts.parse_line(line) {
            print_line(line);
        }
    };
    let command = ToolCommand::new(&cargo, root).args(cargo_options::BUILD);
    command.envs(cargo_options::environment()).read(each).await?;
    let component = read_made(&artifacts.one()?.file)?;
    Ok(BuiltComponent { component, name, about, is_cached: false })
}

/// Checks that the standard library for the target is installed.
async fn check_target(root: &Path, tools: &Toolchain) -> Result<(), ToolError> {
    let Some(rustc) = tools.find("rustc") else { return Ok(()) };
    let libraries = tool_output(root, &rustc, &["--print", "target-libdir", "--target", TARGET], &[]).await;
    if libraries.is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Ok(());
    }
    let install = format!("rustup target add {TARGET}");
    Err(ToolError::Missing { what: "Rust's target wasm32-wasip2", install })
}

/// The plugin's name and the metadata of the package in `root`.
fn about(root: &Path, packages: &[u8]) -> Result<(String, Metadata), BuildError> {
    let all: Packages = serde_json::from_slice(packages).map_err(BuildError::Metadata)?;
    let manifest = root.join("Cargo.toml");
    let own = all.packages.into_iter().find(|package| package.manifest_path == manifest);
    let package = own.ok_or_else(|| BuildError::NoPackage(root.to_owned()))?;
    let about = Metadata {
        name: Some(package.name.clone()),
        version: Some(package.version),
        licenses: package.license,
        description: package.description.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        authors: joined(package.authors),
        source: package.repository,
        homepage: package.homepage,
    };
    Ok((valid_name(&package.name), about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_says_what_a_manifest_means() {
        let said = br#"{"packages":[
            {"name":"helper","version":"9.0.0","manifest_path":"/p/helper/Cargo.toml","license":null,
             "description":null,"repository":null,"homepage":null,"authors":[]},
            {"name":"my-tool","version":"0.1.0","manifest_path":"/p/my-tool/Cargo.toml","license":"MIT",
             "description":"Greets\n people","repository":"https://example.com","homepage":null,
             "authors":["Ada","Bob"],"targets":[]}]}"#;
        let (name, about) = about(Path::new("/p/my-tool"), said).unwrap();
        assert_eq!((name.as_str(), about.version.as_deref()), ("my-tool", Some("0.1.0")));
        assert_eq!(about.authors.as_deref(), Some("Ada, Bob"));
        assert_eq!(about.description.as_deref(), Some("Greets people"));
        let none = super::about(Path::new("/p"), said).unwrap_err();
        assert!(none.to_string().contains("is a workspace"), "{none}");
        assert!(super::about(Path::new("/p"), b"{").is_err());
    }

    #[tokio::test]
    async fn what_is_missing_is_named() {
        let project = Project {
            root: "/".into(),
            language: crate::cli::Language::Rust,
            name: "x".to_owned(),
            manifest: Default::default(),
        };
        let missing = build(&project, &Toolchain::in_folders(Vec::new())).await.err().unwrap();
        assert!(missing.is_usage() && missing.to_string().contains("https://sh.rustup.rs"), "{missing}");
    }
}
