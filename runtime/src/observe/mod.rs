//! What operators see: tracing to stderr, with everything that a guest wrote made harmless.
//!
//! Any layer may use this; it uses none. stdout is never touched, since in stdio mode it carries MCP and nothing else.

mod audit;
mod redact;
mod shell_quote;
mod stderr_writer;
mod truncate;

use std::fmt;

pub use audit::{Audit, AuditWriter};
pub use redact::Redactor;
pub(crate) use shell_quote::shell_quote;
pub(crate) use stderr_writer::{StderrWriter, spawn_stderr_writer};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
pub(crate) use truncate::truncate;

/// Starts logging to stderr at `filter`, for example `info` or `plugin=debug,warn`.
///
/// # Errors
/// When the filter cannot be parsed or logging was started before.
pub fn init_tracing(filter: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if let Some(word) = no_level(filter) {
        let levels = "error, warn, info, debug, trace and off";
        return Err(format!(
            "`{word}` is no level; the levels are {levels}, and a target has one too, as in plugin=debug"
        )
        .into());
    }
    // It has a line for each request that a guest gets wrong, and a guest can get a great many wrong.
    let filter = EnvFilter::try_new(filter)?.add_directive("wasmtime_wasi_http=off".parse()?);
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = tracing_subscriber::fmt().with_writer(|| StderrWriter).with_ansi(ansi).with_env_filter(filter);
    // A line that cannot be written would be told of on stderr again, and a panic there takes the call with it. Whoever has
    // closed stderr does not want the log, and does want to be served.
    log.log_internal_errors(false).try_init()
}

/// What stands where a level does and is none. The filter would take a word on its own for a target, show all of that and
/// nothing else.
fn no_level(filter: &str) -> Option<&str> {
    let words = filter.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.filter_map(level).find(|level| level.parse::<LevelFilter>().is_err())
}

/// Where a word of a filter has its level: it is one, or has one behind its target. That of a span comes after its brackets.
fn level(word: &str) -> Option<&str> {
    match word.contains(['[', ']', '{', '}']) {
        true => word.rsplit_once("]=").map(|(_, level)| level),
        false => Some(word.rsplit_once('=').map_or(word, |(_, level)| level)),
    }
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

/// Whether a character must not be shown as it is: controls, and all that Unicode says may be left out when it is shown
/// (`Default_Ignorable_Code_Point`: bidi controls, zero-width characters, fillers, the tag block), line and paragraph
/// separators. The two that choose how an emoji looks pass.
#[must_use]
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_on_its_own_is_a_level() {
        for good in [
            "info",
            "WARN",
            "info,plugin=debug",
            "off, plugport::watch=trace",
            "[call{tool=x,n}]=info",
            "3",
            "",
        ] {
            assert_eq!(no_level(good), None, "{good}");
        }
        for bad in
            ["infoo", "warning", "info,plugin", "verbose,plugin=debug", "plugin=debgu", "info,a[b{c=1}]=x"]
        {
            assert!(no_level(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn what_could_deceive_is_spelled_out() {
        assert_eq!(Escaped("plain ünïcode ✓").to_string(), "plain ünïcode ✓");
        assert_eq!(Escaped("a\nb\x1b[31m").to_string(), "a\\u{a}b\\u{1b}[31m");
        assert_eq!(Escaped("x\u{202e}y\u{e0041}").to_string(), "x\\u{202e}y\\u{e0041}");
    }
}
