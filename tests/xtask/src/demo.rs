//! `cargo demo`: from a fresh clone to a running server with the example plugins.
//!
//! The last step becomes the server, so that Ctrl-C, signals and the exit status reach it and nothing stands between
//! a client and `--stdio`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::other_languages;
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::wasm::{self, RUST_BUILD};

pub(crate) fn run(repository: &Repository, mut arguments: Vec<String>) -> Outcome {
    let build_only = take(&mut arguments, "--build-only");
    if build_only && let Some(unused) = arguments.first() {
        return Err(Failure::usage(format!(
            "`{unused}` is for the server, which --build-only does not start"
        )));
    }
    wasm::require_target(repository)?;
    build_rust_plugins(repository)?;
    let server = build_server(repository)?;
    ship_files(repository, &server)?;
    other_languages::build(repository, &server)?;
    if build_only {
        return Ok(());
    }
    run_command::become_command(serve(repository, server, arguments))
}

/// `cargo plugins`: builds the example plugins. Plugins in other languages need a server that is already built.
pub(crate) fn plugins(repository: &Repository, arguments: &[String]) -> Outcome {
    let [server] = arguments else {
        return Err(Failure::usage("cargo plugins SERVER, where SERVER is the file of a built plugport"));
    };
    build_plugins(repository, Path::new(server))
}

pub(crate) fn build_plugins(repository: &Repository, server: &Path) -> Outcome {
    wasm::require_target(repository)?;
    std::thread::scope(|scope| {
        let others = scope.spawn(|| other_languages::build(repository, server));
        build_rust_plugins(repository)?;
        ship_files(repository, server)?;
        run_command::joined(others)
    })
}

pub(crate) fn build_rust_plugins(repository: &Repository) -> Outcome {
    let names = repository.plugin_names()?;
    let published = names.iter().filter(|name| !ships_files(repository, name)).cloned().collect();
    let listed = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let built = wasm::built(repository, RUST_BUILD);
    let note = first_time(&built, "(this takes about a minute the first time)");
    run_command::step(&format!("Building the plugins {listed} to target/plugins"), note, || {
        run_command::run(wasm::build(repository, &repository.plugins(), RUST_BUILD))?;
        wasm::publish(&published, &built, &repository.target("plugins"))
    })
}

/// Builds the plugins in Rust that ship files, as their authors would: cargo has compiled them, and only `plugport build`
/// adds the files.
fn ship_files(repository: &Repository, server: &Path) -> Outcome {
    for name in repository.plugin_names()?.iter().filter(|name| ships_files(repository, name)) {
        let component = format!("{name}.wasm");
        let built = repository.target(RUST_BUILD).join(&component);
        let mut command = Command::new(server);
        command
            .current_dir(repository.root())
            .arg("build")
            .arg(repository.relative(&repository.plugins().join(name)));
        command.args(["--no-load", "-o"]).arg(repository.relative(&built));
        wasm::set_component_environment(&mut command);
        run_command::forget_package(&mut command);
        command.env("CARGO_TARGET_DIR", repository.target(RUST_BUILD));
        // stdout is for the server.
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        run_command::step(&format!("Adding the files of plugins/{name}"), "", || run_command::run(command))?;
        wasm::publish_as(&built, &repository.target("plugins").join(&component))?;
    }
    Ok(())
}

/// Whether a plugin has files that the server serves.
fn ships_files(repository: &Repository, name: &str) -> bool {
    ["skills", "ui"].iter().any(|folder| repository.plugins().join(name).join(folder).is_dir())
}

/// Builds the server and returns its path.
fn build_server(repository: &Repository) -> Outcome<PathBuf> {
    let server = beside_this_program("plugport")?;
    let note = first_time(&server, "(this takes about 10 minutes the first time)");
    run_command::step("Building plugport", note, || {
        let mut cargo = run_command::cargo(repository.root());
        cargo.args(["build", "--locked", "--package", "plugport", "--bin", "plugport"]);
        run_command::run(cargo)
    })?;
    Ok(server)
}

fn first_time<'n>(result: &Path, note: &'n str) -> &'n str {
    if result.exists() { "" } else { note }
}

/// The same cargo builds this program and the server with the same profile, so they are in the same folder with any
/// cargo settings.
pub(crate) fn beside_this_program(name: &str) -> Outcome<PathBuf> {
    let this = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    Ok(this.with_file_name(name).with_extension(std::env::consts::EXE_EXTENSION))
}

fn serve(repository: &Repository, server: PathBuf, arguments: Vec<String>) -> Command {
    let mut command = Command::new(server);
    command.arg("serve");
    if !gives(&arguments, "--plugins") {
        command.arg("--plugins").arg(repository.target("plugins"));
    }
    if !gives(&arguments, "--config") {
        command.arg("--config").arg(repository.plugins().join("demo.toml"));
    }
    command.args(arguments);
    command
}

fn take(arguments: &mut Vec<String>, flag: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument != flag);
    arguments.len() < before
}

/// Whether the command line has an option, as `--option VALUE` or `--option=VALUE`.
fn gives(arguments: &[String], option: &str) -> bool {
    arguments
        .iter()
        .filter_map(|argument| argument.strip_prefix(option))
        .any(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn served(text: &str) -> String {
        let repository = Repository::here();
        let line = run_command::line(&serve(&repository, "plugport".into(), words(text)));
        line.replace(&format!("{}/", repository.root().display()), "")
    }

    #[test]
    fn the_demo_serves_the_example_plugins_with_their_configuration() {
        let expected = "plugport serve --plugins target/plugins --config plugins/demo.toml --stdio";
        assert_eq!(served("--stdio"), expected);
    }

    #[test]
    fn what_the_person_gives_replaces_the_demo_s_own() {
        assert_eq!(served("--config mine.toml --plugins=p"), "plugport serve --config mine.toml --plugins=p");
    }

    #[test]
    fn build_only_takes_no_arguments_for_the_server() {
        let error = run(&Repository::here(), words("--build-only --stdio")).unwrap_err().to_string();
        assert!(error.contains("`--stdio`"), "{error}");
    }
}
