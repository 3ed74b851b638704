//! C and C++: any clang with a libc for WASI, which Zig has too. It makes a core module, and `componentize` makes the
//! component.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::error::BuildError;
use super::tool_command::ToolCommand;
use super::toolchain::{ToolError, Toolchain, tool_output, version, with_pip};
use super::wit_world::WitWorld;
use super::{BuiltComponent, componentize, read_made};
use crate::project::language::CPP_SUFFIXES;
use crate::project::{Project, packages};

/// The first version of clang that builds reactors correctly.
const OLDEST_CLANG: u32 = 17;

/// Names of clang, the newest first. Debian's names have the version in them.
const CLANGS: [&str; 7] = ["clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17"];

/// Options for a small module.
const FLAGS: [&str; 4] = ["-target", "wasm32-wasi", "-Os", "-Wall"];

/// Options for C++. An exception could not be caught in a component, so the compiler rejects what throws one. Without
/// types at run time, the component is smaller.
const CPP_FLAGS: [&str; 3] = ["-std=c++20", "-fno-exceptions", "-fno-rtti"];

/// Options for a module without a main. The default stack is too large or too small: 16 MiB with Zig, all of which
/// counts as memory of each instance, and 64 KiB with clang.
const LINK_FLAGS: [&str; 3] = ["-mexec-model=reactor", "-s", "-Wl,-z,stack-size=1048576"];

/// The standard library of C++.
const CPP_LIBRARIES: [&str; 2] = ["-lc++", "-lc++abi"];

/// A compiler, and the arguments before its options.
#[derive(Debug, PartialEq, Eq)]
struct CCompiler {
    program: PathBuf,
    /// For C, and to link both.
    c: &'static [&'static str],
    /// For C++. Zig knows the headers of its library only with these; clang goes by the names of files.
    cpp: &'static [&'static str],
}

pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
) -> Result<BuiltComponent, BuildError> {
    let compiler = compiler(&project.root, tools).await?;
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
    let objects = compile_cpp(&compiler, project, &options, &cpp, scratch).await?;
    let libraries: &[&str] = if cpp.is_empty() { &[] } else { &CPP_LIBRARIES };
    let core = scratch.join("core.wasm");
    ToolCommand::new(&compiler.program, &project.root)
        .args(compiler.c)
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
        let mut option = OsString::from("-ffile-prefix-map=");
        option.push(folder);
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
        ToolCommand::new(&compiler.program, &project.root)
            .args(compiler.cpp)
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

fn is_cpp(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    CPP_SUFFIXES.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// The first suitable compiler on this machine.
async fn compiler(root: &Path, tools: &Toolchain) -> Result<CCompiler, ToolError> {
    for name in ["zig", "python-zig"] {
        if let Some(program) = tools.find(name) {
            return Ok(CCompiler { program, c: &["cc"], cpp: &["c++"] });
        }
    }
    if let Some(program) = tools.find("python3")
        && tool_output(root, &program, &["-m", "ziglang", "version"], &[]).await.is_some()
    {
        return Ok(CCompiler { program, c: &["-m", "ziglang", "cc"], cpp: &["-m", "ziglang", "c++"] });
    }
    for program in CLANGS.iter().filter_map(|name| tools.find(name)) {
        if is_suitable(root, &program).await {
            return Ok(CCompiler { program, c: &[], cpp: &[] });
        }
    }
    let install = format!(
        "{}, or on Debian: apt install clang lld wasi-libc libclang-rt-dev-wasm32 (clang {OLDEST_CLANG} or newer)",
        with_pip(root, packages::ZIG)
    );
    Err(ToolError::Missing { what: "a C compiler for WebAssembly", install })
}

/// Whether this clang is new enough and has a libc for WASI.
async fn is_suitable(root: &Path, clang: &Path) -> bool {
    let major = tool_output(root, clang, &["-dumpversion"], &[]).await;
    let major = major.and_then(|output| version(&output).first().copied());
    // If clang does not find the file, it prints the name without a folder.
    let libc =
        tool_output(root, clang, &["--target=wasm32-wasi", "-print-file-name=crt1-reactor.o"], &[]).await;
    major.is_some_and(|major| major >= OLDEST_CLANG)
        && libc.is_some_and(|file| Path::new(&file).is_absolute())
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
    if files.is_empty() {
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
    use super::super::test_program::write_program;
    use super::*;

    fn project(root: &Path) -> Project {
        let (language, manifest) = (crate::cli::Language::C, Default::default());
        Project { root: root.to_owned(), language, name: "x".to_owned(), manifest }
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

    #[tokio::test]
    async fn a_compiler_that_can_do_it_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let tools = Toolchain::in_folders(vec![dir.path().to_owned()]);
        let put = |name: &str, script: &str| {
            write_program(&dir.path().join(name), &format!("#!/bin/sh\n{script}\n"));
        };
        let missing = compiler(dir.path(), &tools).await.unwrap_err().to_string();
        for said in ["pip install ziglang==0.17.0", "apt install clang lld wasi-libc libclang-rt-dev-wasm32"]
        {
            assert!(missing.contains(said), "{missing}");
        }
        put("clang", "case $1 in -dumpversion) echo 14.0.6;; *) echo /lib/crt1-reactor.o;; esac");
        put("clang-20", "case $1 in -dumpversion) echo 20.1.0;; *) echo crt1-reactor.o;; esac");
        put("python3", "exit 1");
        assert!(compiler(dir.path(), &tools).await.is_err(), "one is too old, one has no libc");
        put("clang-19", "case $1 in -dumpversion) echo 19.1.7;; *) echo /lib/crt1-reactor.o;; esac");
        let found = compiler(dir.path(), &tools).await.unwrap();
        assert_eq!(found, CCompiler { program: dir.path().join("clang-19"), c: &[], cpp: &[] });
        put("python3", "echo 0.17.0");
        assert_eq!(compiler(dir.path(), &tools).await.unwrap().c, ["-m", "ziglang", "cc"]);
        put("zig", "");
        let found = compiler(dir.path(), &tools).await.unwrap();
        assert_eq!((found.c, found.cpp), (&["cc"][..], &["c++"][..]));
    }
}
