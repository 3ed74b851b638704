//! The languages of plugins besides Rust: how to recognise one, whether this machine can build it, and which command
//! installs it.
//!
//! Programs that `cargo toolchain` installed come before those of the machine, so that the pinned versions are used.

use std::path::Path;
use std::process::Command;

use crate::repository::Repository;
use crate::run_command;

/// The language of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    JavaScript,
    Go,
    C,
}

/// The file that a project of each language has, more telling ones first: Go and C have a `plugin.toml` both.
const MARKS: &[(&str, Option<Language>)] = &[
    ("Cargo.toml", None),
    ("pyproject.toml", Some(Language::Python)),
    ("package.json", Some(Language::JavaScript)),
    ("go.mod", Some(Language::Go)),
    ("plugin.toml", Some(Language::C)),
    ("include/plugport.h", Some(Language::C)),
];

/// Succeeds with a Node.js that is new enough.
pub(crate) const NODE: &[&str] = &["-e", "process.exit(Number(parseInt(process.versions.node) < 20))"];

impl Language {
    /// The language of the project in a folder; `None` for Rust, and where there is no project.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        MARKS.iter().find(|(mark, _)| folder.join(mark).is_file()).and_then(|(_, language)| *language)
    }

    /// Its name for people. TypeScript is built and tested like JavaScript.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::Go => "Go",
            Self::C => "C",
        }
    }

    /// Its folder in `sdk-guest/`.
    pub(crate) fn sdk(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "typescript",
            Self::Go => "go",
            Self::C => "c",
        }
    }

    /// Whether this machine can build a project in it.
    pub(crate) fn is_ready(self, repository: &Repository, project: &Path) -> bool {
        let runs = |program: &str, words: &[&str]| {
            let mut command = command(repository, program, project);
            command.args(words);
            run_command::succeeds(command)
        };
        match self {
            Self::Python => runs("componentize-py", &["--version"]),
            Self::JavaScript => {
                project.join("node_modules/.bin/componentize-qjs").exists() && runs("node", NODE)
            }
            Self::Go => {
                let mut command = command(repository, "go", project);
                // Without it, Go would fetch another toolchain and report its version.
                command.args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local");
                command.output().is_ok_and(|said| is_new_go(&String::from_utf8_lossy(&said.stdout)))
            }
            Self::C => runs("zig", &["version"]) || runs("python3", &["-m", "ziglang", "version"]),
        }
    }

    /// The command that installs its toolchain.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Go => "cargo toolchain --all-languages",
            Self::Python | Self::JavaScript | Self::C => "cargo toolchain",
        }
    }
}

/// Whether Go's version is at least 1.27.1, which builds need.
fn is_new_go(said: &str) -> bool {
    let numbers = said.trim().trim_start_matches("go").split('.').map_while(|part| part.parse::<u32>().ok());
    numbers.collect::<Vec<_>>() >= vec![1, 27, 1]
}

/// A command in `folder` that finds the installed programs before those of the machine.
pub(crate) fn command(repository: &Repository, program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    let own = repository.target("toolchain").join("python/bin");
    let machine = std::env::var_os("PATH").unwrap_or_default();
    // The tests find there what Zig compiled of its libraries, since their cache home is this one.
    command.env("ZIG_GLOBAL_CACHE_DIR", repository.target("cache").join("zig"));
    // `PATH` cannot contain a folder with a separator in its name.
    if let Ok(path) = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&machine))) {
        command.env("PATH", path);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_recognised_by_its_file() {
        let folder = std::env::temp_dir().join(format!("plugport-xtask-{}-languages", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(Language::of(&folder), None);
        for (file, language) in [("plugin.toml", Language::C), ("go.mod", Language::Go)] {
            std::fs::write(folder.join(file), "").unwrap();
            assert_eq!(Language::of(&folder), Some(language));
        }
        std::fs::write(folder.join("Cargo.toml"), "").unwrap();
        assert_eq!(Language::of(&folder), None, "Rust is built by cargo");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_go_that_is_too_old_is_none() {
        assert!(["go1.27.1", "go1.27.3\n", "go1.28", "go2"].into_iter().all(is_new_go));
        assert!(!["go1.19.8", "go1.27", "go1.27rc1", ""].into_iter().any(is_new_go));
    }

    #[test]
    fn what_was_prepared_comes_first() {
        let repository = Repository::here();
        let command = command(&repository, "zig", repository.root());
        let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value).unwrap();
        let first = std::env::split_paths(path).next().unwrap();
        assert!(first.ends_with("target/toolchain/python/bin"), "{}", first.display());
    }
}
