//! Requests to authorization servers: one GET or POST on a connection of its own.
//!
//! The responses decide who may call, so the rules are strict: no redirect is followed, a response is bounded in size
//! and time, and `http://` URLs may only lead to this machine. There is no connection pool, because keys are fetched
//! only every few minutes. `Fetch` is a trait, so that tests can replace the authorization server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::config::{Endpoint, Host, Scheme};
use crate::outgoing_connection::{self, TlsError, send_request};

/// Maximum size of a response, in bytes.
const MAX_BODY: usize = 256 << 10;

/// The time-out of a request, unless it sets its own.
pub(super) const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// One request.
pub(super) struct FetchRequest {
    pub(super) endpoint: Endpoint,
    /// The form to POST; `None` for a GET.
    pub(super) form: Option<FormBody>,
    /// The time-out for the whole request and response.
    pub(super) timeout: Duration,
}

/// A form, and the credentials of this server as an OAuth client.
pub(super) struct FormBody {
    pub(super) authorization: HeaderValue,
    /// `application/x-www-form-urlencoded`.
    pub(super) body: String,
}

/// A response with status 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) body: Bytes,
    /// How long the response may be cached, if it says so.
    pub(super) max_age: Option<Duration>,
}

/// Why a request has no usable response.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the name of its host could not be looked up")]
    Name(#[source] io::Error),
    #[error("its host is another machine, and http:// is accepted for this machine only")]
    NotLoopback,
    #[error("it could not be reached")]
    Connect(#[source] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the request could not be written")]
    Request(#[from] http::Error),
    #[error("it does not speak HTTP as expected")]
    Http(#[from] hyper::Error),
    #[error("it answered with status {0}")]
    Status(StatusCode),
    #[error("its response is larger than {} KiB", MAX_BODY >> 10)]
    TooLarge,
    #[error("its response ended early")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("it took too long")]
    TimedOut,
    #[error("its response cannot be used: {0}")]
    Document(Box<str>),
    #[error("its metadata could not be fetched")]
    NoMetadata,
    #[error("the fetch was stopped")]
    Stopped,
}

/// Sends requests to authorization servers.
pub(super) trait Fetch: Send + Sync {
    /// Sends one request. Dropping the future closes the connection.
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'static, Result<Fetched, FetchError>>;
}

impl FetchRequest {
    /// A GET.
    pub(super) fn get(endpoint: Endpoint) -> Self {
        Self { endpoint, form: None, timeout: FETCH_TIMEOUT }
    }
}

/// Sends requests over the network.
#[derive(Debug)]
pub(super) struct HttpFetch;

impl Fetch for HttpFetch {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'static, Result<Fetched, FetchError>> {
        async move {
            let time = request.timeout;
            timeout(time, send(request)).await.unwrap_or(Err(FetchError::TimedOut))
        }
        .boxed()
    }
}

async fn send(request: FetchRequest) -> Result<Fetched, FetchError> {
    let FetchRequest { endpoint, form, .. } = request;
    tracing::trace!(host = %endpoint.authority(), has_form = form.is_some(), "sends a request to an issuer");
    let request = http_request(&endpoint, form)?;
    let stream =
        outgoing_connection::dial(&addresses(&endpoint).await?).await.map_err(FetchError::Connect)?;
    match endpoint.scheme() {
        Scheme::Http => send_request(stream, request, read).await,
        Scheme::Https => {
            let stream = outgoing_connection::start_tls(server_name(endpoint.host())?, stream).await?;
            send_request(stream, request, read).await
        }
    }
}

/// Looks up the addresses of the host. `localhost` is looked up like any other name, because it may lead elsewhere.
async fn addresses(endpoint: &Endpoint) -> Result<Vec<SocketAddr>, FetchError> {
    let addresses = match endpoint.host() {
        Host::Address(address) => vec![SocketAddr::new(*address, endpoint.port())],
        Host::Name(name) => {
            let found = tokio::net::lookup_host((name.as_str(), endpoint.port())).await;
            found.map_err(FetchError::Name)?.collect()
        }
    };
    let is_local = addresses.iter().all(|address| address.ip().is_loopback());
    if endpoint.scheme() == Scheme::Http && !is_local {
        return Err(FetchError::NotLoopback);
    }
    Ok(addresses)
}

fn server_name(host: &Host) -> Result<ServerName<'static>, FetchError> {
    match host {
        Host::Address(address) => Ok(ServerName::from(*address)),
        Host::Name(name) => {
            ServerName::try_from(name.clone()).map_err(|error| FetchError::Name(io::Error::other(error)))
        }
    }
}

fn http_request(endpoint: &Endpoint, form: Option<FormBody>) -> Result<Request<Full<Bytes>>, FetchError> {
    let request = Request::builder()
        .uri(endpoint.path())
        .header(HOST, endpoint.authority())
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, concat!("plugport/", env!("CARGO_PKG_VERSION")));
    let request = match form {
        None => request.method(Method::GET).body(Full::default()),
        Some(form) => request
            .method(Method::POST)
            .header(AUTHORIZATION, form.authorization)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form.body)),
    };
    Ok(request?)
}

async fn read(response: Response<Incoming>) -> Result<Fetched, FetchError> {
    let (parts, body) = response.into_parts();
    if parts.status != StatusCode::OK {
        return Err(FetchError::Status(parts.status));
    }
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() { FetchError::TooLarge } else { FetchError::Body(error) }
    })?;
    Ok(Fetched { body: body.to_bytes(), max_age: max_age(&parts.headers) })
}

/// How long the response may be cached (RFC 9111).
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let directives = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut max_age = None;
    for directive in directives.flat_map(|value| value.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => return Some(Duration::ZERO),
            "max-age" => max_age = value.trim().trim_matches('"').parse().ok().map(Duration::from_secs),
            _ => {}
        }
    }
    max_age
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Starts a server that sends the same bytes on every connection, and fetches from it. Returns the request that the
    /// server received.
    async fn fetch_from(response: String, form: Option<FormBody>) -> (Result<Fetched, FetchError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys?v=1", listener.local_addr().unwrap());
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4_096];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(response.as_bytes()).await.ok();
            // The connection stays open: the client must find the end of the response without a close.
            (stream, String::from_utf8(request[..length].to_vec()).unwrap())
        };
        let endpoint = Endpoint::parse(&url).unwrap();
        let request = FetchRequest { endpoint, form, timeout: Duration::from_millis(500) };
        let (fetched, (_, request)) = tokio::join!(HttpFetch.fetch(request), server);
        (fetched, request)
    }

    fn response(status: &str, headers: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[tokio::test]
    async fn a_document_is_fetched_with_how_long_it_may_be_kept() {
        let answer = response("200 OK", "Cache-Control: public, Max-Age=600\r\n", "{}");
        let (fetched, request) = fetch_from(answer, None).await;
        let expected = Fetched { body: "{}".into(), max_age: Some(Duration::from_secs(600)) };
        assert_eq!(fetched.unwrap(), expected);
        assert!(request.starts_with("GET /keys?v=1 HTTP/1.1\r\nhost: 127.0.0.1:"), "{request}");
        let form =
            FormBody { authorization: HeaderValue::from_static("Basic YTpi"), body: "token=x".to_owned() };
        let (fetched, request) = fetch_from(response("200 OK", "", "{}"), Some(form)).await;
        assert_eq!(fetched.unwrap().max_age, None);
        assert!(request.starts_with("POST /keys?v=1 HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("authorization: Basic YTpi\r\n"), "{request}");
    }

    #[tokio::test]
    async fn what_is_no_plain_document_is_an_error() {
        let fetch = async |response: String| fetch_from(response, None).await.0.unwrap_err();
        let redirect = fetch(response("302 Found", "Location: https://evil.test/\r\n", "{}")).await;
        assert!(matches!(redirect, FetchError::Status(StatusCode::FOUND)), "{redirect}");
        let large = fetch(response("200 OK", "", &"x".repeat(MAX_BODY + 1))).await;
        assert!(matches!(large, FetchError::TooLarge), "{large}");
        let head = fetch(response("200 OK", &format!("X: {}\r\n", "x".repeat(32 << 10)), "{}")).await;
        assert!(matches!(head, FetchError::Http(_)), "{head}");
        let silent = fetch(String::new()).await;
        assert!(matches!(silent, FetchError::TimedOut), "{silent}");
        let endless = fetch("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{".to_owned()).await;
        assert!(matches!(endless, FetchError::TimedOut), "{endless}");
        let other = fetch("SSH-2.0-OpenSSH\r\n\r\n".to_owned()).await;
        assert!(matches!(other, FetchError::Http(_)), "{other}");
    }

    #[test]
    fn the_strictest_directive_counts() {
        let age = |value| {
            let headers = HeaderMap::from_iter([(CACHE_CONTROL, HeaderValue::from_static(value))]);
            max_age(&headers)
        };
        assert_eq!(age("max-age=60, must-revalidate"), Some(Duration::from_secs(60)));
        assert_eq!(age("max-age=60, no-cache"), Some(Duration::ZERO));
        assert_eq!((age("private"), age("max-age=soon"), age("max-age=-1")), (None, None, None));
    }
}
