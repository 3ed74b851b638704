//! Requests to other hosts with the standard interface `wasi:http`, for whole responses and not for streams.
//!
//! The host sends a request only if its operator granted it, and follows no redirect: a redirect is a response whose
//! `location` the plugin may request next, with all checks. A test has no network; there
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

use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
pub(crate) use backend::script;
pub use failure::Failure;

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
    patience: Option<Duration>,
}

impl Request {
    /// A request with this method to this URL, which begins with `https://` or `http://`.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        let (method, url) = (method.into(), url.into());
        Self {
            method,
            url,
            headers: Vec::new(),
            body: Vec::new(),
            max_body: DEFAULT_MAX_BODY,
            patience: None,
        }
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
    pub fn most(self, bytes: usize) -> Self {
        Self { max_body: bytes, ..self }
    }

    /// Waits at most so long for the response to begin and for each piece of it. The host has a limit of its own.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
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
        let url =
            UrlParts::of(&self.url).ok_or_else(|| Failure::Invalid(format!("`{}` is no URL", self.url)))?;
        backend::send(self, &url)
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// For example 200.
    pub status: u16,
    /// The header fields, in their order; values that are not text are omitted.
    pub headers: Vec<(String, String)>,
    /// The body, up to the maximum.
    pub body: Vec<u8>,
    /// Whether there is more of the body.
    pub cut: bool,
}

impl Response {
    /// A response with a body, for tests.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), cut: false }
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

/// The parts of a URL. The host checks whether they lead anywhere.
#[derive(Debug, PartialEq, Eq)]
struct UrlParts<'u> {
    secure: bool,
    authority: &'u str,
    path: String,
}

impl<'u> UrlParts<'u> {
    fn of(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?', '\\']).unwrap_or(rest.len()));
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        if authority.is_empty() || !plain(authority) || !plain(path) {
            return None;
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Some(Self { secure, authority, path: format!("{slash}{path}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_url_is_taken_apart() {
        for (url, authority, path) in [
            ("https://a.test", "a.test", "/"),
            ("HTTPS://a.test:8443/x?y=/z#top", "a.test:8443", "/x?y=/z"),
            ("https://[::1]?q", "[::1]", "/?q"),
            ("https://u@a.test/", "u@a.test", "/"),
        ] {
            assert_eq!(
                UrlParts::of(url),
                Some(UrlParts { secure: true, authority, path: path.to_owned() }),
                "{url}"
            );
        }
        for url in [
            "a.test",
            "ftp://a.test",
            "https://",
            "https:///x",
            "http://a b/",
            "http://a/ü",
            "http://a\\b/",
            "http:a",
        ] {
            assert_eq!(UrlParts::of(url), None, "{url}");
        }
    }

    #[test]
    fn a_test_says_what_is_answered_and_sees_what_was_asked() {
        assert!(matches!(get("https://a.test"), Err(Failure::Denied(_))), "nothing is granted to a test");
        testing::answer_http(|request| match request.url() {
            "https://a.test/" => Ok(Response::new(200, "0123456789").with("Content-Type", "text/plain")),
            _ => Err(Failure::Unreachable),
        });
        let response = Request::get("https://a.test/").header("Accept", "*/*").most(4).send().unwrap();
        assert_eq!((response.text().as_deref(), response.cut), (Some("0123"), true));
        assert_eq!(response.header("content-type"), Some("text/plain"));
        assert_eq!(Request::post("https://b.test", "x").send(), Err(Failure::Unreachable));
        assert!(matches!(get("nowhere"), Err(Failure::Invalid(_))));
        let requests = testing::http_requests();
        assert_eq!((requests.len(), requests[1].field("accept")), (3, Some("*/*")));
        assert_eq!((requests[2].method(), requests[2].content()), ("POST", b"x".as_slice()));
    }
}
