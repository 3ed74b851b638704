//! Programs that tests put in place of compilers.

use std::path::Path;
use std::process::Command;

/// Writes a program. Another process writes it: a program that another test starts meanwhile would inherit the file
/// that this one has open, and Linux starts no program that is open for writing (`ETXTBSY`).
pub(super) fn write_program(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text).unwrap();
    let installed = Command::new("install").args(["-m", "755"]).arg(&draft).arg(path).status().unwrap();
    assert!(installed.success());
    std::fs::remove_file(draft).unwrap();
}
