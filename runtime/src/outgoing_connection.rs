//! Connections that this program opens itself: to the hosts that plugins reach, to authorization servers, and to a
//! collector of traces.
//!
//! Who may be reached is decided by those who call: here are only addresses, and names to compare certificates with.
//! Certificates are trusted as the machine trusts them: an operator who adds a company's authority, or takes one away,
//! does it once for everything that runs there. A list compiled in would be as old as this program. `SSL_CERT_FILE` and
//! `SSL_CERT_DIR` are honoured, as by other programs. Leaf module; any layer may use it.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Most addresses of one name that are tried.
const MAX_TRIED: usize = 4;

/// Time for connecting to one address, while there is another to try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Largest head of a response, bytes.
const MAX_HEAD: usize = 32 << 10;

/// Read for the first connection that needs it.
static CONNECTOR: OnceCell<TlsConnector> = OnceCell::const_new();

/// Whether the log says already that there are no authorities: a guest may try again and again.
static LOGGED: AtomicBool = AtomicBool::new(false);

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// No certificate authorities are known, and the log says why.
    #[error("the server knows no certificate authorities")]
    NoAuthorities,
    /// The host's certificate was rejected, or it speaks another protocol.
    #[error("TLS failed")]
    Failed(#[source] io::Error),
}

/// Connects to the first address that accepts.
pub(crate) async fn dial(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let tried = addresses.len().min(MAX_TRIED);
    for (index, address) in addresses.iter().take(tried).enumerate() {
        let connecting = TcpStream::connect(address);
        let connected = if index + 1 == tried {
            connecting.await
        } else {
            let timed_out = |_| Err(io::Error::from(io::ErrorKind::TimedOut));
            tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or_else(timed_out)
        };
        match connected {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Begins TLS with a host, whose certificate must be valid for this name or address.
pub(crate) async fn start_tls(
    name: ServerName<'static>,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, TlsError> {
    let connector = CONNECTOR.get_or_try_init(connector).await?;
    connector.connect(name, stream).await.map_err(TlsError::Failed)
}

/// Sends the only request of a connection, and has `read` read the response while the connection is driven.
pub(crate) async fn send_request<S, R, T, E>(
    stream: S,
    request: Request<Full<Bytes>>,
    read: impl FnOnce(Response<Incoming>) -> R,
) -> Result<T, E>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
    R: Future<Output = Result<T, E>>,
    E: From<hyper::Error>,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEAD).max_header_size(MAX_HEAD);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let mut response = pin!(async { read(sender.send_request(request).await?).await });
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        done = &mut response => done,
        ended = &mut connection => {
            ended?;
            response.await
        }
    }
}

async fn connector() -> Result<TlsConnector, TlsError> {
    tokio::task::spawn_blocking(load_connector).await.map_err(tls_error)?
}

fn tls_error(error: impl std::error::Error + Send + Sync + 'static) -> TlsError {
    TlsError::Failed(io::Error::other(error))
}

fn load_connector() -> Result<TlsConnector, TlsError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(tls_error)?
        .with_root_certificates(authorities()?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn authorities() -> Result<RootCertStore, TlsError> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(loaded.certs);
    if roots.is_empty() {
        if !LOGGED.swap(true, Ordering::Relaxed) {
            let cause = loaded.errors.first().map(ToString::to_string).unwrap_or_default();
            tracing::error!(
                cause,
                "nothing can be reached by https, since no certificate authorities were found; install the system's \
                 package of them (ca-certificates), or name a file of them in SSL_CERT_FILE"
            );
        }
        return Err(TlsError::NoAuthorities);
    }
    Ok(roots)
}
