//! Makes a project from a template and the SDK of its language. All files are written into a temporary folder next to
//! the project's path, which is then renamed, so the project is complete or absent.

use std::io;
use std::path::{Path, PathBuf};

use crate::project::embedded;
use crate::project::language::Language;

/// Why the project could not be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("{} is there already and is not empty; choose another name, or another folder", .0.display())]
    Exists(PathBuf),
    #[error("this program has no template for {0}; build it from a whole checkout of its repository")]
    NoTemplate(Language),
    #[error("cannot write {}; make the folder above it writable, or choose another", .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
}

/// Writes the project `name` to `path`, with further parts: `skill`, `ui`.
pub(super) fn write(
    path: &Path,
    name: &str,
    language: Language,
    parts: &[&str],
) -> Result<(), TemplateError> {
    let exists = || TemplateError::Exists(path.to_owned());
    let is_empty =
        |folder: &Path| std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if path.symlink_metadata().is_ok() && !is_empty(path) {
        return Err(exists());
    }
    if embedded::below(&folder(language)).next().is_none() {
        return Err(TemplateError::NoTemplate(language));
    }
    write_and_rename(path, name, language, parts).map_err(|error| match error.kind() {
        // Another process made it at the same time.
        io::ErrorKind::DirectoryNotEmpty => exists(),
        _ => TemplateError::Unwritable(path.to_owned(), error),
    })
}

fn folder(language: Language) -> String {
    format!("templates/{language}")
}

fn write_and_rename(path: &Path, name: &str, language: Language, parts: &[&str]) -> io::Result<()> {
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(parent)?;
    let temporary = tempfile::Builder::new().prefix(".plugport-new-").tempdir_in(parent)?;
    // A folder in the temporary one, which only its owner may read.
    let project = temporary.path().join(name);
    for (file, bytes) in files(name, language, parts) {
        embedded::write(&project, &file, &bytes)?;
    }
    std::fs::rename(project, path)
}

/// The files of a project.
fn files(name: &str, language: Language, parts: &[&str]) -> Vec<(String, Vec<u8>)> {
    let parts = parts.iter().map(|part| format!("templates/{part}"));
    let templates: Vec<String> = std::iter::once(folder(language)).chain(parts).collect();
    let own = templates.iter().flat_map(|template| embedded::below(template)).map(|(file, bytes)| {
        let (file, bytes) = (renamed(file), filled(bytes, name));
        let bytes = if file == "Cargo.lock" { sort_lockfile(bytes) } else { bytes };
        (file, bytes)
    });
    let sdk = format!("sdk/{}", language.sdk());
    let sdk = embedded::below(&sdk).map(|(file, bytes)| (format!("sdk/{file}"), bytes.to_vec()));
    let mut files: Vec<_> = own.chain(sdk).collect();
    if !files.iter().any(|(file, _)| file == "sdk/LICENSE") {
        files.extend(embedded::file("LICENSE").map(|text| ("sdk/LICENSE".to_owned(), text.to_vec())));
    }
    files
}

/// The name of a template's file in a project. It differs in the template, so that tools do not use the file there.
fn renamed(file: &str) -> String {
    let part = |part: &str| match part.strip_prefix('_') {
        Some(hidden) if !hidden.starts_with('_') => format!(".{hidden}"),
        _ => part.to_owned(),
    };
    let file = file.split('/').map(part).collect::<Vec<_>>().join("/");
    file.strip_suffix(".in").map_or_else(|| file.clone(), str::to_owned)
}

/// A template's file with the names filled in.
fn filled(bytes: &[u8], name: &str) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace("{{name}}", name).replace("{{snake}}", &name.replace('-', "_")).into_bytes(),
        // A binary file has no names to fill in.
        Err(_) => bytes.to_vec(),
    }
}

/// Sorts the packages of a Cargo.lock by name, as cargo does, once the project's own is among them.
fn sort_lockfile(lock: Vec<u8>) -> Vec<u8> {
    const PACKAGE: &str = "\n[[package]]\n";
    let text = String::from_utf8_lossy(&lock);
    let mut parts = text.split(PACKAGE);
    let head = parts.next().unwrap_or_default();
    let mut packages: Vec<&str> = parts.collect();
    packages.sort_by_key(|package| package.lines().next());
    let parts: Vec<&str> = std::iter::once(head).chain(packages).collect();
    parts.join(PACKAGE).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_and_files_get_their_own() {
        assert_eq!(renamed("Cargo.toml.in"), "Cargo.toml");
        assert_eq!(renamed("_gitignore"), ".gitignore");
        assert_eq!(renamed("_vscode/_x/settings.json.in"), ".vscode/.x/settings.json");
        assert_eq!(renamed("src/__init__.py"), "src/__init__.py");
        assert_eq!(filled(b"{{name}} {{snake}} {x}", "my-tool"), b"my-tool my_tool {x}");
        assert_eq!(filled(b"\xff{{name}}", "x"), b"\xff{{name}}");
    }

    #[test]
    fn a_lock_is_in_the_order_of_names() {
        let lock = |names: &[&str]| {
            let packages =
                names.iter().map(|name| format!("\n[[package]]\nname = \"{name}\"\nversion = \"1\"\n"));
            format!("version = 4\n{}", packages.collect::<String>()).into_bytes()
        };
        let mixed = lock(&["ab", "syn", "syn-x", "my-tool"]);
        assert_eq!(sort_lockfile(mixed), lock(&["ab", "my-tool", "syn", "syn-x"]));
    }

    #[test]
    fn a_project_has_its_names_its_sdk_and_nothing_left_to_fill_in() {
        for language in
            Language::ALL.into_iter().filter(|one| embedded::below(&folder(*one)).next().is_some())
        {
            let files = files("my-tool", language, &["skill", "ui"]);
            let has = |name: &str| files.iter().any(|(file, _)| file == name);
            for needed in
                ["README.md", ".gitignore", "sdk/LICENSE", "skills/greeting/SKILL.md", "ui/greeting.html"]
            {
                assert!(has(needed), "{language} has no {needed}");
            }
            let left = files.iter().filter(|(file, _)| !file.starts_with("sdk/")).find(|(_, bytes)| {
                bytes.windows(8).any(|window| window == b"{{name}}" || window == b"{{snake}")
            });
            assert!(left.is_none(), "{left:?}");
        }
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_half_written_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/my-tool");
        write(&path, "my-tool", Language::Rust, &[]).unwrap();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("name = \"my-tool\""), "{manifest}");
        let again = write(&path, "my-tool", Language::Rust, &[]).unwrap_err();
        assert!(again.to_string().contains("is there already"), "{again}");
        let empty = dir.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        write(&empty, "empty", Language::Rust, &[]).unwrap();
        std::fs::write(dir.path().join("file"), "mine").unwrap();
        assert!(matches!(
            write(&dir.path().join("file"), "file", Language::Rust, &[]),
            Err(TemplateError::Exists(_))
        ));
        let below = write(&dir.path().join("file/x"), "x", Language::Rust, &[]).unwrap_err();
        assert!(matches!(below, TemplateError::Unwritable(..)), "{below}");
        let left: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }
}
