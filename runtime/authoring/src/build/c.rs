//! C, C++ and Zig: their compiler makes a core module, and `componentize` makes the component.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::c_compiler::CCompiler;
use super::error::BuildError;
use super::toolchain::Toolchain;
use super::wit_world::WitWorld;
use super::{BuiltComponent, componentize, read_made};
use crate::project::Project;
use crate::project::language::{CPP_SUFFIXES, ZIG_ENTRIES};

/// Options for a small module.
const FLAGS: [&str; 4] = ["-target", "wasm32-wasi", "-Os", "-Wall"];

/// Options for C++. An exception could not be caught in a component, so the compiler rejects what throws one. Without
/// types at run time, the component is smaller.
const CPP_FLAGS: [&str; 3] = ["-std=c++20", "-fno-exceptions", "-fno-rtti"];

/// Options for Zig. An overflow or an index out of bounds ends the call with a message, and is no undefined behaviour.
/// The stack protector would add nothing to this, and would import random numbers.
const ZIG_FLAGS: [&str; 7] =
    ["-target", "wasm32-wasi", "-O", "safe", "-fstrip", "-fno-stack-protector", "-lc"];

/// Options for a module without a main. The default stack is too large or too small: 16 MiB with Zig, all of which
/// counts as memory of each instance, and 64 KiB with clang.
const LINK_FLAGS: [&str; 3] = ["-mexec-model=reactor", "-s", "-Wl,-z,stack-size=1048576"];

/// The standard library of C++.
const CPP_LIBRARIES: [&str; 2] = ["-lc++", "-lc++abi"];

pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
) -> Result<BuiltComponent, BuildError> {
    let compiler = CCompiler::find(project, tools).await?;
    let sdk = project.root.join(project.manifest.sdk.as_deref().unwrap_or_else(|| Path::new("sdk")));
    if !sdk.join("include").is_dir() {
        return Err(BuildError::NoSdk(sdk));
    }
    let (cpp, c): (Vec<_>, Vec<_>) = sources(project, &sdk)?.into_iter().partition(|file| is_cpp(file));
    let wit = WitWorld::of(project, None, scratch)?;
    let mut options = path_options(&project.root, &sdk).to_vec();
    for folder in ["include", "bindings"] {
        options.extend([OsString::from("-I"), sdk.join(folder).into()]);
    }
    let mut objects = compile_cpp(&compiler, project, &options, &cpp, scratch).await?;
    if let Some(plugin) = zig_entry(&project.root) {
        objects.push(compile_zig(&compiler, project, &sdk, plugin, scratch).await?);
    }
    let libraries: &[&str] = if cpp.is_empty() { &[] } else { &CPP_LIBRARIES };
    let core = scratch.join("core.wasm");
    compiler
        .c(&project.root)
        .args(FLAGS)
        .args(LINK_FLAGS)
        .args(&options)
        .args(&project.manifest.cflags)
        .args(objects)
        .args(c)
        .args(libraries)
        .args([OsString::from("-o"), core.clone().into()])
        .run()
        .await?;
    Ok(BuiltComponent::new(project, componentize::from_core_module(&read_made(&core)?, &wit)?))
}

/// Options that give the files of a project the same names in every folder: `__FILE__` would have the whole path.
fn path_options(root: &Path, sdk: &Path) -> [OsString; 2] {
    [(sdk, "sdk"), (root, ".")].map(|(folder, name)| {
        let mut option = option("-ffile-prefix-map=", folder);
        option.push("=");
        option.push(name);
        option
    })
}

/// Compiles the sources in C++ to object files. Their options are not for C, so one command cannot compile both.
async fn compile_cpp(
    compiler: &CCompiler,
    project: &Project,
    options: &[OsString],
    sources: &[PathBuf],
    scratch: &Path,
) -> Result<Vec<PathBuf>, BuildError> {
    let mut objects = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let object = scratch.join(format!("{number}.o"));
        compiler
            .cpp(&project.root)
            .args(FLAGS)
            .args(CPP_FLAGS)
            .args(options)
            .args(&project.manifest.cflags)
            .args([OsString::from("-c"), source.into(), "-o".into(), object.clone().into()])
            .run()
            .await?;
        objects.push(object);
    }
    Ok(objects)
}

/// Compiles the plugin and the SDK for Zig, which import each other, to one object file.
async fn compile_zig(
    compiler: &CCompiler,
    project: &Project,
    sdk: &Path,
    plugin: &Path,
    scratch: &Path,
) -> Result<PathBuf, BuildError> {
    let object = scratch.join("plugin.o");
    compiler
        .zig(&project.root)
        .args(ZIG_FLAGS)
        .args(["--dep", "plugin"])
        .args([option("-Mplugport=", &sdk.join("zig/plugport.zig"))])
        .args(["--dep", "plugport"])
        .args([option("-Mplugin=", plugin), option("-femit-bin=", &object)])
        .run()
        .await?;
    Ok(object)
}

/// An option whose value is a path.
fn option(before: &str, path: &Path) -> OsString {
    let mut option = OsString::from(before);
    option.push(path);
    option
}

/// The file that Zig compiles, if there is one; it names the others.
fn zig_entry(root: &Path) -> Option<&'static Path> {
    ZIG_ENTRIES.iter().map(Path::new).find(|entry| root.join(entry).is_file())
}

fn is_cpp(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    CPP_SUFFIXES.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// The sources in the project's folder, those of its manifest, and those of the SDK, each once.
fn sources(project: &Project, sdk: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let root = &project.root;
    let mut files = Vec::new();
    for folder in [root.clone(), root.join("src")] {
        for end in [".c"].iter().chain(&CPP_SUFFIXES) {
            files.extend(in_folder(&folder, "", end));
        }
    }
    for named in &project.manifest.sources {
        files.extend(matching(root, named).ok_or_else(|| BuildError::Sources(named.clone()))?);
    }
    if files.is_empty() && zig_entry(root).is_none() {
        return Err(BuildError::NoSources(root.clone()));
    }
    for folder in ["src", "bindings"] {
        files.extend(in_folder(&sdk.join(folder), "", ".c"));
    }
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    Ok(files)
}

/// The files that match a path with at most one `*` in its last part. `None` if there are none, or if the path leads
/// out of the project.
fn matching(root: &Path, named: &str) -> Option<Vec<PathBuf>> {
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(named).components().all(is_inside) {
        return None;
    }
    let path = root.join(named);
    let last = path.file_name()?.to_str()?;
    let files = match last.split_once('*') {
        Some((before, after)) => in_folder(path.parent()?, before, after),
        None if path.is_file() => vec![path],
        None => Vec::new(),
    };
    Some(files).filter(|files| !files.is_empty())
}

/// The files in a folder whose names begin and end like this, sorted.
fn in_folder(folder: &Path, before: &str, after: &str) -> Vec<PathBuf> {
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let long = name.len() >= before.len() + after.len();
        long && name.starts_with(before) && name.ends_with(after) && path.is_file()
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(fits).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(root: &Path) -> Project {
        let (language, manifest) = (crate::cli::Language::C, Default::default());
        Project { root: root.to_owned(), language, name: "x".to_owned(), manifest }
    }

    #[test]
    fn files_have_the_same_names_in_every_folder() {
        let options = path_options(Path::new("/home/ada/x"), Path::new("/home/ada/sdk"));
        assert_eq!(
            options,
            ["-ffile-prefix-map=/home/ada/sdk=sdk", "-ffile-prefix-map=/home/ada/x=."].map(OsString::from)
        );
    }

    #[test]
    fn sources_are_found_in_the_project_and_in_the_sdk() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let mut project = project(root);
        let found = |project: &Project| {
            let found = sources(project, &root.join("sdk")).map_err(|error| error.to_string())?;
            let short = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
            Ok::<_, String>(found.iter().map(short).collect::<Vec<_>>())
        };
        for file in ["sdk/src/plugport.c", "sdk/bindings/plugin.c", "lib/b.c", "lib/a.c", "lib/a.h"] {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "").unwrap();
        }
        assert!(found(&project).unwrap_err().contains("there are no files of C or C++"));
        std::fs::write(root.join("plugin.zig"), "").unwrap();
        assert_eq!(found(&project).unwrap(), ["sdk/src/plugport.c", "sdk/bindings/plugin.c"]);
        std::fs::write(root.join("plugin.c"), "").unwrap();
        assert_eq!(found(&project).unwrap(), ["plugin.c", "sdk/src/plugport.c", "sdk/bindings/plugin.c"]);
        project.manifest.sources = vec!["lib/*.c".to_owned(), "lib/a.c".to_owned()];
        assert_eq!(found(&project).unwrap()[..3], ["plugin.c", "lib/a.c", "lib/b.c"]);
        for file in ["src/b.c", "src/a.cpp", "main.cc"] {
            std::fs::create_dir_all(root.join("src")).unwrap();
            std::fs::write(root.join(file), "").unwrap();
        }
        assert_eq!(found(&project).unwrap()[..4], ["plugin.c", "main.cc", "src/b.c", "src/a.cpp"]);
        assert!(
            is_cpp(Path::new("src/a.cpp")) && is_cpp(Path::new("main.cc")) && !is_cpp(Path::new("cpp/a.c"))
        );
        project.manifest.sources = vec!["lib/*.x".to_owned()];
        assert!(found(&project).unwrap_err().contains("lib/*.x cannot be used"));
        let outside = [format!("../{}/plugin.c", root.file_name().unwrap().display())];
        for named in
            outside.into_iter().chain([format!("{}/lib/a.c", root.display()), "lib/../plugin.c".to_owned()])
        {
            project.manifest.sources = vec![named];
            assert!(found(&project).unwrap_err().contains("name files below the project"));
        }
    }
}
