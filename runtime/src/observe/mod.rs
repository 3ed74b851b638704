//! What operators see: tracing to stderr, with everything that a guest wrote made harmless.
//!
//! Any layer may use this; it uses none. stdout is never touched, since in stdio mode it carries MCP and nothing else.

mod audit;

use std::fmt;

pub use audit::Audit;
use tracing_subscriber::EnvFilter;

/// Starts logging to stderr at `filter`, for example `info` or `plugin=debug,warn`.
///
/// # Errors
/// When the filter cannot be parsed or logging was started before.
pub fn start(filter: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // It has a line for each request that a guest gets wrong, and a guest can get a great many wrong.
    let filter = EnvFilter::try_new(filter)?.add_directive("wasmtime_wasi_http=off".parse()?);
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(ansi).with_env_filter(filter).try_init()
}

/// Text of a guest, with every character escaped that could forge a line, move a cursor or hide words: control
/// characters, and the format characters that reorder or vanish.
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(is_deceptive) {
            let (plain, tail) = rest.split_at(at);
            f.write_str(plain)?;
            let mut characters = tail.chars();
            if let Some(character) = characters.next() {
                write!(f, "{}", character.escape_unicode())?;
            }
            rest = characters.as_str();
        }
        f.write_str(rest)
    }
}

/// Whether a character must not be shown as it is: C0 and C1 controls, bidi controls, zero-width characters, the tag
/// block and line or paragraph separators.
#[must_use]
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fe00}'..='\u{fe0d}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_is_spelled_out() {
        assert_eq!(Escaped("plain ünïcode ✓").to_string(), "plain ünïcode ✓");
        assert_eq!(Escaped("a\nb\x1b[31m").to_string(), "a\\u{a}b\\u{1b}[31m");
        assert_eq!(Escaped("x\u{202e}y\u{e0041}").to_string(), "x\\u{202e}y\\u{e0041}");
    }
}
