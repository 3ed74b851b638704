//! A project's metadata and build settings, from the manifest of its language. For Rust, cargo reads `Cargo.toml`
//! during the build.

use std::io;
use std::path::{Path, PathBuf};

use plugport_common::Metadata;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ProjectError;
use super::host_world::HostWorld;
use super::language::Language;

/// A project's manifest.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    /// The metadata for the component.
    pub(crate) about: Metadata,
    /// The world of the project's own `wit` folder.
    pub(crate) world: Option<String>,
    /// The folder of the SDK.
    pub(crate) sdk: Option<PathBuf>,
    /// Python: the module with the plugin.
    pub(crate) app: Option<String>,
    /// Python: what the plugin uses beside what its sources import.
    pub(crate) worlds: Vec<HostWorld>,
    /// JavaScript and TypeScript: the file with the plugin.
    pub(crate) entry: Option<PathBuf>,
    /// C and C++, also beside Zig: additional options for the compiler.
    pub(crate) cflags: Vec<String>,
    /// C, C++ and Zig: more sources, each with one `*` in its last part if it stands for several.
    pub(crate) sources: Vec<String>,
}

impl Manifest {
    pub(crate) fn read(
        root: &Path,
        language: Language,
        package: Option<Value>,
    ) -> Result<Self, ProjectError> {
        match language {
            Language::Rust => Ok(Self::default()),
            Language::TypeScript | Language::JavaScript => Ok(of_package(&package.unwrap_or_default())),
            Language::Python => {
                Ok(toml(&root.join("pyproject.toml"))?.map(PyProject::manifest).unwrap_or_default())
            }
            Language::Go | Language::C | Language::Cpp | Language::Zig => {
                Ok(toml(&root.join("plugin.toml"))?.map(PluginToml::manifest).unwrap_or_default())
            }
        }
    }
}

/// Reads a TOML file; `None` if it does not exist.
fn toml<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ProjectError> {
    match std::fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text)
            .map(Some)
            .map_err(|error| ProjectError::Toml(path.to_owned(), Box::new(error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ProjectError::Manifest(path.to_owned(), error)),
    }
}

/// Reads `package.json`. Fields of an unexpected type are ignored.
fn of_package(package: &Value) -> Manifest {
    let text = |pointer: &str| package.pointer(pointer)?.as_str().map(str::to_owned);
    let source = text("/repository/url").or_else(|| text("/repository"));
    let source = source.map(|url| url.trim_start_matches("git+").trim_end_matches(".git").to_owned());
    let name = text("/name").map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
    Manifest {
        about: Metadata {
            name,
            version: text("/version"),
            licenses: text("/license"),
            source,
            homepage: text("/homepage"),
            description: text("/description"),
            authors: text("/author/name").or_else(|| text("/author")),
        },
        world: text("/plugport/world"),
        entry: text("/main").map(PathBuf::from),
        ..Manifest::default()
    }
}

/// `pyproject.toml`, in which other tools have sections of their own.
#[derive(Deserialize, Default)]
#[serde(default)]
struct PyProject {
    project: PyAbout,
    tool: PyTools,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PyAbout {
    name: Option<String>,
    version: Option<String>,
    license: Option<toml::Value>,
    description: Option<String>,
    urls: toml::Table,
    authors: Vec<PyAuthor>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PyAuthor {
    name: Option<String>,
    email: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PyTools {
    plugport: PyPlugport,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct PyPlugport {
    app: Option<String>,
    sdk: Option<PathBuf>,
    world: Option<String>,
    worlds: Vec<HostWorld>,
}

impl PyProject {
    fn manifest(self) -> Manifest {
        let Self { project, tool } = self;
        let url = |known: &[&str]| {
            let named = |key: &String| known.contains(&key.to_ascii_lowercase().as_str());
            project
                .urls
                .iter()
                .find(|(key, _)| named(key))
                .and_then(|(_, url)| url.as_str().map(str::to_owned))
        };
        let license = |license: toml::Value| {
            let text = license.as_str().or_else(|| license.get("text")?.as_str());
            text.map(str::to_owned)
        };
        let source = url(&["repository", "source", "source code", "code"]);
        let homepage = url(&["homepage", "home", "documentation"]);
        let authors: Vec<_> =
            project.authors.into_iter().filter_map(|author| author.name.or(author.email)).collect();
        Manifest {
            about: Metadata {
                name: project.name,
                version: project.version,
                licenses: project.license.and_then(license),
                source,
                homepage,
                description: project.description,
                authors: joined(authors),
            },
            world: tool.plugport.world,
            sdk: tool.plugport.sdk,
            app: tool.plugport.app,
            worlds: tool.plugport.worlds,
            ..Manifest::default()
        }
    }
}

/// `plugin.toml`, for languages that have no file of their own with a plugin's name and licence.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct PluginToml {
    name: Option<String>,
    version: Option<String>,
    license: Option<String>,
    source: Option<String>,
    homepage: Option<String>,
    description: Option<String>,
    authors: Vec<String>,
    world: Option<String>,
    sdk: Option<PathBuf>,
    cflags: Vec<String>,
    sources: Vec<String>,
}

impl PluginToml {
    fn manifest(self) -> Manifest {
        Manifest {
            about: Metadata {
                name: self.name,
                version: self.version,
                licenses: self.license,
                source: self.source,
                homepage: self.homepage,
                description: self.description,
                authors: joined(self.authors),
            },
            world: self.world,
            sdk: self.sdk,
            cflags: self.cflags,
            sources: self.sources,
            ..Manifest::default()
        }
    }
}

/// Names of several people in one text.
pub(crate) fn joined(people: Vec<String>) -> Option<String> {
    Some(people.join(", ")).filter(|all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: Language, file: &str, text: &str) -> Result<Manifest, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(file), text).unwrap();
        let package = (file == "package.json").then(|| serde_json::from_str(text).unwrap());
        Manifest::read(dir.path(), language, package).map_err(|error| error.to_string())
    }

    #[test]
    fn each_language_has_its_own_file_for_the_same() {
        let package = r#"{"name": "@me/tool", "version": "1.2.3", "license": "MIT", "main": "src/plugin.ts",
            "repository": {"type": "git", "url": "git+https://example.com/tool.git"}, "author": {"name": "Ada"},
            "description": "Does", "plugport": {"world": "mine"}}"#;
        let project = "[project]\nname = 'tool'\nversion = '1.2.3'\nlicense = {text = 'MIT'}\ndescription = 'Does'\n\
            authors = [{name = 'Ada', email = 'a@example.com'}]\nurls = {Source = 'https://example.com/tool'}\n\
            [tool.other]\nx = 1\n[tool.plugport]\nworld = 'mine'\napp = 'app'\nsdk = '../sdk'\n";
        let plugin = "name = 'tool'\nversion = '1.2.3'\nlicense = 'MIT'\nsource = 'https://example.com/tool'\n\
            description = 'Does'\nauthors = ['Ada']\nworld = 'mine'\nsdk = '../sdk'\ncflags = ['-DX']\n";
        for (language, file, text) in [
            (Language::TypeScript, "package.json", package),
            (Language::Python, "pyproject.toml", project),
            (Language::Go, "plugin.toml", plugin),
        ] {
            let found = read(language, file, text).unwrap();
            let Metadata { name, version, licenses, source, description, authors, homepage } = found.about;
            let expected = ["tool", "1.2.3", "MIT", "https://example.com/tool", "Does", "Ada"];
            let all = [name, version, licenses, source, description, authors].map(Option::unwrap);
            assert_eq!((all, homepage), (expected.map(str::to_owned), None), "{file}");
            assert_eq!(found.world.as_deref(), Some("mine"), "{file}");
        }
    }

    #[test]
    fn what_is_missing_is_no_fault_and_what_is_misspelt_is() {
        assert!(Manifest::read(Path::new("/no/such"), Language::C, None).unwrap().about.name.is_none());
        assert!(read(Language::JavaScript, "package.json", "[]").unwrap().entry.is_none());
        assert!(read(Language::C, "plugin.toml", "nmae = 'x'").unwrap_err().contains("plugin.toml"));
        let python = |text: &str| read(Language::Python, "pyproject.toml", text);
        assert!(python("[tool.plugport]\napps = 'x'").is_err());
        assert!(python("[tool.plugport]\nworlds = ['htp']").is_err());
        let named = python("[tool.plugport]\nworlds = ['config', 'http']").unwrap();
        assert_eq!(named.worlds, [HostWorld::Config, HostWorld::Http]);
    }
}
