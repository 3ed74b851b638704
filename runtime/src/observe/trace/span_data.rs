//! One ended span, as the exporter receives it.
//!
//! The size of a span is bounded, so that the bounded queue also bounds the memory: texts are cut, and events and links
//! beyond a maximum number are left out.

use std::borrow::Cow;
use std::sync::Arc;

use super::trace_context::{SpanId, TraceContext, TraceId};

/// Maximum length of an attribute's text and of a span's name, in bytes.
pub(super) const MAX_TEXT: usize = 256;

/// Maximum number of events of one span.
pub(super) const MAX_EVENTS: usize = 32;

/// Maximum number of links of one span.
pub(super) const MAX_LINKS: usize = 8;

/// The kind of a span, as OpenTelemetry defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of this program.
    Internal,
    /// A request that this program serves.
    Server,
    /// A request that this program sends.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text, which is cut when it is long.
    Text(Cow<'static, str>),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// True or false.
    Bool(bool),
}

/// A name and a value.
pub(super) type Attribute = (&'static str, Value);

/// The parent of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParentSpan {
    pub(super) id: SpanId,
    /// Whether the parent is a span of another program.
    pub(super) is_remote: bool,
}

/// Something that happened while a span ran.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpanEvent {
    pub(super) unix_nanos: u64,
    pub(super) name: &'static str,
    pub(super) attribute: Option<Attribute>,
}

/// An ended span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpanData {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    pub(super) state: Option<Arc<str>>,
    pub(super) parent: Option<ParentSpan>,
    pub(super) name: Cow<'static, str>,
    pub(super) kind: SpanKind,
    pub(super) begun_unix_nanos: u64,
    pub(super) ended_unix_nanos: u64,
    pub(super) attributes: Vec<Attribute>,
    pub(super) events: Vec<SpanEvent>,
    pub(super) links: Vec<TraceContext>,
    pub(super) has_failed: bool,
}

/// Cuts a text that is longer than [`MAX_TEXT`], between characters.
pub(super) fn bounded(text: Cow<'static, str>) -> Cow<'static, str> {
    if text.len() <= MAX_TEXT {
        return text;
    }
    let end = text.floor_char_boundary(MAX_TEXT);
    Cow::Owned(text.get(..end).unwrap_or_default().to_owned())
}

impl Value {
    /// The value, with its text cut to [`MAX_TEXT`].
    pub(super) fn bounded(self) -> Self {
        match self {
            Self::Text(text) => Self::Text(bounded(text)),
            other => other,
        }
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let long = Value::from("ä".repeat(200)).bounded();
        assert_eq!(long, Value::from("ä".repeat(128)));
        assert_eq!(Value::from("x").bounded(), Value::from("x"));
        assert_eq!(Value::from(u64::MAX), Value::Int(i64::MAX));
    }
}
