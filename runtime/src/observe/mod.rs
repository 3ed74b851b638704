//! What operators see: tracing to stderr, with everything that a guest wrote made harmless.
//!
//! Any layer may use this; it uses none. stdout is never touched, since in stdio mode it carries MCP and nothing else.

mod audit;
mod redact;

pub use audit::{Audit, AuditWriter};
pub use plugport_common::{Escaped, is_deceptive};
pub(crate) use plugport_common::{StderrWriter, shell_quote, spawn_stderr_writer, truncate};
pub use redact::Redactor;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

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
    // A line that cannot be written would be told of on stderr again, and a panic there takes the call with it. Whoever
    // has closed stderr does not want the log, and does want to be served.
    log.log_internal_errors(false).try_init()
}

/// What stands where a level does and is none. The filter would take a word on its own for a target, show all of that
/// and nothing else.
fn no_level(filter: &str) -> Option<&str> {
    let words = filter.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.filter_map(level).find(|level| level.parse::<LevelFilter>().is_err())
}

/// Where a word of a filter has its level: it is one, or has one behind its target. That of a span comes after its
/// brackets.
fn level(word: &str) -> Option<&str> {
    match word.contains(['[', ']', '{', '}']) {
        true => word.rsplit_once("]=").map(|(_, level)| level),
        false => Some(word.rsplit_once('=').map_or(word, |(_, level)| level)),
    }
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
}
