//! Events of the `tracing` crate. An event with fields becomes an object with them and `message`, one without becomes
//! its message. Spans are accepted and not sent: MCP's log has no notion of them.

use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::Level;

struct TracingBridge;

/// Makes the bridge the program's subscriber, unless there is one.
pub(super) fn install() {
    // An error says that there is one; it stays.
    let _ = tracing::subscriber::set_global_default(TracingBridge);
}

impl Subscriber for TracingBridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= tracing::Level::DEBUG
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let Some(backend) = super::current() else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        backend.log(level(*metadata.level()), Some(metadata.target()), &fields.finish().to_string());
    }

    // Spans are not enabled, so these are never reached; an id must not be zero all the same.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn finish(mut self) -> Value {
        match self.0.remove("message") {
            Some(message) if self.0.is_empty() => message,
            Some(message) => {
                self.0.shift_insert(0, "message".to_owned(), message);
                Value::Object(self.0)
            }
            None => Value::Object(self.0),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.insert(field, format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }
}

fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warning,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG | tracing::Level::TRACE => Level::Debug,
    }
}
