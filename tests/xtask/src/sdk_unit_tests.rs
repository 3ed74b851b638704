//! The step `languages`: unit tests of the SDKs and of the plugins in other languages than Rust, and the type check of
//! TypeScript, which its build skips.
//!
//! The tests run natively, with the tools of each language; the components are tested by the suite. Each project is
//! tested in its own folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::languages::{Language, command};
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::toolchain;

/// Installs the toolchains, and tests every project.
pub(crate) fn verify(repository: &Repository, all: bool) -> Outcome {
    toolchain::prepare(repository, all)?;
    for project in repository.projects()? {
        let Some(language) = Language::of(&project) else { continue };
        if language == Language::Go && !language.is_ready(repository, &project) {
            let name = repository.relative(&project).display();
            eprintln!("skipped {name}: Go is not there; `{}` gets it", language.remedy());
            continue;
        }
        let tests = tests(repository, language, &project);
        let name = repository.relative(&project).display();
        if !tests.is_empty() {
            eprintln!("  {name}");
        }
        for test in tests {
            run_command::run(test).map_err(|failure| Failure::new(format!("in {name}: {failure}")))?;
        }
    }
    Ok(())
}

/// The commands that test a project, in order; empty without tests.
fn tests(repository: &Repository, language: Language, project: &Path) -> Vec<Command> {
    match language {
        Language::Python => python(repository, project).into_iter().collect(),
        Language::JavaScript => {
            let scripts = std::fs::read_to_string(project.join("package.json")).unwrap_or_default();
            let is_there = |script: &&str| scripts.contains(&format!("\"{script}\":"));
            let run = |script| with(repository, project, "npm", &format!("run --silent {script}"));
            ["check", "test"].into_iter().filter(is_there).map(run).collect()
        }
        Language::Go => vec![with(repository, project, "go", "test ./...")],
        Language::C => c(repository, project).into_iter().collect(),
    }
}

fn python(repository: &Repository, project: &Path) -> Option<Command> {
    project.join("tests").is_dir().then(|| {
        // A folder that is no package is not searched unless it is named.
        let package = project.join("tests/__init__.py").is_file();
        let words = if package { "-m unittest" } else { "-m unittest discover --start-directory tests" };
        let mut python = with(repository, project, "python3", words);
        python.arg("--quiet");
        python.env("PYTHONPATH", python_path(repository, project));
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        python
    })
}

fn c(repository: &Repository, project: &Path) -> Option<Command> {
    let script = ["test.sh", "tests/run.sh"].into_iter().find(|path| project.join(path).is_file())?;
    let mut shell = with(repository, project, "sh", script);
    // The machine's own compiler has sanitizers; the other one is always installed.
    let cc = if has(repository, "cc") { "cc" } else { "python3 -m ziglang cc" };
    shell.env("CC", cc);
    if cc != "cc" {
        shell.env("SANITIZE", "");
    }
    Some(shell)
}

fn with(repository: &Repository, project: &Path, program: &str, words: &str) -> Command {
    let mut command = command(repository, program, project);
    command.args(words.split_whitespace());
    command
}

fn has(repository: &Repository, program: &str) -> bool {
    let mut command = command(repository, program, repository.root());
    command.arg("--version");
    run_command::succeeds(command)
}

/// A plugin finds itself and the SDK, which is not installed anywhere.
fn python_path(repository: &Repository, project: &Path) -> std::ffi::OsString {
    let sdk = repository.root().join("sdk-guest/python/src");
    let folders: [PathBuf; 3] = [project.to_owned(), project.join("src"), sdk];
    std::env::join_paths(folders).unwrap_or_default()
}

#[cfg(test)]
mod tests_of_this {
    use super::*;

    #[test]
    fn a_python_project_finds_the_sdk() {
        let repository = Repository::here();
        let path = python_path(&repository, &repository.plugins().join("tables"));
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        assert!(folders.iter().any(|folder| folder.ends_with("sdk-guest/python/src")), "{folders:?}");
        assert!(folders.iter().any(|folder| folder.ends_with("plugins/tables")), "{folders:?}");
    }

    #[test]
    fn a_project_without_tests_is_not_tested() {
        let repository = Repository::here();
        let docs = repository.root().join("docs");
        for language in [Language::Python, Language::JavaScript, Language::C] {
            assert!(tests(&repository, language, &docs).is_empty(), "{language:?}");
        }
    }

    #[test]
    fn types_are_checked_where_there_are_any() {
        let repository = Repository::here();
        for (project, scripts) in [
            ("sdk-guest/typescript", ["check", "test"].as_slice()),
            ("plugins/markdown", &["check", "test"]),
            ("plugins/run-js", &["test"]),
            ("tests/guests/languages/typescript", &["check"]),
            ("tests/guests/languages/javascript", &[]),
        ] {
            let tests = tests(&repository, Language::JavaScript, &repository.root().join(project));
            let said = tests.iter().filter_map(|test| test.get_args().last()?.to_str());
            assert_eq!(said.collect::<Vec<_>>(), scripts, "{project}");
        }
    }
}
