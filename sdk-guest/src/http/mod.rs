//! Requests to other hosts.
//!
//! The host sends a request only if its operator granted it, and follows no redirect: a redirect is a response whose
//! `location` the plugin may request next, with all checks. [`send_all`] sends several at the same time,
//! [`Request::upload`] writes a body in pieces, and [`Pending::stream`] reads one. A test has no network; there
//! [`testing::answer_http`](crate::testing::answer_http) sets the responses.
//!
//! ```
//! use plugport_sdk::http::{Request, Response};
//! use plugport_sdk::testing;
//!
//! testing::answer_http(|request| Ok(Response::new(200, format!("you sent {}", request.method()))));
//! let response = Request::new("PUT", "https://example.com/x").header("accept", "text/plain").body("hello").send()?;
//! assert_eq!(response.text().as_deref(), Some("you sent PUT"));
//! # Ok::<(), plugport_sdk::http::Failure>(())
//! ```

mod failure;

#[cfg(target_family = "wasm")]
#[path = "host.rs"]
mod backend;
#[cfg(not(target_family = "wasm"))]
#[path = "scripted.rs"]
mod backend;

use std::io::{self, Cursor, Read, Write};
use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
pub(crate) use backend::script;
pub use failure::{Denial, Failure};

/// The default maximum of a body, bytes.
const DEFAULT_MAX_BODY: usize = 1 << 20;

/// Sends a `GET` request and reads the response, at most 1 MiB of it.
///
/// # Errors
/// When there is no response. A response with a status such as 404 is not an error.
pub fn get(url: impl Into<String>) -> Result<Response, Failure> {
    Request::get(url).send()
}

/// A request, made piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    max_body: usize,
    timeout: Option<Duration>,
}

impl Request {
    /// A request with this method to this URL, which begins with `https://` or `http://`.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        let (method, url) = (method.into(), url.into());
        Self { method, url, headers: Vec::new(), body: Vec::new(), max_body: DEFAULT_MAX_BODY, timeout: None }
    }

    /// A `GET` request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A `POST` request.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", url).body(body)
    }

    /// With one more header field. The host sets those that belong to the connection, `host` among them.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With this body: text or bytes.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Reads at most so many bytes of the response's body, instead of 1 MiB; the rest is not fetched.
    #[must_use]
    pub fn max_body(self, bytes: usize) -> Self {
        Self { max_body: bytes, ..self }
    }

    /// Waits at most so long for the response to begin and for each piece of it. The host has a limit of its own.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Its method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its body.
    pub fn content(&self) -> &[u8] {
        &self.body
    }

    /// The first header field of this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.headers, name)
    }

    /// Sends the request and reads the response.
    ///
    /// # Errors
    /// When there is no response, or it breaks off. A response with a status such as 404 is not an error.
    pub fn send(&self) -> Result<Response, Failure> {
        self.start()?.response()
    }

    /// The same for an `async fn`. Requests that are awaited at the same time are sent at the same time.
    ///
    /// # Errors
    /// Those of [`send`](Self::send).
    pub async fn send_async(self) -> Result<Response, Failure> {
        self.start()?.response_async().await
    }

    /// Begins to send the request. Others may be started before its response is there; the host sends as many at once
    /// as its limit `http_parallel` says, and the next when one has ended.
    ///
    /// # Errors
    /// When it cannot be sent, or is not granted.
    pub fn start(&self) -> Result<Pending, Failure> {
        Ok(Pending { sent: backend::send(self, Body::Whole)?, max_body: self.max_body })
    }

    /// Begins to send the request, whose body is then written in pieces. Hosts that want to know the length of a body
    /// before it comes are told `length`.
    ///
    /// # Errors
    /// When it cannot be sent, or is not granted.
    pub fn upload(&self, length: Option<u64>) -> Result<Upload, Failure> {
        let sent = backend::send(self, Body::Pieces(length))?;
        Ok(Upload(Pending { sent, max_body: self.max_body }))
    }
}

/// Sends requests at the same time, and reads their responses, in the order of the requests.
pub fn send_all(requests: impl IntoIterator<Item = Request>) -> Vec<Result<Response, Failure>> {
    let pending: Vec<_> = requests.into_iter().map(|request| request.start()).collect();
    pending.into_iter().map(|started| started?.response()).collect()
}

/// How a body is handed over.
#[derive(Debug, Clone, Copy)]
enum Body {
    Whole,
    Pieces(Option<u64>),
}

/// What a response begins with.
struct ResponseHead {
    status: u16,
    headers: Vec<(String, String)>,
}

/// A request that is under way. Dropping it cancels it.
#[derive(Debug)]
pub struct Pending {
    sent: backend::Sent,
    max_body: usize,
}

impl Pending {
    /// Reads the response.
    ///
    /// # Errors
    /// When there is no response, or it breaks off.
    pub fn response(mut self) -> Result<Response, Failure> {
        let mut response = Response::begin(self.sent.head()?);
        while response.extend(self.sent.read()?, self.max_body) {}
        Ok(response)
    }

    /// The same for an `async fn`.
    ///
    /// # Errors
    /// Those of [`response`](Self::response).
    pub async fn response_async(mut self) -> Result<Response, Failure> {
        self.sent.news().await;
        let mut response = Response::begin(self.sent.head()?);
        loop {
            self.sent.news().await;
            if !response.extend(self.sent.read()?, self.max_body) {
                return Ok(response);
            }
        }
    }

    /// Waits for the response, whose body is then read in pieces, without a maximum.
    ///
    /// # Errors
    /// When there is no response.
    pub fn stream(mut self) -> Result<Stream, Failure> {
        let ResponseHead { status, headers } = self.sent.head()?;
        Ok(Stream { status, headers, sent: self.sent, piece: Cursor::default() })
    }
}

/// A response whose body is read as it comes. Reading fails with a [`Failure`] inside the error.
#[derive(Debug)]
pub struct Stream {
    /// For example 200.
    pub status: u16,
    /// The header fields, in their order.
    pub headers: Vec<(String, String)>,
    sent: backend::Sent,
    /// What has come and is not read yet.
    piece: Cursor<Vec<u8>>,
}

impl Stream {
    /// The first header field of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.headers, name)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_read = self.piece.position() >= self.piece.get_ref().len() as u64;
        if is_read && !buffer.is_empty() {
            self.piece = Cursor::new(self.sent.read().map_err(io::Error::other)?);
        }
        self.piece.read(buffer)
    }
}

/// A request whose body is written in pieces. Writing 0 bytes of some says that the host takes no more, which
/// [`finish`](Self::finish) explains.
#[derive(Debug)]
pub struct Upload(Pending);

impl Upload {
    /// Ends the body.
    pub fn finish(mut self) -> Pending {
        self.0.sent.finish();
        self.0
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.sent.write(bytes).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// For example 200.
    pub status: u16,
    /// The header fields, in their order. Their names are in small letters.
    pub headers: Vec<(String, String)>,
    /// The body, up to the maximum.
    pub body: Vec<u8>,
    /// Whether there is more of the body.
    pub truncated: bool,
}

impl Response {
    /// A response with a body, for tests.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), truncated: false }
    }

    /// A response whose body is not read yet.
    fn begin(ResponseHead { status, headers }: ResponseHead) -> Self {
        Self { status, headers, body: Vec::new(), truncated: false }
    }

    /// Adds a piece of the body, up to the maximum; whether there may be more to read.
    fn extend(&mut self, piece: Vec<u8>, max_body: usize) -> bool {
        let free = max_body.saturating_sub(self.body.len());
        self.truncated = piece.len() > free;
        let may_go_on = !piece.is_empty() && !self.truncated;
        self.body.extend(piece.into_iter().take(free));
        may_go_on
    }

    /// With one more header field.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The first header field of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.headers, name)
    }

    /// The body, if it is text.
    pub fn text(&self) -> Option<String> {
        String::from_utf8(self.body.clone()).ok()
    }
}

fn field<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_test_says_what_is_answered_and_sees_what_was_asked() {
        let Err(Failure::Denied(denial)) = get("https://a.test/x") else {
            panic!("nothing is granted to a test")
        };
        assert_eq!(denial.grant, r#"http = ["GET https://a.test"]"#);
        testing::answer_http(|request| match request.url() {
            "https://a.test/" => Ok(Response::new(200, "0123456789").with("Content-Type", "text/plain")),
            _ => Err(Failure::Unreachable),
        });
        let response = Request::get("https://a.test/").header("Accept", "*/*").max_body(4).send().unwrap();
        assert_eq!((response.text().as_deref(), response.truncated), (Some("0123"), true));
        assert_eq!(response.header("content-type"), Some("text/plain"));
        assert_eq!(Request::post("https://b.test", "x").send(), Err(Failure::Unreachable));
        assert!(matches!(get("nowhere"), Err(Failure::Invalid(_))));
        let requests = testing::http_requests();
        assert_eq!((requests.len(), requests[1].field("accept")), (3, Some("*/*")));
        assert_eq!((requests[2].method(), requests[2].content()), ("POST", b"x".as_slice()));
    }

    #[test]
    fn bodies_are_written_and_read_in_pieces() {
        testing::answer_http(|request| {
            Ok(Response::new(200, [b"got ".as_slice(), request.content()].concat()))
        });
        let mut upload = Request::new("PUT", "https://a.test/").upload(Some(10)).unwrap();
        upload.write_all(b"hello").unwrap();
        upload.write_all(b"world").unwrap();
        let mut stream = upload.finish().stream().unwrap();
        let mut begin = [0; 6];
        stream.read_exact(&mut begin).unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!((stream.status, &begin, rest.as_str()), (200, b"got he", "lloworld"));
    }

    #[test]
    fn a_body_that_is_shorter_than_was_said_is_an_error() {
        testing::answer_http(|_| Ok(Response::new(200, "never")));
        let mut upload = Request::new("PUT", "https://a.test/").upload(Some(10)).unwrap();
        upload.write_all(b"hello").unwrap();
        let why = "its body is shorter than was said".to_owned();
        assert_eq!(upload.finish().response(), Err(Failure::Invalid(why)));
        assert_eq!(testing::http_requests(), []);
    }

    #[test]
    fn several_are_sent_and_each_has_its_outcome() {
        testing::answer_http(|request| match request.url() {
            "https://a.test/1" => Ok(Response::new(200, "one")),
            _ => Err(Failure::TimedOut),
        });
        let outcomes = send_all(["https://a.test/1", "https://a.test/2", "x"].map(Request::get));
        assert_eq!(outcomes[0].as_ref().unwrap().text().as_deref(), Some("one"));
        assert_eq!(outcomes[1], Err(Failure::TimedOut));
        assert!(matches!(outcomes[2], Err(Failure::Invalid(_))));
    }
}
