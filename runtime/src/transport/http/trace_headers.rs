//! The trace context in the headers `traceparent` and `tracestate` (W3C Trace Context).
//!
//! A proxy between client and server may have written these headers. The layer `mcp` decides which context applies if
//! the client also wrote one into the message.

use axum::http::HeaderMap;

use crate::observe::trace::TraceContext;

/// Reads the two headers. Returns `None` unless there is exactly one `traceparent` and it is valid.
pub(super) fn read(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all("traceparent").iter();
    let parent = parents.next()?.to_str().ok()?;
    if parents.next().is_some() {
        return None;
    }
    // Several headers of this name form one list.
    let states = headers.get_all("tracestate").iter().map(|value| value.to_str());
    let state = states.collect::<Result<Vec<_>, _>>().ok().map(|states| states.join(","));
    TraceContext::parse(parent, state.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_parent_counts_and_two_do_not() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let mut headers = HeaderMap::new();
        assert_eq!(read(&headers), None);
        headers.append("traceparent", parent.parse().unwrap());
        assert_eq!(read(&headers), TraceContext::parse(parent, None));
        headers.append("tracestate", "a=1".parse().unwrap());
        headers.append("tracestate", "b=2".parse().unwrap());
        assert_eq!(read(&headers), TraceContext::parse(parent, Some("a=1,b=2")));
        headers.append("traceparent", parent.parse().unwrap());
        assert_eq!(read(&headers), None);
    }
}
