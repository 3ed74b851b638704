//! The example plugins in other languages than Rust, built with `plugport build` as their authors would.
//!
//! A demo needs Rust and nothing else, so a plugin whose toolchain is missing is skipped, with a line that says how to
//! get it; a plugin that does not build is a failure. A component that is newer than its sources is not built again.
//! Most builds use one core, so they run at the same time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::languages::{Language, command};
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::wasm;

/// Folders without sources of a component.
const ASIDE: &[&str] = &["node_modules", "target", "__pycache__", "tests", "test"];

pub(crate) fn build(repository: &Repository, server: &Path) -> Outcome {
    let projects = repository.projects_in(&repository.plugins())?;
    std::thread::scope(|scope| {
        let builds: Vec<_> = projects
            .iter()
            .map(|project| scope.spawn(move || build_project(repository, project, server)))
            .collect();
        builds.into_iter().try_for_each(run_command::joined)
    })
}

fn build_project(repository: &Repository, project: &Path, server: &Path) -> Outcome {
    let Some(language) = Language::of(project) else { return Ok(()) };
    let name = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let remedy = language.remedy();
    if !language.is_ready(repository, project) {
        eprintln!("skipped plugins/{name}, in {}: `{remedy}` makes it buildable", language.name());
        return Ok(());
    }
    let plugin = OtherLanguagePlugin { repository, language, name: &name, project };
    plugin.build(server).map_err(|failure| {
        // The programs may be installed but too old.
        Failure::new(format!("plugins/{name}: {failure}\n`{remedy}` brings the versions that build it"))
    })
}

/// A plugin that cargo does not build.
struct OtherLanguagePlugin<'a> {
    repository: &'a Repository,
    language: Language,
    name: &'a str,
    project: &'a Path,
}

impl OtherLanguagePlugin<'_> {
    fn build(&self, server: &Path) -> Outcome {
        let file = format!("{}.wasm", self.name);
        let built = self.repository.target(wasm::RUST_BUILD).join(&file);
        if !self.is_current(&built) {
            let title = format!("Building plugins/{}, in {}", self.name, self.language.name());
            run_command::step(&title, "", || run_command::run(self.command(server, &built)?))?;
        }
        wasm::publish_as(&built, &self.repository.target("plugins").join(&file))
    }

    fn command(&self, server: &Path, built: &Path) -> Outcome<Command> {
        let folder = built.parent().unwrap_or(built);
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))?;
        let program = server.to_string_lossy();
        let mut command = command(self.repository, &program, self.repository.root());
        command.arg("build").arg(self.repository.relative(self.project));
        command.args(["--no-load", "-o"]).arg(self.repository.relative(built));
        // Components that are kept for the next build stay in this repository, where the tests have them too.
        command.env("XDG_CACHE_HOME", self.repository.target("cache"));
        // stdout is for the server.
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        Ok(command)
    }

    fn is_current(&self, built: &Path) -> bool {
        let made = std::fs::metadata(built).and_then(|file| file.modified());
        let root = self.repository.root();
        let [sdk, wit] = [root.join("sdk-guest").join(self.language.sdk()), root.join("wit")];
        let changed = [self.project, &sdk, &wit].into_iter().filter_map(newest).max();
        matches!((made, changed), (Ok(made), Some(changed)) if made > changed)
    }
}

/// When anything in a folder last changed.
fn newest(folder: &Path) -> Option<SystemTime> {
    let mut found = None;
    let mut pending: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Targets of links are visited by themselves.
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() && !ASIDE.contains(&&*name) && !name.starts_with('.') {
                pending.push(entry.path());
            } else if about.is_file() && !name.ends_with(".wasm") {
                found = found.max(about.modified().ok());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_built_again_when_something_in_it_is_newer() {
        let folder = std::env::temp_dir().join(format!("plugport-xtask-{}-foreign", std::process::id()));
        std::fs::create_dir_all(folder.join("node_modules")).unwrap();
        assert_eq!(newest(&folder), None);
        std::fs::write(folder.join("node_modules/x.js"), "").unwrap();
        std::fs::write(folder.join("out.wasm"), "").unwrap();
        assert_eq!(newest(&folder), None, "neither packages nor components are sources");
        std::fs::write(folder.join("plugin.py"), "").unwrap();
        assert!(newest(&folder).is_some());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_server_builds_it_as_an_author_would() {
        let repository = Repository::here();
        let project = repository.plugins().join("tables");
        let plugin = OtherLanguagePlugin {
            repository: &repository,
            language: Language::Python,
            name: "tables",
            project: &project,
        };
        let built = repository.target(wasm::RUST_BUILD).join("tables.wasm");
        let line = run_command::line(&plugin.command(Path::new("/somewhere/plugport"), &built).unwrap());
        assert!(
            line.ends_with("plugport build plugins/tables --no-load -o target/plugins-build/tables.wasm"),
            "{line}"
        );
    }
}
