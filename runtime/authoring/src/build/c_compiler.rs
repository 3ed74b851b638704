//! The compiler of C, C++ and Zig: Zig has all three, and a clang with a libc for WASI has the first two.

use std::path::{Path, PathBuf};

use super::tool_command::ToolCommand;
use super::toolchain::{ToolError, Toolchain, at_least, tool_output, version, with_pip};
use crate::project::language::Language;
use crate::project::{Project, packages};

/// The first version of clang that builds reactors correctly.
const OLDEST_CLANG: u32 = 17;

/// The version of Zig that the SDK for Zig is written in.
const OLDEST_ZIG: &str = "0.17.0";

/// Names of clang, the newest first. Debian's names have the version in them.
const CLANGS: [&str; 7] = ["clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17"];

/// A compiler.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CCompiler {
    program: PathBuf,
    /// The arguments before a command of Zig; `None` for clang.
    zig: Option<&'static [&'static str]>,
}

impl CCompiler {
    /// The first suitable one on this machine.
    pub(super) async fn find(project: &Project, tools: &Toolchain) -> Result<Self, ToolError> {
        let root = &project.root;
        let zig = find_zig(root, tools).await;
        if project.language == Language::Zig {
            let compiler =
                zig.ok_or_else(|| ToolError::Missing { what: "Zig", install: install_zig(root) })?;
            compiler.check_zig(root).await?;
            return Ok(compiler);
        }
        if let Some(zig) = zig {
            return Ok(zig);
        }
        for program in CLANGS.iter().filter_map(|name| tools.find(name)) {
            if is_suitable(root, &program).await {
                return Ok(Self { program, zig: None });
            }
        }
        let install = format!(
            "{}, or on Debian: apt install clang lld wasi-libc libclang-rt-dev-wasm32 (clang {OLDEST_CLANG} or newer)",
            install_zig(root)
        );
        Err(ToolError::Missing { what: "a C compiler for WebAssembly", install })
    }

    /// Compiles C, and links.
    pub(super) fn c(&self, root: &Path) -> ToolCommand {
        self.command("cc", root)
    }

    /// Compiles C++. Zig knows the headers of its library only so; clang goes by the names of files.
    pub(super) fn cpp(&self, root: &Path) -> ToolCommand {
        self.command("c++", root)
    }

    /// Compiles Zig to an object file.
    pub(super) fn zig(&self, root: &Path) -> ToolCommand {
        self.command("build-obj", root)
    }

    fn command(&self, word: &str, root: &Path) -> ToolCommand {
        let command = ToolCommand::new(&self.program, root);
        match self.zig {
            Some(before) => command.args(before).args([word]),
            None => command,
        }
    }

    async fn check_zig(&self, root: &Path) -> Result<(), ToolError> {
        let words: Vec<_> = self.zig.into_iter().flatten().copied().chain(["version"]).collect();
        let said = tool_output(root, &self.program, &words, &[]).await.unwrap_or_default();
        at_least(OLDEST_ZIG, &said, "Zig", &install_zig(root))
    }
}

async fn find_zig(root: &Path, tools: &Toolchain) -> Option<CCompiler> {
    // The one of pip first: what the error about an old Zig says to install has to be found then.
    if let Some(program) = ["python-zig", "zig"].iter().find_map(|name| tools.find(name)) {
        return Some(CCompiler { program, zig: Some(&[]) });
    }
    let program = tools.find("python3")?;
    tool_output(root, &program, &["-m", "ziglang", "version"], &[]).await?;
    Some(CCompiler { program, zig: Some(&["-m", "ziglang"]) })
}

fn install_zig(root: &Path) -> String {
    with_pip(root, packages::ZIG)
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

#[cfg(test)]
mod tests {
    use super::super::test_program::write_program;
    use super::*;

    fn project(root: &Path, language: Language) -> Project {
        Project { root: root.to_owned(), language, name: "x".to_owned(), manifest: Default::default() }
    }

    #[tokio::test]
    async fn a_compiler_that_can_do_it_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let tools = Toolchain::in_folders(vec![dir.path().to_owned()]);
        let project = project(dir.path(), Language::C);
        let find = async || CCompiler::find(&project, &tools).await;
        let put = |name: &str, script: &str| {
            write_program(&dir.path().join(name), &format!("#!/bin/sh\n{script}\n"));
        };
        let missing = find().await.unwrap_err().to_string();
        for said in ["pip install ziglang==0.17.0", "apt install clang lld wasi-libc libclang-rt-dev-wasm32"]
        {
            assert!(missing.contains(said), "{missing}");
        }
        put("clang", "case $1 in -dumpversion) echo 14.0.6;; *) echo /lib/crt1-reactor.o;; esac");
        put("clang-20", "case $1 in -dumpversion) echo 20.1.0;; *) echo crt1-reactor.o;; esac");
        put("python3", "exit 1");
        assert!(find().await.is_err(), "one is too old, one has no libc");
        put("clang-19", "case $1 in -dumpversion) echo 19.1.7;; *) echo /lib/crt1-reactor.o;; esac");
        assert_eq!(find().await.unwrap(), CCompiler { program: dir.path().join("clang-19"), zig: None });
        put("python3", "echo 0.17.0");
        assert_eq!(find().await.unwrap().zig, Some(&["-m", "ziglang"][..]));
        put("zig", "");
        assert_eq!(find().await.unwrap().zig, Some(&[][..]));
    }

    #[tokio::test]
    async fn a_plugin_in_zig_needs_a_new_zig_and_no_clang() {
        let dir = tempfile::tempdir().unwrap();
        let tools = Toolchain::in_folders(vec![dir.path().to_owned()]);
        let project = project(dir.path(), Language::Zig);
        let find = async || CCompiler::find(&project, &tools).await;
        let put = |name: &str, script: &str| {
            write_program(&dir.path().join(name), &format!("#!/bin/sh\n{script}\n"));
        };
        put("clang", "case $1 in -dumpversion) echo 19.1.7;; *) echo /lib/crt1-reactor.o;; esac");
        let missing = find().await.unwrap_err().to_string();
        assert!(missing.starts_with("Zig is not installed") && missing.contains("ziglang=="), "{missing}");
        put("zig", "echo 0.16.0");
        let old = find().await.unwrap_err().to_string();
        assert!(old.starts_with("Zig is version 0.16.0, and 0.17.0 or newer is needed"), "{old}");
        put("zig", "echo 0.17.0");
        assert!(find().await.is_ok());
    }
}
