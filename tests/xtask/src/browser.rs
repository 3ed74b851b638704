//! Chromium, for the tests in which pages are clients.
//!
//! It and valgrind are the programs that are installed outside of `target`: npm and PyPI have none, and it needs the
//! machine's libraries. Without it the tests are skipped.

use std::sync::OnceLock;

use crate::debian;
use crate::run_command::{self, Outcome};

/// Debian's package without a window, which is a third of the whole browser, and its program.
const PACKAGE: &str = "chromium-headless-shell";

/// Programs that will do; `tests/support/browser.rs` looks for the same.
const PROGRAMS: [&str; 4] = [PACKAGE, "chromium", "chromium-browser", "google-chrome"];

/// With this variable a test that finds no browser fails.
pub(crate) const IS_INSTALLED: &str = "PLUGPORT_BROWSER_IS_INSTALLED";

/// Whether there is a browser, after it was installed where that is possible. A second call awaits the first.
pub(crate) fn prepare() -> Outcome<bool> {
    static FOUND: OnceLock<Outcome<bool>> = OnceLock::new();
    FOUND.get_or_init(find_or_install).clone()
}

fn find_or_install() -> Outcome<bool> {
    let first_that_runs = || PROGRAMS.iter().find_map(run_command::version);
    let version = debian::find_or_install(PACKAGE, first_that_runs)?;
    match &version {
        Some(version) => eprintln!("browser: {version}"),
        None => eprintln!("the tests with pages are skipped: there is no {}", PROGRAMS.join(", ")),
    }
    Ok(version.is_some())
}
