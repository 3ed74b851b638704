//! Runs a program to its end.

use std::process::Command;

use crate::build::program;

/// Its exit code, its stdout and its stderr.
pub fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Runs the server's binary with these arguments in an empty folder.
pub fn run_plugport(args: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    output(program().args(args).current_dir(folder.path()))
}
