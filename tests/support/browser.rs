//! Chromium, in which pages are clients of the server.
//!
//! It is a program of the machine, because npm has none: `cargo verify` installs it where it can. A machine without it
//! skips the tests, unless `cargo verify` has said by a variable that it is there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Names of the program. The first has no window to draw, so it is a third of the second.
const PROGRAMS: [&str; 4] = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// `cargo verify` sets this when it has found or installed a browser.
const IS_INSTALLED: &str = "PLUGPORT_BROWSER_IS_INSTALLED";

/// Where the browser is.
pub(crate) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    find_in(&folders)
}

fn find_in(folders: &[PathBuf]) -> Option<PathBuf> {
    let find = |name| folders.iter().map(|folder| folder.join(name)).find(|program| is_executable(program));
    PROGRAMS.iter().find_map(find)
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_run_is_no_browser() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join(PROGRAMS[0]), folder.path().join(PROGRAMS[1]));
        std::fs::create_dir(folder.path().join(PROGRAMS[2])).unwrap();
        std::fs::write(&first, "").unwrap();
        assert_eq!(find_in(&[folder.path().to_owned()]), None);
        std::fs::write(&second, "").unwrap();
        std::fs::set_permissions(&second, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_in(&[folder.path().to_owned()]), Some(second));
    }
}
