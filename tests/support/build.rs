//! Builds the server, guests and plugins with the repository's own commands, once per test process.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is inside the repository")
}

/// Every file below a folder of the repository.
pub fn files_below(folder: &str) -> Vec<PathBuf> {
    let (mut files, mut pending) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() { pending.push(path) } else { files.push(path) }
        }
    }
    files
}

/// A program that builds or installs something. It has the low priority that the server gives its compilers, so it
/// neither starves them nor delays a call whose time a test measures.
pub fn build_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "10"]).arg(program);
    command
}

/// Runs cargo in the repository; panics with its output if it fails.
fn cargo(args: &[&str]) {
    let mut command = build_command(env!("CARGO"));
    command.args(args).current_dir(root());
    // Cargo's variables for this package would make crates that read them compile again.
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    let output = command.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`cargo {}` failed:\n{said}", args.join(" "));
}

/// The server's binary.
pub fn binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            // A test target of the whole workspace, since `cargo test --workspace` has compiled its dependencies with
            // the same features. `cargo build --package plugport` would compile half of them again.
            let mut command = vec!["test", "--quiet", "--workspace", "--no-run", "--test", "layers"];
            command.extend((!cfg!(debug_assertions)).then_some("--release"));
            // `cargo verify` has built the server, with Clippy as its compiler.
            if std::env::var_os("PLUGPORT_SERVER_IS_BUILT").is_none() {
                cargo(&command);
            }
            // In the folder of this program; tests are one folder further down.
            let program = std::env::current_exe().expect("this program has a file");
            let folder = program.parent().expect("a file is in a folder");
            let folder = folder.ancestors().find(|folder| !folder.ends_with("deps"));
            folder.expect("target/debug").join("plugport")
        })
        .clone()
}

/// A command of the server's binary. Its cache and its state are in `target/`, where all tests share them.
pub fn program() -> Command {
    with_shared_homes(Command::new(binary()))
}

/// The same with the priority of [`build_command`], for `build` and `dev`.
pub fn build_program() -> Command {
    with_shared_homes(build_command(binary()))
}

fn with_shared_homes(mut command: Command) -> Command {
    command.env("XDG_CACHE_HOME", shared_cache_home()).env("XDG_STATE_HOME", shared_state_home());
    command
}

/// The XDG variables of a server of this folder: a state home in a hidden folder beside the plugins, and the cache home
/// that all tests share, so that each guest is compiled once.
pub fn xdg_homes(folder: &Path) -> [(&'static str, PathBuf); 2] {
    let [state, _] = unshared_xdg_homes(folder);
    [state, ("XDG_CACHE_HOME", shared_cache_home())]
}

/// The XDG variables of a server with an empty cache home of its own.
pub fn unshared_xdg_homes(folder: &Path) -> [(&'static str, PathBuf); 2] {
    [("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache")]
        .map(|(name, kind)| (name, folder.join(HOME).join(kind)))
}

/// The folder of those homes.
pub const HOME: &str = ".home";

/// Where servers of this folder have their sockets.
pub fn sockets(folder: &Path) -> PathBuf {
    folder.join(HOME).join("state/plugport/run")
}

/// The code cache below [`unshared_xdg_homes`].
pub fn code_cache(folder: &Path) -> PathBuf {
    folder.join(HOME).join("cache/plugport/compiled")
}

/// The state folder of the only server of this folder, unless its configuration names another one.
pub fn state_folder(folder: &Path) -> PathBuf {
    let all = folder.join(HOME).join("state/plugport");
    let found = std::fs::read_dir(&all).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = found.filter(|path| !path.ends_with("run")).collect();
    assert!(found.len() < 2, "several: {found:?}");
    found.pop().unwrap_or_else(|| all.join("none"))
}

/// A folder in `target/`, which is made if it is missing.
pub fn target(folder: impl AsRef<Path>) -> PathBuf {
    let folder = root().join("target").join(folder);
    std::fs::create_dir_all(&folder).expect("target/ can be written");
    folder
}

/// The state home that tests share when they do not read it.
pub fn shared_state_home() -> PathBuf {
    target("state")
}

/// The cache home that all tests share.
pub fn shared_cache_home() -> PathBuf {
    target("cache")
}

/// The code cache that all tests share, as a server with a configuration of its own names it with `compiled_cache_dir`.
pub fn shared_code_cache() -> PathBuf {
    shared_cache_home().join("plugport")
}

/// A guest of `tests/guests`, compiled.
pub fn guest(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| build_components(&["guests"]));
    found(root().join("target/guests").join(format!("{name}.wasm")))
}

/// A plugin of `plugins`, compiled.
pub fn plugin(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        // `cargo demo --build-only` would build the server again, with features of its own.
        let server = binary();
        let server = server.to_str().expect("the folder's path is UTF-8");
        build_components(&["plugins", server]);
    });
    found(root().join("target/plugins").join(format!("{name}.wasm")))
}

/// Runs `cargo guests` or `cargo plugins`, unless `cargo verify` has done so.
fn build_components(command: &[&str]) {
    if std::env::var_os("PLUGPORT_COMPONENTS_ARE_BUILT").is_none() {
        cargo(&[&["run", "--quiet", "--package", "plugport-xtask", "--"], command].concat());
    }
}

fn found(file: PathBuf) -> PathBuf {
    assert!(file.is_file(), "{} was not built", file.display());
    file
}
