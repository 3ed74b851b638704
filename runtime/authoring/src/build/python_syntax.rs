//! Lets Python itself check the syntax of a project's sources before `plugport dev` builds anything: componentize-py
//! takes seconds until it reads them, and tells of an error in the middle of its own. Another build has no such check:
//! its project may have files that nothing imports.

use std::path::PathBuf;

use super::error::BuildError;
use super::tool_command::ToolCommand;
use super::toolchain::Toolchain;
use crate::project::Project;

/// Compiles each file and prints errors as Python does; what fails for another reason may work in a component. That has
/// Python 3.14: an older one may not know all of its syntax, so its errors do not end the build.
const CHECK: &str = "\
import sys, traceback
failed = False
for name in sys.argv[1:]:
    try:
        with open(name, 'rb') as file:
            compile(file.read(), name, 'exec', dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        failed = True
        sys.stderr.write(''.join(traceback.format_exception_only(error)))
    except (OSError, MemoryError, RecursionError):
        pass
sys.exit(failed and sys.version_info >= (3, 14))
";

/// Maximum number of files whose names fit into one command; others are left to componentize-py.
const MAX_FILES: usize = 1_000;

/// Checks the files with the Python of the build, if there is one.
pub(super) async fn check_syntax(
    project: &Project,
    tools: &Toolchain,
    files: &[PathBuf],
) -> Result<(), BuildError> {
    let Some(python) = tools.find("python3").or_else(|| tools.find("python")) else { return Ok(()) };
    let names = files.iter().take(MAX_FILES).map(|file| file.strip_prefix(&project.root).unwrap_or(file));
    // Without the user's environment, site packages and compiled files; warnings are shown by the tests of the author.
    let command =
        ToolCommand::new(&python, &project.root).args(["-I", "-S", "-B", "-W", "ignore", "-c", CHECK]);
    match command.args(names).run().await {
        Err(BuildError::Failed(..)) => Err(BuildError::Syntax),
        checked => checked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::language::Language;

    #[tokio::test]
    async fn a_file_that_python_cannot_read_stops_the_build_if_the_python_is_new_enough() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let project = Project {
            root: root.clone(),
            language: Language::Python,
            name: "x".to_owned(),
            manifest: Default::default(),
        };
        let tools = Toolchain::in_folders(vec![root.clone()]);
        let files = [root.join("plugin.py")];
        assert!(check_syntax(&project, &tools, &files).await.is_ok(), "there is no Python");
        let python = |text: &str| super::super::test_program::write_program(&root.join("python3"), text);
        python("#!/bin/sh\nfor last; do :; done; test \"$last\" = plugin.py\n");
        assert!(check_syntax(&project, &tools, &files).await.is_ok());
        python("#!/bin/sh\nexit 1\n");
        assert!(matches!(check_syntax(&project, &tools, &files).await, Err(BuildError::Syntax)));
    }
}
