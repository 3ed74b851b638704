//! Valgrind, and the program of `tests` that counts with it what requests cost.
//!
//! Where valgrind is missing and cannot be installed, counting is skipped with a message.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::debian;
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

const PACKAGE: &str = "valgrind";

/// The program that counts.
const PROGRAM: &str = "instruction_counts";

/// Otherwise that program builds the server once more.
const SERVER_IS_BUILT: &str = "PLUGPORT_SERVER_IS_BUILT";

/// Whether counting works here, after valgrind was installed where that is possible. A second call awaits the first.
pub(crate) fn prepare() -> Outcome<bool> {
    static FOUND: OnceLock<Outcome<bool>> = OnceLock::new();
    FOUND.get_or_init(find_or_install).clone()
}

fn find_or_install() -> Outcome<bool> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        eprintln!("nothing is counted: the recorded counts are those of x86-64 and Linux");
        return Ok(false);
    }
    let version = debian::find_or_install(PACKAGE, || run_command::version(PACKAGE))?;
    match &version {
        Some(version) => eprintln!("instructions are counted with {version}"),
        None => eprintln!("nothing is counted: there is no {PACKAGE}"),
    }
    Ok(version.is_some())
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
