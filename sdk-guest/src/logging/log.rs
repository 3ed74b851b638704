//! Records of the `log` crate. The target becomes the logger's name; MCP has nothing below debug, so `trace!` stays
//! out.

use log::{Level as LogLevel, LevelFilter, Log, Metadata, Record};

use crate::Level;
use crate::call::text;

struct LogBridge;

/// Makes the bridge the program's logger, unless there is one.
pub(super) fn install() {
    if log::set_logger(&LogBridge).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

impl Log for LogBridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= LogLevel::Debug
    }

    fn log(&self, record: &Record<'_>) {
        let Some(backend) = super::current().filter(|_| self.enabled(record.metadata())) else {
            return;
        };
        backend.log(level(record.level()), Some(record.target()), &text(record.args()));
    }

    fn flush(&self) {}
}

fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warning,
        LogLevel::Info => Level::Info,
        LogLevel::Debug | LogLevel::Trace => Level::Debug,
    }
}
