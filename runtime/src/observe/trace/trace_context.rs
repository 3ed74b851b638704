//! W3C Trace Context: the headers `traceparent` and `tracestate`, as a client sends them.
//!
//! Any client can send both headers, and exports and requests of guests repeat what is read here. So the types cannot
//! hold an id of zero or a text that is no valid header value. As the standard says, a `traceparent` with a mistake
//! counts as absent.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::Arc;

/// Length of a `traceparent` of version 00, in bytes.
const TRACEPARENT: usize = 55;

/// Maximum length of a `traceparent` of a later version, in bytes.
const MAX_TRACEPARENT: usize = 256;

/// Maximum length of a `tracestate`, in bytes. A longer one is ignored.
const MAX_TRACESTATE: usize = 512;

/// Maximum number of members of a `tracestate`.
const MAX_MEMBERS: usize = 32;

/// The id of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceId(NonZeroU128);

/// The id of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanId(NonZeroU64);

/// The span of another program in which a request was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    /// Whether the other program records its span.
    pub(super) is_sampled: bool,
    pub(super) state: Option<Arc<str>>,
}

impl TraceId {
    /// A random id; `None` when the system has no randomness.
    pub(super) fn random() -> Option<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        NonZeroU128::new(u128::from_be_bytes(bytes)).map(Self)
    }

    pub(super) fn bytes(self) -> [u8; 16] {
        self.0.get().to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl SpanId {
    /// A random id; `None` when the system has no randomness.
    pub(super) fn random() -> Option<Self> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).ok()?;
        NonZeroU64::new(u64::from_be_bytes(bytes)).map(Self)
    }

    pub(super) fn bytes(self) -> [u8; 8] {
        self.0.get().to_be_bytes()
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl TraceContext {
    /// Reads the two headers. Returns `None` if the `traceparent` is invalid: the request then counts as one without a
    /// trace. An invalid `tracestate` is ignored.
    #[must_use]
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let (fields, later) = traceparent.split_at_checked(TRACEPARENT)?;
        let mut fields = fields.split('-');
        let version = hex(fields.next()?, 2)?;
        let trace_id = NonZeroU128::new(hex(fields.next()?, 32)?)?;
        let span_id = NonZeroU64::new(u64::try_from(hex(fields.next()?, 16)?).ok()?)?;
        let flags = hex(fields.next()?, 2)?;
        let ends_well = match version {
            0 => later.is_empty(),
            0xff => false,
            _ => (later.is_empty() || later.starts_with('-')) && traceparent.len() <= MAX_TRACEPARENT,
        };
        if !ends_well || fields.next().is_some() {
            return None;
        }
        Some(Self {
            trace_id: TraceId(trace_id),
            span_id: SpanId(span_id),
            is_sampled: flags & 1 == 1,
            state: tracestate.map(str::trim).filter(|state| is_tracestate(state)).map(Arc::from),
        })
    }
}

/// Reads a number of exactly `digits` lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_hex { u128::from_str_radix(text, 16).ok() } else { None }
}

/// Whether a text is a list of `key=value` members in visible ASCII, which can be forwarded unchanged.
fn is_tracestate(text: &str) -> bool {
    let is_member = |member: &str| {
        let member = member.trim();
        member.is_empty()
            || member.split_once('=').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
    };
    (1..=MAX_TRACESTATE).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.split(',').count() <= MAX_MEMBERS
        && text.split(',').all(is_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_is_read_and_its_flags_with_it() {
        let context = TraceContext::parse(PARENT, Some(" rojo=1,congo=t61 ")).unwrap();
        assert_eq!(context.trace_id.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.span_id.to_string(), "b7ad6b7169203331");
        assert_eq!((context.is_sampled, context.state.as_deref()), (true, Some("rojo=1,congo=t61")));
        let with = |end: &str| TraceContext::parse(&PARENT.replace("-01", end), None);
        assert!(!with("-00").unwrap().is_sampled && with("-03").unwrap().is_sampled);
        assert!(with("-fe").is_some_and(|context| !context.is_sampled));
    }

    #[test]
    fn a_context_with_a_mistake_counts_as_absent() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        for text in [
            String::new(),
            "00".to_owned(),
            PARENT.to_uppercase(),
            format!("{PARENT}-"),
            format!("{PARENT} "),
            format!(" {PARENT}"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{trace}-{span}-1"),
            format!("00-{trace}-{span}-0g"),
            format!("00-{trace}-{span}+01"),
            format!("00-{}-{span}1-01", trace.get(1..).unwrap()),
            format!("00-+{}-{span}-01", trace.get(1..).unwrap()),
            format!("01-{trace}-{span}-01x"),
            format!("01-{trace}-{span}-01-{}", "x".repeat(300)),
            "ä".repeat(40),
        ] {
            assert_eq!(TraceContext::parse(&text, None), None, "{text:?}");
        }
        assert!(
            TraceContext::parse(&format!("01-{trace}-{span}-01-more"), None).is_some(),
            "a later version"
        );
    }

    #[test]
    fn a_tracestate_that_cannot_be_sent_on_is_left_out() {
        let state = |text: &str| TraceContext::parse(PARENT, Some(text)).unwrap().state;
        for text in ["a=1", "a=1, b@c=2", "a=1,,b=2"] {
            assert_eq!(state(text).as_deref(), Some(text));
        }
        let (long, many) = (format!("a={}", "x".repeat(511)), vec!["a=1"; 33].join(","));
        for text in ["", " ", "a", "=1", "a=", "a=1\r\nx: y", "a=ä", &long, &many] {
            assert_eq!(state(text), None, "{text:?}");
        }
    }
}
