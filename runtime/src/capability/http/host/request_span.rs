//! The span of one request of a guest, by OpenTelemetry's semantic conventions for HTTP clients, and the headers that
//! carry the trace context.
//!
//! The span leaves out the path and the query, because guests put keys and arguments into them. It also leaves out the
//! labels before NAME if only `*.NAME` is granted, because the guest could write anything there.

use http::{HeaderMap, HeaderValue};
use wasmtime_wasi_http::Error;

use crate::capability::http::policy::Target;
use crate::config::HttpGrant;
use crate::observe::trace::{Span, SpanKind, SpanScope};

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// The span of a recorded request. It ends when the head of the response has come, or when the request is dropped.
pub(super) struct RequestSpan(Span);

impl RequestSpan {
    /// Begins the span as a child of the call's span. Returns `None` if the call is not recorded.
    pub(super) fn begin(call: Option<&SpanScope>, target: &Target, grants: &[HttpGrant]) -> Option<Self> {
        let mut span = call?.begin(target.method.clone(), SpanKind::Client)?;
        span.set("http.request.method", target.method.clone());
        span.set("server.address", target.granted_host(grants));
        span.set("server.port", u64::from(target.port));
        // This holds until there is a response, because the guest may drop the request.
        span.fail("cancelled");
        Some(Self(span))
    }

    /// Ends the span with the status of the response, or the error that the guest gets.
    pub(super) fn end(mut self, outcome: Result<u16, &Error>) {
        let span = &mut self.0;
        match outcome {
            Ok(status) => {
                span.set("http.response.status_code", u64::from(status));
                if status >= 400 {
                    span.fail(status.to_string());
                } else {
                    span.succeed();
                }
            }
            Err(error) => span.fail(error_name(error)),
        }
    }
}

/// Replaces the trace headers that the guest has set by those of the span. Without a span both headers are removed, so
/// that a guest cannot write into the traces of a host that trusts this server's trace context.
pub(super) fn set_headers(headers: &mut HeaderMap, span: Option<&RequestSpan>) {
    headers.remove(TRACEPARENT);
    headers.remove(TRACESTATE);
    let Some(RequestSpan(span)) = span else { return };
    let Ok(parent) = HeaderValue::try_from(span.scope().traceparent()) else { return };
    headers.insert(TRACEPARENT, parent);
    if let Some(Ok(state)) = span.scope().tracestate().map(HeaderValue::from_str) {
        headers.insert(TRACESTATE, state);
    }
}

/// The variant's name of an error, without its details, which may describe this request.
fn error_name(error: &Error) -> String {
    let shown = format!("{error:?}");
    let end = shown.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(shown.len());
    shown.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::trace::{TraceContext, Tracer};

    #[test]
    fn the_headers_name_the_span_and_never_what_the_guest_wrote() {
        let guests = "00-11111111111111111111111111111111-1111111111111111-01";
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, guests.parse().unwrap());
        headers.append(TRACEPARENT, guests.parse().unwrap());
        headers.append(TRACESTATE, "guest=1".parse().unwrap());
        headers.append("x", "y".parse().unwrap());
        let mut unrecorded = headers.clone();
        set_headers(&mut unrecorded, None);
        assert_eq!((unrecorded.len(), unrecorded.contains_key("x")), (1, true));
        let (tracer, _spans) = Tracer::new(10);
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let request = tracer.begin("a", TraceContext::parse(parent, Some("a=1")).as_ref(), || true).unwrap();
        let span = RequestSpan(request.scope().begin("GET", SpanKind::Client).unwrap());
        set_headers(&mut headers, Some(&span));
        let sent: Vec<&HeaderValue> = headers.get_all(TRACEPARENT).iter().collect();
        assert_eq!(sent, [span.0.scope().traceparent().as_str()]);
        assert!(sent[0].to_str().unwrap().starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
        assert_eq!(headers.get(TRACESTATE).unwrap(), "a=1");
    }

    #[test]
    fn an_error_is_named_without_its_details() {
        assert_eq!(error_name(&Error::HttpRequestBodySize(Some(5))), "HttpRequestBodySize");
        assert_eq!(error_name(&Error::InternalError(Some("secret".to_owned()))), "InternalError");
        assert_eq!(error_name(&Error::ConnectionTimeout), "ConnectionTimeout");
    }
}
