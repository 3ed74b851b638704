//! Sends one request to the collector, on a connection of its own.
//!
//! At most one batch is sent a second, so a connection pool would save nothing. Only the status of the response is
//! read, so a body without an end costs nothing. No redirect is followed, because the headers may hold a secret.

use std::future::ready;
use std::io;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::outgoing_connection::{self, TlsError, send_request};

/// Where spans are sent.
#[derive(Clone)]
pub struct OtlpTarget {
    host: String,
    port: u16,
    is_tls: bool,
    authority: HeaderValue,
    path: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// A header that cannot be sent. The error does not repeat its value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be sent as a header: a name has letters, digits and dashes, and a value has no line ends"
)]
pub struct InvalidHeader(pub String);

/// Why a batch did not reach the collector.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("the name of its host could not be looked up")]
    Name(#[source] io::Error),
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
    #[error("it took too long")]
    TimedOut,
}

impl OtlpTarget {
    /// The collector at a host and port, and the path to which traces are posted. `host` is a name or an address
    /// without brackets; `authority` is host and port as they stand in the URL.
    ///
    /// # Errors
    /// When a header cannot be sent, or the authority is no valid value of the header `Host`.
    pub fn new(
        (host, port, is_tls): (String, u16, bool),
        authority: &str,
        path: String,
        headers: &[(&str, &str)],
    ) -> Result<Self, InvalidHeader> {
        let read = |(name, value): &(&str, &str)| -> Result<(HeaderName, HeaderValue), InvalidHeader> {
            let invalid = || InvalidHeader((*name).to_owned());
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            Ok((header, value))
        };
        let headers = headers.iter().map(read).collect::<Result<_, _>>()?;
        let authority = HeaderValue::from_str(authority).map_err(|_| InvalidHeader("host".to_owned()))?;
        Ok(Self { host, port, is_tls, authority, path, headers })
    }

    /// Posts a batch. Dropping the future closes the connection.
    pub(super) async fn post(&self, body: Bytes) -> Result<(), SendError> {
        let found =
            tokio::net::lookup_host((self.host.as_str(), self.port)).await.map_err(SendError::Name)?;
        let addresses: Vec<_> = found.collect();
        let stream = outgoing_connection::dial(&addresses).await.map_err(SendError::Connect)?;
        let request = self.request(body)?;
        let read = |response: Response<Incoming>| ready(Ok::<_, SendError>(response.status()));
        let status = if self.is_tls {
            let name = ServerName::try_from(self.host.clone());
            let name = name.map_err(|error| SendError::Name(io::Error::other(error)))?;
            send_request(outgoing_connection::start_tls(name, stream).await?, request, read).await?
        } else {
            send_request(stream, request, read).await?
        };
        if status.is_success() { Ok(()) } else { Err(SendError::Status(status)) }
    }

    fn request(&self, body: Bytes) -> Result<Request<Full<Bytes>>, http::Error> {
        let mut request = Request::builder().method(Method::POST).uri(&self.path).body(Full::from(body))?;
        let headers = request.headers_mut();
        headers.insert(HOST, self.authority.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("plugport/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(request)
    }
}

impl std::fmt::Debug for OtlpTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtlpTarget")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
