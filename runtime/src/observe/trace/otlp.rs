//! The wire format: `ExportTraceServiceRequest` of OTLP 1, with the fields that this program sets.
//!
//! The messages are declared here with their field numbers, because the crate that declares them all depends on the
//! whole SDK. OTLP never changes a field number. In the tests, two other decoders read these messages:
//! `opentelemetry-proto` for Rust and the one for Python.

use prost::Message as _;

use super::span_data::{Attribute, SpanData, SpanEvent, SpanKind, Value};
use super::trace_context::TraceContext;

/// Bits 8 and 9 of `flags`: whether it is known where the span of a link or the parent is from, and whether that is
/// another program.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// Bit 0 of `flags`: the span is recorded.
const SAMPLED: u32 = 1;

/// The value of `STATUS_CODE_ERROR`.
const ERROR: i32 = 2;

#[derive(Clone, PartialEq, prost::Message)]
struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<OtlpSpan>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct InstrumentationScope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct OtlpSpan {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<Event>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<Link>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Event {
    #[prost(fixed64, tag = "1")]
    time_unix_nano: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(fixed32, tag = "6")]
    flags: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(oneof = "OtlpValue", tags = "1, 2, 3, 4")]
    value: Option<OtlpValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum OtlpValue {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Float(f64),
}

/// A random `service.instance.id`, which is a UUID of version 4. `None` when the system has no randomness.
pub(super) fn random_instance_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    let random = u128::from_be_bytes(bytes);
    let part = |shift: u32, bits: u32| (random >> shift) & ((1 << bits) - 1);
    // The digit 4 is the version, and the two bits before `part(48, 14)` are the variant.
    let variant = 0x8000 | part(48, 14);
    let (first, second, third, last) = (part(96, 32), part(80, 16), part(64, 12), part(0, 48));
    Some(format!("{first:08x}-{second:04x}-4{third:03x}-{variant:04x}-{last:012x}"))
}

/// The body of one export, by the instance of the server with this id.
pub(super) fn encode(instance_id: Option<&str>, spans: impl IntoIterator<Item = SpanData>) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let instance_id = instance_id.map(|id| ("service.instance.id", id.to_owned().into()));
    let attributes = [("service.name", "plugport".into()), ("service.version", version.into())];
    let attributes = attributes.into_iter().chain(instance_id).map(key_value).collect();
    let scope = InstrumentationScope { name: "plugport".to_owned(), version: version.to_owned() };
    let spans = spans.into_iter().map(span).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
    let resource = Some(Resource { attributes });
    ExportRequest { resource_spans: vec![ResourceSpans { resource, scope_spans }] }.encode_to_vec()
}

fn span(data: SpanData) -> OtlpSpan {
    let is_remote = data.parent.is_some_and(|parent| parent.is_remote);
    OtlpSpan {
        trace_id: data.trace_id.bytes().to_vec(),
        span_id: data.span_id.bytes().to_vec(),
        trace_state: data.state.map(|state| state.to_string()).unwrap_or_default(),
        parent_span_id: data.parent.map(|parent| parent.id.bytes().to_vec()).unwrap_or_default(),
        name: data.name.into_owned(),
        kind: match data.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
        start_time_unix_nano: data.begun_unix_nanos,
        end_time_unix_nano: data.ended_unix_nanos,
        attributes: data.attributes.into_iter().map(key_value).collect(),
        events: data.events.into_iter().map(event).collect(),
        links: data.links.into_iter().map(link).collect(),
        status: data.has_failed.then_some(Status { code: ERROR }),
        flags: SAMPLED | HAS_IS_REMOTE | if is_remote { IS_REMOTE } else { 0 },
    }
}

fn event(event: SpanEvent) -> Event {
    Event {
        time_unix_nano: event.unix_nanos,
        name: event.name.to_owned(),
        attributes: event.attribute.into_iter().map(key_value).collect(),
    }
}

fn link(context: TraceContext) -> Link {
    Link {
        trace_id: context.trace_id.bytes().to_vec(),
        span_id: context.span_id.bytes().to_vec(),
        trace_state: context.state.map(|state| state.to_string()).unwrap_or_default(),
        flags: u32::from(context.is_sampled) | HAS_IS_REMOTE | IS_REMOTE,
    }
}

fn key_value((key, value): Attribute) -> KeyValue {
    let value = match value {
        Value::Text(text) => OtlpValue::Text(text.into_owned()),
        Value::Int(number) => OtlpValue::Int(number),
        Value::Float(number) => OtlpValue::Float(number),
        Value::Bool(value) => OtlpValue::Bool(value),
    };
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}
