//! What the program itself says to a person: results on stdout, everything else on stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this file is for")]

use std::process::ExitCode;

/// Prints a result.
pub(super) fn print(text: &str) {
    println!("{text}");
}

/// Prints a remark.
pub(super) fn remark(text: &str) {
    eprintln!("{text}");
}

/// Prints one sentence and its causes, numbered, and gives the exit code.
pub(super) fn report(error: &anyhow::Error, code: u8) -> ExitCode {
    eprintln!("plugport: {error}");
    for (number, cause) in error.chain().skip(1).enumerate() {
        let text = cause.to_string();
        let mut lines = text.lines();
        eprintln!("  {}. {}", number + 1, lines.next().unwrap_or_default());
        for line in lines {
            eprintln!("     {line}");
        }
    }
    ExitCode::from(code)
}
