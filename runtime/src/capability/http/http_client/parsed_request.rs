//! Parses a guest's request. Grants and the budget are checked elsewhere.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use tokio::sync::mpsc;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::failure;
use crate::bindings::http::plugport::plugin::http_client::{self as wit, Failure};
use crate::capability::http::policy::{Target, TargetError, target};
use crate::config::fixed_limits::HTTP_HEADER_KIB;
use crate::config::kib;

/// What a header field takes besides its text, in bytes.
pub(super) const FIELD_SIZE: usize = 256;

/// The minimum that is counted for a header field besides its text, in bytes.
const FIELD_MIN: usize = 32;

/// Maximum length of one piece of a body that a guest writes, in bytes.
pub(super) const MAX_PIECE: usize = 64 << 10;

/// How much of a response's body the host buffers until the guest reads it, in bytes.
pub(super) const READ_AHEAD: usize = 64 << 10;

/// A parsed request, which is neither checked nor sent yet.
pub(super) struct ParsedRequest {
    pub(super) target: Target,
    pub(super) request: http::Request<WasiBody>,
    pub(super) options: RequestOptions,
    /// The sender for the body, if the guest writes it in pieces.
    pub(super) pieces: Option<PieceSender>,
    /// What the host keeps for the request, in bytes.
    pub(super) size: usize,
}

/// Sends the pieces of a body to the connection.
#[derive(Debug)]
pub(super) struct PieceSender {
    pub(super) sender: mpsc::Sender<Bytes>,
    /// How many more bytes the guest may write, if it has declared the length of the body.
    pub(super) left: Option<u64>,
}

/// The length of a request's text and body, in bytes.
pub(super) fn size(request: &wit::Request) -> usize {
    let fields: usize = request.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let body = if let wit::Body::Bytes(bytes) = &request.body { bytes.len() } else { 0 };
    request.method.len() + request.url.len() + fields + body
}

impl ParsedRequest {
    pub(super) fn read(request: wit::Request) -> Result<Self, Failure> {
        let text = size(&request);
        let wit::Request { method, url, headers, body, timeout_ms } = request;
        let uri = read_url(&url).ok_or_else(|| failure::url(TargetError::Uri))?;
        let target = target(&method, &uri).map_err(failure::url)?;
        let mut headers = read_headers(&headers)?;
        let (body, pieces) = match body {
            wit::Body::Bytes(bytes) => {
                if bytes.is_empty() && matches!(method.as_str(), "POST" | "PUT" | "PATCH") {
                    headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
                }
                (whole(bytes), None)
            }
            wit::Body::Pieces(length) => {
                let (body, pieces) = in_pieces(length);
                (body, Some(pieces))
            }
        };
        let buffers = READ_AHEAD + if pieces.is_some() { 2 * MAX_PIECE } else { 0 };
        let size = text + FIELD_SIZE * headers.len() + buffers;
        let mut request = http::Request::new(body);
        *request.method_mut() =
            Method::from_bytes(method.as_bytes()).map_err(|_| failure::url(TargetError::Method))?;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let step = timeout_ms.map(|ms| Duration::from_millis(ms.into()));
        let options =
            RequestOptions { connect_timeout: step, first_byte_timeout: step, between_bytes_timeout: step };
        Ok(Self { target, request, options, pieces, size })
    }
}

/// Parses an absolute URL without its fragment, and makes its path begin with a slash. Returns `None` if the URL is
/// invalid or longer than any server would accept.
fn read_url(url: &str) -> Option<Uri> {
    let url = url.split('#').next().filter(|url| url.len() <= kib(HTTP_HEADER_KIB))?;
    if !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return None;
    }
    let uri: Uri = url.parse().ok()?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if !path.starts_with('?') {
        return Some(uri);
    }
    let path = format!("/{path}");
    let mut parts = uri.into_parts();
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Parses the header fields, and drops `Content-Length`, which the host sets itself.
fn read_headers(fields: &[(String, String)]) -> Result<HeaderMap, Failure> {
    let size = fields.iter().map(|(name, value)| FIELD_MIN + name.len() + value.len()).sum::<usize>();
    if size > kib(HTTP_HEADER_KIB) {
        return Err(failure::limit("http_header_kib"));
    }
    let mut headers = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields {
        let field = HeaderName::from_bytes(name.as_bytes()).ok();
        let field = field.zip(HeaderValue::from_bytes(value.as_bytes()).ok());
        let (field, value) = field.ok_or_else(|| failure::header(name))?;
        if field != CONTENT_LENGTH {
            headers.append(field, value);
        }
    }
    Ok(headers)
}

fn whole(bytes: Vec<u8>) -> WasiBody {
    Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed_unsync()
}

fn in_pieces(length: Option<u64>) -> (WasiBody, PieceSender) {
    // One piece waits in the channel and one in the connection.
    let (sender, receiver) = mpsc::channel(1);
    (PieceBody { receiver, left: length }.boxed_unsync(), PieceSender { sender, left: length })
}

/// A body that the guest writes in pieces. It ends when the sender is dropped.
struct PieceBody {
    receiver: mpsc::Receiver<Bytes>,
    left: Option<u64>,
}

impl Body for PieceBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(piece) = ready!(self.receiver.poll_recv(context)) else { return Poll::Ready(None) };
        self.left = self.left.map(|left| left.saturating_sub(piece.len() as u64));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str) -> wit::Request {
        let body = wit::Body::Bytes(Vec::new());
        wit::Request {
            method: "GET".to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body,
            timeout_ms: None,
        }
    }

    #[test]
    fn a_url_is_read_without_its_fragment() {
        for (url, read) in [
            ("https://a.test", "https://a.test/"),
            ("HTTPS://a.test:8443/x?y=/z#top", "https://a.test:8443/x?y=/z"),
            ("https://a.test?q", "https://a.test/?q"),
            ("http://[::1]:90/a#b#c", "http://[::1]:90/a"),
        ] {
            assert_eq!(
                ParsedRequest::read(request(url)).ok().unwrap().request.uri().to_string(),
                read,
                "{url}"
            );
        }
        for url in [
            "a.test",
            "/x",
            "ftp://a.test/",
            "https://",
            "https:///x",
            "http://a b/",
            "http://a/ü",
            "http://a\\b/",
            "http:a",
            "https://u@a.test/",
            "http://2130706433/",
            &format!("https://a.test/{}", "x".repeat(20_000)),
        ] {
            let failure = ParsedRequest::read(request(url)).err();
            assert!(matches!(failure, Some(Failure::Invalid(_))), "{url}: {failure:?}");
        }
    }

    #[test]
    fn header_fields_are_bounded_and_the_host_knows_the_length() {
        let with = |headers: &[(&str, &str)], method: &str| {
            let fields = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let request = request("https://a.test");
            ParsedRequest::read(wit::Request {
                headers: fields.collect(),
                method: method.to_owned(),
                ..request
            })
        };
        let read = with(&[("Content-Length", "7"), ("X-A", "ü")], "GET").ok().unwrap();
        assert_eq!(read.request.headers().len(), 1);
        assert_eq!(read.request.headers()["x-a"].as_bytes(), "ü".as_bytes());
        let posted = with(&[], "POST").ok().unwrap();
        assert_eq!(posted.request.headers()[CONTENT_LENGTH], "0");
        for (name, value) in [("a b", "c"), ("", "c"), ("a", "b\r\nc: d"), ("a", "\0")] {
            assert!(
                matches!(with(&[(name, value)], "GET").err(), Some(Failure::Invalid(_))),
                "{name} {value}"
            );
        }
        let long = "v".repeat(17 << 10);
        let Some(Failure::OverLimit(limit)) = with(&[("a", &long)], "GET").err() else { panic!() };
        assert_eq!(limit, "http_header_kib");
    }

    #[test]
    fn a_body_in_pieces_says_its_length_if_the_guest_does() {
        for length in [None, Some(5)] {
            let body = wit::Body::Pieces(length);
            let read = ParsedRequest::read(wit::Request { body, ..request("https://a.test") }).ok().unwrap();
            assert_eq!(read.request.body().size_hint().exact(), length);
            assert!(read.pieces.is_some() && read.size >= READ_AHEAD + 2 * MAX_PIECE);
        }
        let empty = ParsedRequest::read(request("https://a.test")).ok().unwrap();
        assert!(empty.request.body().is_end_stream() && empty.pieces.is_none());
    }
}
