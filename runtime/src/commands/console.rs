//! What the program itself says to a person: results on stdout, everything else on stderr.

use std::io::Write as _;

use crate::observe::Escaped;

/// Prints a result. A reader that has gone away has seen enough.
pub(super) fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a remark. Parts of it may be a stranger's words, so nothing in it can move the cursor or forge a line that is
/// not indented.
pub(super) fn remark(text: &str) {
    for line in text.split('\n') {
        let _ = writeln!(std::io::stderr(), "{}", Escaped(line));
    }
}

/// Prints one sentence and its causes, numbered.
pub(super) fn report(error: &anyhow::Error) {
    remark(&format!("plugport: {error}"));
    for (number, cause) in error.chain().skip(1).enumerate() {
        let text = cause.to_string();
        remark(&format!("  {}. {}", number + 1, text.replace('\n', "\n     ")));
    }
}
