//! The programs that build a language: where they are, and how to install them. All are found before anything is built.
//!
//! Python's virtual environments come before `PATH`, even if not activated, since pip can install Go, Zig and
//! componentize-py.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plugport_common::shell_quote;
use tokio::process::Command;

/// A tool is missing or too old.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ToolError {
    #[error("{what} is not installed; install it: {install}")]
    Missing { what: &'static str, install: String },
    #[error("{what} is version {found}, and {needed} or newer is needed; install it: {install}")]
    Old { what: &'static str, found: String, needed: &'static str, install: String },
}

/// The folders in which programs are searched for.
#[derive(Debug, Clone)]
pub(super) struct Toolchain {
    folders: Vec<PathBuf>,
}

impl Toolchain {
    /// The folders of the project in `root` and of this machine.
    pub(super) fn of(root: &Path) -> Self {
        let mut folders = vec![root.join(".venv/bin"), root.join("venv/bin")];
        folders.extend(std::env::var_os("VIRTUAL_ENV").map(|active| PathBuf::from(active).join("bin")));
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path));
        // Programs run in the project's folder, where relative paths would mean something else.
        folders.retain(|folder| folder.is_absolute());
        Self { folders }
    }

    #[cfg(test)]
    pub(super) fn in_folders(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// The first program of this name.
    pub(super) fn find(&self, program: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(program)).find(|path| is_program(path))
    }

    /// The program, or an error with the command that installs it.
    pub(super) fn require(&self, program: &'static str, install: &str) -> Result<PathBuf, ToolError> {
        self.find(program).ok_or_else(|| ToolError::Missing { what: program, install: install.to_owned() })
    }
}

/// Whether the path is an executable file.
pub(super) fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The command that installs a Python package, also where the system's Python is managed by the distribution. With the
/// folder, since the user may be in another one.
pub(super) fn with_pip(root: &Path, package: &str) -> String {
    format!("(cd {} && python3 -m venv .venv && .venv/bin/pip install {package})", shell_quote(root))
}

/// What a program prints, in the environment of the build. `None` if it fails.
pub(super) async fn tool_output(
    root: &Path,
    program: &Path,
    args: &[&str],
    environment: &[(&str, &str)],
) -> Option<String> {
    let mut command = Command::new(program);
    command.args(args).envs(environment.iter().copied()).current_dir(root).kill_on_drop(true);
    let output = command.output().await.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Checks that a version is new enough. A version without a number is the user's own build and passes.
pub(super) fn at_least(
    needed: &'static str,
    output: &str,
    what: &'static str,
    install: &str,
) -> Result<(), ToolError> {
    let found = output.trim_start_matches(|c: char| !c.is_ascii_digit());
    let numbers = version(found);
    if numbers.is_empty() || numbers >= version(needed) {
        return Ok(());
    }
    Err(ToolError::Old { what, found: found.to_owned(), needed, install: install.to_owned() })
}

/// The leading numbers of a version such as `1.27.3`: `1.27rc1` is older than any 1.27.
pub(super) fn version(text: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    for part in text.split('.') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let whole = digits.len() == part.len();
        numbers.extend(digits.parse::<u32>());
        if !whole {
            break;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_file_that_may_be_run_and_the_first_one_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| dir.path().join(name));
        for (folder, mode) in [(&first, 0o644), (&second, 0o755)] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("zig"), "").unwrap();
            std::fs::set_permissions(folder.join("zig"), PermissionsExt::from_mode(mode)).unwrap();
        }
        let tools = Toolchain::in_folders(vec![first, second.clone()]);
        assert_eq!(tools.find("zig"), Some(second.join("zig")));
        let missing = tools.require("go", "https://go.dev/dl").unwrap_err().to_string();
        assert_eq!(missing, "go is not installed; install it: https://go.dev/dl");
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(version("1.27.3") > version("1.27.1") && version("1.100") > version("1.27.1"));
        assert!(version("1.27") < version("1.27.1") && version("1.27rc1") < version("1.27.1"));
        assert_eq!(version("devel"), Vec::<u32>::new());
    }

    #[test]
    fn what_is_too_old_is_told_before_it_builds() {
        for said in ["go1.27.1", "go1.28", "v22.1.0", "devel", ""] {
            assert_eq!(at_least("1.27.1", said, "Go", "x"), Ok(()), "{said}");
        }
        let old = at_least("1.27.1", "go1.19.8", "Go", "https://go.dev/dl").unwrap_err().to_string();
        let told = "Go is version 1.19.8, and 1.27.1 or newer is needed; install it: https://go.dev/dl";
        assert_eq!(old, told);
    }

    #[tokio::test]
    async fn a_program_that_fails_has_said_nothing() {
        let sh = Path::new("/bin/sh");
        assert_eq!(tool_output(Path::new("/"), sh, &["-c", "echo 1; exit 1"], &[]).await, None);
        let said = tool_output(Path::new("/"), sh, &["-c", "echo 1 $SAID"], &[("SAID", "2")]).await;
        assert_eq!(said.as_deref(), Some("1 2"));
    }

    #[test]
    fn a_command_to_type_names_its_folder_so_that_a_shell_finds_it() {
        let told = with_pip(Path::new("/my tools/it's"), "x==1");
        assert!(told.starts_with(r"(cd '/my tools/it'\''s' && python3 -m venv .venv"), "{told}");
    }
}
