//! An error and its causes in one line of the log or the audit.

use std::error::Error;

/// The error's message and the messages of its causes, joined by colons. Of a cause with several lines, only the first
/// line is kept.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        line = format!("{line}: {}", text.lines().next().unwrap_or_default());
        cause = error.source();
    }
    line
}
