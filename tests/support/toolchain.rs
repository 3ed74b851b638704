//! The toolchain of each language, prepared in `target/toolchain` by `cargo toolchain`.
//!
//! The first test that needs a toolchain runs this command, so a clean checkout needs no extra step. Go is large, and
//! is only used where it is installed; the other toolchains are required.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::build::root;

/// A language that plugins are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lang {
    Rust,
    TypeScript,
    JavaScript,
    Python,
    Go,
    C,
    Cpp,
    Zig,
}

impl Lang {
    /// The name of its folders.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Go => "go",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Zig => "zig",
        }
    }
}

/// The `PATH` with which components in this language can be built.
///
/// `None`, with a line on stderr, when an optional language is missing. Panics with the command to run when a required
/// one is missing.
#[expect(clippy::print_stderr, reason = "a test that did not run must not look like one that did")]
pub fn require(lang: Lang) -> Option<OsString> {
    if lang == Lang::Rust {
        return Some(path());
    }
    prepare();
    if lang == Lang::Go && !has_go() {
        let missing = "Go 1.27.1 or newer is not there; `cargo toolchain --all-languages` gets it";
        assert!(std::env::var_os("PLUGPORT_ALL_LANGUAGES").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
        return None;
    }
    Some(path())
}

/// The tests that build whole projects at the same time. With more of them, on two cores, an interpreter would not be
/// compiled within `compile_ms`.
static PROJECT_BUILDS: Semaphore = Semaphore::const_new(3);

/// Waits until few other tests build whole projects; this one may until the permit is dropped.
pub async fn project_build() -> SemaphorePermit<'static> {
    PROJECT_BUILDS.acquire().await.expect("nobody closes it")
}

/// Installs missing toolchains, once per test process.
fn prepare() {
    static PREPARED: OnceLock<()> = OnceLock::new();
    PREPARED.get_or_init(|| {
        let xtask = ["run", "--quiet", "--package", "plugport-xtask", "--", "toolchain"];
        let output =
            Command::new(env!("CARGO")).args(xtask).current_dir(root()).output().expect("cargo runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "run `cargo verify languages` to see this alone:\n{said}");
    });
}

/// The prepared toolchain comes first in `PATH`.
fn path() -> OsString {
    let own = PathBuf::from(root()).join("target/toolchain/python/bin");
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(own).chain(std::env::split_paths(&machine));
    std::env::join_paths(folders).expect("a folder of PATH has no colon")
}

/// The library of the installed Zig. With it, another Zig of the same version finds in the cache what this one has
/// compiled of it, since that cache goes by paths.
pub fn zig_library() -> Option<PathBuf> {
    let pythons = std::fs::read_dir(root().join("target/toolchain/python/lib")).ok()?;
    let library = |python: &Path| python.join("site-packages/ziglang/lib").canonicalize().ok();
    pythons.flatten().find_map(|python| library(&python.path()))
}

/// Whether the Go version of the builds is installed.
fn has_go() -> bool {
    let mut go = Command::new("go");
    go.args(["env", "GOVERSION"]).env("PATH", path()).env("GOTOOLCHAIN", "local");
    let Ok(output) = go.output() else { return false };
    let version = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("go").to_owned();
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next()) >= (1, 27, 1)
}
