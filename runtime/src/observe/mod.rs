//! What operators see: the log on stderr, the audit, metrics and traces, with escaped and redacted text of guests.
//!
//! Any layer may use `observe`; `observe` itself uses only `outgoing_connection` and `token_bucket`. Nothing here
//! writes to stdout, because in stdio mode stdout carries MCP messages and nothing else.

mod audit;
mod error_causes;
pub mod metrics;
mod redact;
pub mod trace;

pub(crate) use audit::SerializeDisplay;
pub use audit::{Audit, AuditWriter};
pub(crate) use error_causes::with_causes;
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
    if let Some(directive) = invalid_level(filter) {
        let levels = "error, warn, info, debug, trace and off";
        return Err(format!(
            "`{directive}` is no level; the levels are {levels}, and a target is followed by its level, as in plugin=debug"
        )
        .into());
    }
    // wasmtime_wasi_http logs a line for each malformed request of a guest, and a guest can send very many of them.
    let filter = EnvFilter::try_new(filter)?.add_directive("wasmtime_wasi_http=off".parse()?);
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = tracing_subscriber::fmt().with_writer(|| StderrWriter).with_ansi(ansi).with_env_filter(filter);
    // By default, tracing reports a line that it cannot write on stderr; if stderr is closed, that report panics and
    // ends the call. An operator who has closed stderr wants no log, but wants the server to go on.
    log.log_internal_errors(false).try_init()
}

/// Returns the first level in the filter that is not a valid level. `EnvFilter` would read an unknown word as a target
/// and then log nothing else.
fn invalid_level(filter: &str) -> Option<&str> {
    let directives = filter.split(',').map(str::trim).filter(|directive| !directive.is_empty());
    directives.filter_map(level).find(|level| level.parse::<LevelFilter>().is_err())
}

/// Returns the part of a directive that must be a level: what follows `=`, or the whole directive if it has no target.
/// If the directive has a span in brackets, the level follows the brackets.
fn level(directive: &str) -> Option<&str> {
    match directive.contains(['[', ']', '{', '}']) {
        true => directive.rsplit_once("]=").map(|(_, level)| level),
        false => Some(directive.rsplit_once('=').map_or(directive, |(_, level)| level)),
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
            assert_eq!(invalid_level(good), None, "{good}");
        }
        for bad in
            ["infoo", "warning", "info,plugin", "verbose,plugin=debug", "plugin=debgu", "info,a[b{c=1}]=x"]
        {
            assert!(invalid_level(bad).is_some(), "{bad}");
        }
    }
}
