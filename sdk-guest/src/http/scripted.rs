//! Responses for tests, from a closure per thread.

use std::cell::RefCell;

use super::{Body, Failure, Request, Response, ResponseHead};

type Responder = Box<dyn FnMut(&Request) -> Result<Response, Failure>>;

thread_local! {
    static RESPONDER: RefCell<Option<Responder>> = const { RefCell::new(None) };
    static SENT: RefCell<Vec<Request>> = const { RefCell::new(Vec::new()) };
}

/// A request; it is answered when its body is complete.
#[derive(Debug)]
pub(super) struct Sent {
    request: Request,
    /// Whether more of its body may come.
    is_open: bool,
    /// How much, if that was said.
    left: Option<u64>,
    outcome: Option<Result<Response, Failure>>,
}

pub(super) fn send(request: &Request, body: Body) -> Result<Sent, Failure> {
    let url = UrlParts::of(&request.url);
    let url = url.ok_or_else(|| Failure::Invalid(format!("`{}` is no URL", request.url)))?;
    if RESPONDER.with_borrow(Option::is_none) {
        SENT.with_borrow_mut(|sent| sent.push(request.clone()));
        let scheme = if url.secure { "https" } else { "http" };
        return Err(Failure::denied(format!("{} {scheme}://{}", request.method, url.authority)));
    }
    let (is_open, left) = match body {
        Body::Whole => (false, None),
        Body::Pieces(length) => (true, length),
    };
    let mut sent = Sent { request: request.clone(), is_open, left, outcome: None };
    if !is_open {
        sent.answer();
    }
    Ok(sent)
}

impl Sent {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        if !self.is_open {
            return Err(Failure::Invalid("its body is complete".to_owned()));
        }
        if let Some(left) = &mut self.left {
            let longer = || Failure::Invalid("its body is longer than was said".to_owned());
            *left = left.checked_sub(bytes.len() as u64).ok_or_else(longer)?;
        }
        self.request.body.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Ends the body. Like the host, it lets a request fail whose body is shorter than was said.
    pub(super) fn finish(&mut self) {
        if self.outcome.is_none() && self.left.is_some_and(|left| left > 0) {
            let why = "its body is shorter than was said".to_owned();
            self.outcome = Some(Err(Failure::Invalid(why)));
        }
        self.answer();
    }

    fn answer(&mut self) {
        self.is_open = false;
        if self.outcome.is_none() {
            self.outcome = Some(respond(&self.request));
        }
    }

    pub(super) fn head(&mut self) -> Result<ResponseHead, Failure> {
        self.answer();
        let response = self.response()?;
        Ok(ResponseHead { status: response.status, headers: response.headers.clone() })
    }

    /// Waits until `head` or `read` returns at once.
    pub(super) async fn news(&self) {}

    pub(super) fn read(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(std::mem::take(&mut self.response()?.body))
    }

    fn response(&mut self) -> Result<&mut Response, Failure> {
        match &mut self.outcome {
            Some(Ok(response)) => Ok(response),
            Some(Err(failure)) => Err(failure.clone()),
            None => Err(Failure::Broken("there is none".to_owned())),
        }
    }
}

fn respond(request: &Request) -> Result<Response, Failure> {
    SENT.with_borrow_mut(|sent| sent.push(request.clone()));
    // The responder is taken out while it runs, so that it may itself send requests.
    let Some(mut responder) = RESPONDER.take() else { return Err(Failure::Unreachable) };
    let outcome = responder(request);
    RESPONDER.with_borrow_mut(|slot| *slot = slot.take().or(Some(responder)));
    outcome
}

/// The functions that [`testing`](crate::testing) uses.
pub(crate) mod script {
    use super::{Failure, RESPONDER, Request, Response, SENT};

    pub(crate) fn respond(responder: impl FnMut(&Request) -> Result<Response, Failure> + 'static) {
        RESPONDER.set(Some(Box::new(responder)));
    }

    pub(crate) fn take() -> Vec<Request> {
        SENT.take()
    }
}

/// What a test's URL leads to. In a component the host reads URLs.
#[derive(Debug, PartialEq, Eq)]
struct UrlParts<'u> {
    secure: bool,
    authority: &'u str,
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
        (!authority.is_empty() && plain(authority) && plain(path)).then_some(Self { secure, authority })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        for (url, authority) in [
            ("https://a.test", "a.test"),
            ("HTTPS://a.test:8443/x?y=/z#top", "a.test:8443"),
            ("https://[::1]?q", "[::1]"),
        ] {
            assert_eq!(UrlParts::of(url), Some(UrlParts { secure: true, authority }), "{url}");
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
}
