//! Chromium, for the tests in which pages are clients.
//!
//! It is the one program that the tests install outside of `target`: npm and PyPI have none, and it needs the machine's
//! libraries. So it is installed only where that disturbs nobody, on Debian as root, which is what CI is. Elsewhere the
//! tests run with the browser that is there, or are skipped with a message. No exact version is asked for, because
//! Debian keeps only the newest one of Chromium: the version is printed instead.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::run_command::{self, Failure, Outcome};

/// Debian's package without a window, which is a third of the whole browser, and its program.
const PACKAGE: &str = "chromium-headless-shell";

/// Programs that will do; `tests/support/browser.rs` looks for the same.
const PROGRAMS: [&str; 4] = [PACKAGE, "chromium", "chromium-browser", "google-chrome"];

/// With this variable a test that finds no browser fails.
pub(crate) const IS_INSTALLED: &str = "PLUGPORT_BROWSER_IS_INSTALLED";

/// Whether there is a browser, after it was installed where that is possible. A second call awaits the first.
pub(crate) fn prepare() -> Outcome<bool> {
    static FOUND: OnceLock<Result<bool, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| find_or_install().map_err(|failure| failure.to_string()));
    found.clone().map_err(Failure::new)
}

fn find_or_install() -> Outcome<bool> {
    if let Some(version) = version() {
        eprintln!("browser: {version}");
        return Ok(true);
    }
    if !is_debian() || !is_root() {
        eprintln!("the tests with pages are skipped: there is no {}", PROGRAMS.join(", "));
        return Ok(false);
    }
    run_command::step(&format!("Installing {PACKAGE}"), "", || {
        run_command::run(apt(&["update"]))?;
        run_command::run(apt(&["install", "--yes", "--no-install-recommends", PACKAGE]))
    })?;
    let version =
        version().ok_or_else(|| Failure::new(format!("{PACKAGE} is installed and does not run")))?;
    eprintln!("browser: {version}");
    Ok(true)
}

/// The first browser that runs.
fn version() -> Option<String> {
    PROGRAMS.iter().find_map(|program| {
        let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(version)
    })
}

/// Other systems with apt have no package of this name.
pub(crate) fn is_debian() -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    release.lines().any(|line| line == "ID=debian")
}

pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// `apt-get`, which asks nothing.
pub(crate) fn apt(words: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-qq", "-o", "DPkg::Lock::Timeout=300"]).args(words);
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
    command
}
