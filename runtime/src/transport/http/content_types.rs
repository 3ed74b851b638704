//! The headers `Content-Type`, `Content-Encoding` and `Accept`: what a client sends, and which content types it
//! accepts.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

/// The response to a rejected request, as plain text.
pub(super) type PlainRejection = (StatusCode, &'static str);

const NOT_JSON: PlainRejection =
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is JSON; send `Content-Type: application/json`\n");
const COMPRESSED: PlainRejection =
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is not compressed; send it without `Content-Encoding`\n");
const UNREADABLE: PlainRejection = (
    StatusCode::NOT_ACCEPTABLE,
    "an answer is JSON or an event stream; send `Accept: application/json, text/event-stream`\n",
);

/// The content types that the client accepts.
#[derive(Debug, Clone, Copy)]
pub(super) struct AcceptHeader {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl AcceptHeader {
    /// Reads the header `Accept`. A client without it accepts everything.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let lines = || headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
        let is_absent = lines().count() < 2 && lines().all(str::is_empty);
        let mut accepts = Self { json: is_absent, events: is_absent };
        for range in lines().flat_map(|line| line.split(',')) {
            let kind = range.split(';').next().unwrap_or_default().trim();
            let is = |name: &str| kind.eq_ignore_ascii_case(name);
            accepts.json |= is("application/json") || is("*/*") || is("application/*");
            accepts.events |= is("text/event-stream") || is("*/*") || is("text/*");
        }
        accepts
    }

    /// Like [`Self::read`], for a response that may have either content type.
    ///
    /// # Errors
    /// With 406 when the client accepts neither.
    pub(super) fn read_any(headers: &HeaderMap) -> Result<Self, PlainRejection> {
        let accepts = Self::read(headers);
        if accepts.json || accepts.events { Ok(accepts) } else { Err(UNREADABLE) }
    }
}

/// Checks that a body is uncompressed JSON.
///
/// # Errors
/// With 415 when the headers say otherwise.
pub(super) fn check_json_body(headers: &HeaderMap) -> Result<(), PlainRejection> {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let content_type = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    if !content_type.eq_ignore_ascii_case("application/json") {
        return Err(NOT_JSON);
    }
    // A small compressed body can expand into a very large one, so compressed bodies are rejected.
    if !matches!(text(header::CONTENT_ENCODING), "" | "identity") {
        return Err(COMPRESSED);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(lines: &[&'static str]) -> (bool, bool) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::ACCEPT, HeaderValue::from_static(line));
        }
        let AcceptHeader { json, events } = AcceptHeader::read(&headers);
        (json, events)
    }

    #[test]
    fn a_client_without_accept_reads_everything() {
        for lines in [&[][..], &[""], &["*/*"], &["text/html, */*;q=0.1"]] {
            assert_eq!(accepts(lines), (true, true), "{lines:?}");
        }
        assert_eq!(accepts(&["", ""]), (false, false));
    }

    #[test]
    fn each_line_and_each_range_counts() {
        assert_eq!(accepts(&["application/json", "text/event-stream"]), (true, true));
        assert_eq!(accepts(&["Application/JSON; q=0.5 , text/html"]), (true, false));
        assert_eq!(accepts(&["text/*"]), (false, true));
        assert_eq!(accepts(&["application/*"]), (true, false));
        assert_eq!(accepts(&["image/png"]), (false, false));
    }
}
