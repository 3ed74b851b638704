//! Chromium, in which pages are clients of the server.
//!
//! It is a program of the machine, because npm has none: `cargo verify` installs it where it can. A machine without it
//! skips the tests, unless `cargo verify` has said by a variable that it is there.

use std::path::PathBuf;

/// Names of the program. The first has no window to draw, so it is a third of the second.
const PROGRAMS: [&str; 4] = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// `cargo verify` sets this when it has found or installed a browser.
const IS_INSTALLED: &str = "PLUGPORT_BROWSER_IS_INSTALLED";

/// Where the browser is.
pub(crate) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    PROGRAMS
        .iter()
        .find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file()))
}

/// Whether there is a browser.
///
/// Panics if there is none although `cargo verify` has installed one.
#[expect(clippy::print_stderr, reason = "a test that did not run must not look like one that did")]
pub fn is_there() -> bool {
    let found = program().is_some();
    if !found {
        let missing =
            format!("there is no browser ({}); on Debian: apt install {}", PROGRAMS.join(", "), PROGRAMS[0]);
        assert!(std::env::var_os(IS_INSTALLED).is_none(), "{missing}");
        eprintln!("skipped: {missing}");
    }
    found
}
