//! Sends the request and follows where it is sent on, as far as the host allows.

use plugport_sdk::http::{Failure, Request, Response};
use url::Url;

/// Redirects that are followed.
const HOPS: usize = 3;

/// What is read of a document, bytes. Markdown of a page this long takes a part of the fuel that a call has.
pub(crate) const MAX_DOCUMENT: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("`{0}` is no address of a web page; write one such as https://example.com/page")]
    Url(String),
    #[error(
        "requests to {0} are not granted to this plugin; only the operator of the server can grant them, and its log \
         says how"
    )]
    NotGranted(String),
    #[error("{0}: {1}")]
    Failed(String, Failure),
    #[error("{0} redirects more than 3 times; ask for the address where it should end")]
    Hops(String),
    #[error("{0} redirects to `{1}`, which is no address of a web page")]
    Astray(Url, String),
    #[error("{0} answered with status {1}{2}")]
    Status(Url, u16, String),
    #[error("{0} is {1}; only HTML, text, JSON and XML can be read")]
    NotText(Url, String),
    #[error("{0} comes compressed ({1}), though it was asked not to; it cannot be read")]
    Compressed(Url, String),
    #[error("{0} is nested too deeply to be made into Markdown; set `raw` to read it as it is")]
    Deep(Url),
    #[error("the document has {0} characters; give a start_index below that")]
    Start(usize),
}

/// A document, and where it was found in the end.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) url: Url,
    pub(crate) answer: Response,
}

/// Loads the document at this address.
pub(crate) fn load(address: &str) -> Result<Document, FetchError> {
    let mut url = web_url(address.parse().ok()).ok_or_else(|| FetchError::Url(address.to_owned()))?;
    for _ in 0..=HOPS {
        let answer = ask(&url)?;
        let Some(location) = redirect(&answer) else { return checked(url, answer) };
        let next = web_url(url.join(location).ok());
        url = next.ok_or_else(|| FetchError::Astray(url, location.to_owned()))?;
    }
    Err(FetchError::Hops(address.to_owned()))
}

fn web_url(url: Option<Url>) -> Option<Url> {
    url.filter(|url| matches!(url.scheme(), "https" | "http"))
}

fn ask(url: &Url) -> Result<Response, FetchError> {
    let request = Request::get(url.as_str())
        .header("user-agent", concat!("plugport-fetch/", env!("CARGO_PKG_VERSION")))
        .header(
            "accept",
            "text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1",
        )
        .header("accept-encoding", "identity")
        .max_body(MAX_DOCUMENT);
    request.send().map_err(|failure| match failure {
        Failure::Denied(_) => FetchError::NotGranted(url.origin().ascii_serialization()),
        failure => FetchError::Failed(url.to_string(), failure),
    })
}

fn redirect(answer: &Response) -> Option<&str> {
    matches!(answer.status, 301 | 302 | 303 | 307 | 308).then(|| answer.header("location")).flatten()
}

fn checked(url: Url, answer: Response) -> Result<Document, FetchError> {
    if !(200..300).contains(&answer.status) {
        let said: String = String::from_utf8_lossy(&answer.body).trim().chars().take(300).collect();
        let said =
            if said.is_empty() || said.starts_with('<') { said_nothing() } else { format!(": {said}") };
        return Err(FetchError::Status(url, answer.status, said));
    }
    match answer.header("content-encoding") {
        None | Some("identity" | "") => Ok(Document { url, answer }),
        Some(coding) => Err(FetchError::Compressed(url, coding.chars().take(40).collect())),
    }
}

fn said_nothing() -> String {
    String::new()
}
