//! Valgrind, and the program of `tests` that counts with it what requests cost.
//!
//! Valgrind is installed where that disturbs nobody, on Debian as root, which is what CI is; elsewhere counting is
//! skipped with a message. No exact version is asked for, because Debian keeps only one.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::browser::{apt, is_debian, is_root};
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

const PACKAGE: &str = "valgrind";

/// The program that counts.
const PROGRAM: &str = "instruction_counts";

/// Otherwise that program builds the server once more.
const SERVER_IS_BUILT: &str = "PLUGPORT_SERVER_IS_BUILT";

/// Whether counting works here, after valgrind was installed where that is possible. A second call awaits the first.
pub(crate) fn prepare() -> Outcome<bool> {
    static FOUND: OnceLock<Result<bool, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| find_or_install().map_err(|failure| failure.to_string()));
    found.clone().map_err(Failure::new)
}

fn find_or_install() -> Outcome<bool> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        eprintln!("nothing is counted: the recorded counts are those of x86-64 and Linux");
        return Ok(false);
    }
    if let Some(version) = version() {
        eprintln!("instructions are counted with {version}");
        return Ok(true);
    }
    if !is_debian() || !is_root() {
        eprintln!("nothing is counted: there is no {PACKAGE}");
        return Ok(false);
    }
    run_command::step(&format!("Installing {PACKAGE}"), "", || {
        run_command::run(apt(&["update"]))?;
        run_command::run(apt(&["install", "--yes", "--no-install-recommends", PACKAGE]))
    })?;
    let version =
        version().ok_or_else(|| Failure::new(format!("{PACKAGE} is installed and does not run")))?;
    eprintln!("instructions are counted with {version}");
    Ok(true)
}

fn version() -> Option<String> {
    let output = Command::new(PACKAGE).arg("--version").stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Counts with the programs that `cargo verify` has built, and compares with what is recorded.
pub(crate) fn check() -> Outcome {
    run_command::run(program("debug", "check")?)
}

/// Builds optimised programs, of which `note` says how long it takes, counts with them, and prints the aims beside it.
pub(crate) fn measure(repository: &Repository, note: &str) -> Outcome {
    if !prepare()? {
        return Err(Failure::new(format!("{PACKAGE} is missing; install it to count instructions")));
    }
    let mut build = run_command::cargo(repository.root());
    build.args(["build", "--release", "--locked", "--workspace"]);
    build.args(["--bin", "plugport", "--bin", PROGRAM]);
    run_command::step("Building", note, || run_command::run(build))?;
    run_command::step("Counting", "", || run_command::run(program("release", "print")?))
}

/// The program that counts, in the folder of a profile, which is beside the folder of this program.
fn program(profile: &str, mode: &str) -> Outcome<Command> {
    let here = std::env::current_exe().map_err(|error| Failure::new(format!("where am I? {error}")))?;
    let target: PathBuf = here.ancestors().nth(2).unwrap_or(&here).to_owned();
    let mut command = Command::new(target.join(profile).join(PROGRAM));
    command.arg(mode).env(SERVER_IS_BUILT, "1");
    Ok(command)
}
