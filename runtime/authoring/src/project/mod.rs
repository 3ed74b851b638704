//! A plugin project: its language, name and metadata, from the files in its folder. `plugport build` and `plugport dev`
//! both use it.

pub(crate) mod cargo_artifacts;
pub(crate) mod cargo_options;
pub(crate) mod dev_record;
pub(crate) mod embedded;
pub(crate) mod host_world;
pub(crate) mod language;
pub(crate) mod manifest;
pub(crate) mod packages;
pub(crate) mod python_sources;
pub(crate) mod source_names;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use plugport_common::plugin_name;
use serde_json::Value;

use language::{CPP_SUFFIXES, Language, ZIG_ENTRIES};
use manifest::Manifest;

/// Why a project cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProjectError {
    #[error("cannot read the project {}; name the folder of a plugin project", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("cannot read {}; make it readable", .0.display())]
    Manifest(PathBuf, #[source] io::Error),
    #[error("{} is not JSON; mend it", .0.display())]
    Package(PathBuf, #[source] serde_json::Error),
    #[error("{} is not as it should be; mend it", .0.display())]
    Toml(PathBuf, #[source] Box<toml::de::Error>),
    #[error(
        "{} has none of Cargo.toml, package.json, pyproject.toml, go.mod, plugin.toml and files of C, C++ or Zig, \
         so it is no plugin project; name another folder, give `plugport dev` the command that builds it with --build, \
         or begin one: plugport new NAME --lang LANGUAGE",
        .0.display()
    )]
    Unknown(PathBuf),
}

/// The folder of a project and the names of its files.
#[derive(Debug)]
pub(crate) struct ProjectDir {
    /// The canonical path: cargo names files so.
    pub(crate) root: PathBuf,
    files: BTreeSet<String>,
}

impl ProjectDir {
    pub(crate) fn read(path: &Path) -> Result<Self, ProjectError> {
        let unreadable = |error| ProjectError::Unreadable(path.to_owned(), error);
        let root = path.canonicalize().map_err(unreadable)?;
        let mut files = BTreeSet::new();
        for entry in std::fs::read_dir(&root).map_err(unreadable)? {
            files.insert(entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned());
        }
        Ok(Self { root, files })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.contains(name)
    }

    /// Whether a file's name in this folder or in `src` ends with `end`.
    fn has_any(&self, end: &str) -> bool {
        let source = || std::fs::read_dir(self.root.join("src")).into_iter().flatten().flatten();
        self.files.iter().any(|file| file.ends_with(end))
            || source().any(|entry| entry.file_name().as_encoded_bytes().ends_with(end.as_bytes()))
    }

    fn has_zig(&self) -> bool {
        ZIG_ENTRIES.iter().any(|entry| self.root.join(entry).is_file())
    }

    /// The content of `package.json`, if the file exists.
    pub(crate) fn package(&self) -> Result<Option<Value>, ProjectError> {
        if !self.has("package.json") {
            return Ok(None);
        }
        let path = self.root.join("package.json");
        match std::fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|error| ProjectError::Package(path, error))
            }
            Err(error) => Err(ProjectError::Manifest(path, error)),
        }
    }

    /// The project's language, if the files show it.
    pub(crate) fn language(&self, package: Option<&Value>) -> Option<Language> {
        let entry = package.and_then(|package| package.get("main")?.as_str());
        if self.has("Cargo.toml") {
            Some(Language::Rust)
        } else if let Some(entry) = entry {
            let typed = [".ts", ".mts", ".tsx"].iter().any(|end| entry.ends_with(end));
            Some(if typed { Language::TypeScript } else { Language::JavaScript })
        } else if package.is_some() {
            let typed = self.has("tsconfig.json") || self.has_any(".ts");
            Some(if typed { Language::TypeScript } else { Language::JavaScript })
        } else if self.has("pyproject.toml") {
            Some(Language::Python)
        } else if self.has("go.mod") {
            Some(Language::Go)
        } else if self.has_zig() {
            Some(Language::Zig)
        } else if CPP_SUFFIXES.iter().any(|end| self.has_any(end)) {
            Some(Language::Cpp)
        } else if self.has("plugin.toml") || self.has_any(".c") {
            Some(Language::C)
        } else {
            self.has_any(".py").then_some(Language::Python)
        }
    }
}

/// A project that `plugport build` can build.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) language: Language,
    /// The plugin's name.
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
}

impl Project {
    pub(crate) fn find(path: &Path) -> Result<Self, ProjectError> {
        let folder = ProjectDir::read(path)?;
        let package = folder.package()?;
        let language = folder.language(package.as_ref());
        Self::of(folder, language, package)
    }

    /// The project in `folder`, whose language is known.
    pub(crate) fn of(
        folder: ProjectDir,
        language: Option<Language>,
        package: Option<Value>,
    ) -> Result<Self, ProjectError> {
        let Some(language) = language else { return Err(ProjectError::Unknown(folder.root)) };
        let manifest = Manifest::read(&folder.root, language, package)?;
        let name = name(&folder.root, manifest.about.name.as_deref());
        Ok(Self { root: folder.root, language, name, manifest })
    }
}

/// The plugin's name: `called`, the project's own name, or else the name of its folder.
pub(crate) fn name(root: &Path, called: Option<&str>) -> String {
    let folder = root.file_name().unwrap_or_default().to_string_lossy();
    valid_name(called.unwrap_or(&folder))
}

/// Makes a valid plugin name of a project's name, without the scope of an npm package.
pub(crate) fn valid_name(called: &str) -> String {
    let last = called.rsplit('/').next().unwrap_or(called);
    let valid = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = last.chars().map(valid).collect();
    let name = name.trim_matches('-');
    plugin_name(name).map_or_else(|_| "plugin".to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The language of a project with these files, whose texts come after `=`.
    fn language(files: &[&str]) -> Result<Language, String> {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let (name, text) = file.split_once('=').unwrap_or((file, ""));
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Project::find(dir.path()).map(|project| project.language).map_err(|error| error.to_string())
    }

    #[test]
    fn the_language_is_told_from_the_files() {
        for (files, expected) in [
            (&["Cargo.toml", "package.json={}"][..], Language::Rust),
            (&["package.json={\"main\":\"src/plugin.ts\"}"], Language::TypeScript),
            (&["package.json={\"main\":\"plugin.js\"}", "tsconfig.json"], Language::JavaScript),
            (&["package.json={}", "src/plugin.ts"], Language::TypeScript),
            (&["package.json={}"], Language::JavaScript),
            (&["pyproject.toml", "plugin.toml"], Language::Python),
            (&["plugin.py"], Language::Python),
            (&["go.mod", "plugin.toml"], Language::Go),
            (&["plugin.toml"], Language::C),
            (&["src/plugin.c"], Language::C),
            (&["plugin.toml", "src/plugin.cpp", "src/parser.c"], Language::Cpp),
            (&["plugin.cc"], Language::Cpp),
            (&["go.mod", "plugin.cpp"], Language::Go),
            (&["plugin.toml", "src/plugin.zig", "src/parser.c"], Language::Zig),
            (&["plugin.zig"], Language::Zig),
            (&["plugin.c", "build.zig"], Language::C),
        ] {
            assert_eq!(language(files), Ok(expected), "{files:?}");
        }
        let unknown = language(&["README.md"]).unwrap_err();
        assert!(unknown.contains("has none of Cargo.toml, package.json") && unknown.contains("plugport new"));
        assert!(language(&["package.json={"]).unwrap_err().contains("is not JSON"));
        assert!(Project::find(Path::new("/no/such")).unwrap_err().to_string().contains("cannot read"));
    }

    #[test]
    fn a_project_names_its_plugin() {
        assert_eq!(name(Path::new("/p/My tool"), None), "My-tool");
        assert_eq!(name(Path::new("/p/x"), Some("@me/fetch.it")), "fetch-it");
        assert_eq!(valid_name("…"), "plugin");
    }
}
