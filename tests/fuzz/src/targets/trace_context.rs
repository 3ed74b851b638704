//! A `traceparent` is read exactly when a naive reader of W3C Trace Context accepts it, and what goes on from there is
//! the same trace, a header that can be sent, and a bounded `tracestate` of the sender.

use plugport::observe::trace::{TraceContext, Tracer};

use crate::Target;
use crate::split_input::Fields;

pub(crate) const TARGET: Target = Target {
    name: "trace_context",
    check,
    words: &[
        "\x1f",
        "00-",
        "01-",
        "ff-",
        "-00",
        "-01",
        "-01-",
        "0af7651916cd43dd8448eb211c80319c",
        "b7ad6b7169203331",
        "00000000000000000000000000000000",
        "0000000000000000",
        "rojo=1",
        ",",
        "=",
    ],
};

/// A `traceparent` and a `tracestate`.
fn check(input: &[u8]) {
    let mut fields = Fields::new(input);
    let (parent, state) = (fields.text(), fields.maybe());
    let context = TraceContext::parse(&parent, state.as_deref());
    let reference = read_naively(&parent);
    assert_eq!(context.is_some(), reference.is_some(), "{parent:?}");
    let (Some(context), Some((trace, is_sampled))) = (context, reference) else { return };
    let (tracer, _spans) = Tracer::new(1);
    let span = tracer.begin("x", Some(&context), || true);
    assert_eq!(span.is_some(), is_sampled, "{parent:?}");
    let Some(span) = span else { return };
    let sent = span.scope().traceparent();
    assert!(read_naively(&sent).is_some_and(|(sent, _)| sent == trace), "{parent:?} goes on as {sent:?}");
    if let Some(sent) = span.scope().tracestate() {
        assert_eq!(Some(sent), state.as_deref().map(str::trim), "not what was sent");
        assert!(sent.len() <= 512 && sent.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{sent:?}");
        assert!(sent.split(',').count() <= 32, "{sent:?}");
    }
}

/// The trace id, and whether the span is recorded, as a naive reader of the standard finds them.
fn read_naively(parent: &str) -> Option<(String, bool)> {
    let parts: Vec<&str> = parent.split('-').collect();
    let [version, trace, span, flags, later @ ..] = parts.as_slice() else { return None };
    let is_hex = |text: &str, digits: usize| {
        text.len() == digits && text.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
    };
    let lengths = [(version, 2), (trace, 32), (span, 16), (flags, 2)];
    if !lengths.into_iter().all(|(text, digits)| is_hex(text, digits)) || *version == "ff" {
        return None;
    }
    let is_zero = |text: &str| text.chars().all(|c| c == '0');
    if is_zero(trace) || is_zero(span) || (*version == "00" && !later.is_empty()) || parent.len() > 256 {
        return None;
    }
    let is_sampled = matches!(flags.chars().last(), Some('1' | '3' | '5' | '7' | '9' | 'b' | 'd' | 'f'));
    Some(((*trace).to_owned(), is_sampled))
}
