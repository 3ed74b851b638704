//! Accepts connections and serves them until the server stops.
//!
//! The accept loop is our own and not `axum::serve`, because connections are bounded here: [in
//! number](super::connection_limit), in the time for a TLS handshake, for sending a header and for reading a response,
//! and in their buffers. `TCP_NODELAY` is set on each connection; without it, an event stream would wait 40 ms for the
//! client's acknowledgement.
//!
//! TLS is a layer between the socket and hyper. `connection` is compiled twice, with and without it, so that plain HTTP
//! does not pay for TLS.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::{ConnectionLimit, ConnectionPermit, ConnectionState};
use super::header_read_timer::HeaderReadTimer;
use super::make_service::{ConnectionInfo, MakeService};
use super::tls::{ConnectionCertificate, FailedHandshake, TlsAcceptor, TlsClient};
use crate::config::ServerConfig;
use crate::mcp::Caller;
use crate::self_waking::SelfWaking;

const HEADER_TIME: Duration = Duration::from_secs(10);

/// Size of a connection's buffer in each direction, in bytes, and so the maximum length of a header. It is the smallest
/// size that honest clients do not reach.
const BUFFER: usize = 32 << 10;

/// Size of the kernel's send buffer, in bytes. By default it may grow to 4 MiB for each connection, which no budget of
/// the server counts. Linux allocates twice this size, for its bookkeeping.
const SEND_BUFFER: u32 = 64 << 10;

/// Size of the kernel's receive buffer, in bytes. By default it may grow to 6 MiB and more for a client that was read
/// fast before. Linux allocates twice this size, of which at least half is the TCP window. In measurements this was no
/// slower on one machine and in a local network, and over a round trip of 300 ms a body of 4 MiB still arrived in time.
const RECEIVE_BUFFER: u32 = 64 << 10;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// How long, and how many bytes, a client may go on sending after the last response on its connection.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 8 << 20;

/// The pause after running out of file descriptors: accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

type TimeoutTcpStream = Pin<Box<TimeoutStream<TcpStream>>>;

/// The stream to a client: TCP, or TLS over TCP.
trait ClientStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Returns the TCP stream below.
    fn into_tcp(self) -> TimeoutTcpStream;
}

impl ClientStream for TimeoutTcpStream {
    fn into_tcp(self) -> TimeoutTcpStream {
        self
    }
}

impl ClientStream for TlsStream<TimeoutTcpStream> {
    fn into_tcp(self) -> TimeoutTcpStream {
        self.into_inner().0
    }
}

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    /// The address, with the port that the system chose for port 0.
    pub address: SocketAddr,
    tls: Option<Arc<TlsAcceptor>>,
    connections: Arc<AtomicUsize>,
}

impl Listener {
    /// Binds a socket; must be called within the async runtime.
    ///
    /// # Errors
    /// When the address is in use or not permitted.
    pub fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Lets a restarted server use its address at once.
        socket.set_reuseaddr(true)?;
        // Accepted connections inherit both buffer sizes.
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        Ok(Self { address: socket.local_addr()?, socket, tls: None, connections: Arc::default() })
    }

    /// Serves HTTPS instead of HTTP.
    #[must_use]
    pub fn with_tls(self, tls: TlsAcceptor) -> Self {
        Self { tls: Some(Arc::new(tls)), ..self }
    }

    /// The number of open connections, which changes while the listener serves.
    #[must_use]
    pub fn connections(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.connections)
    }

    /// The URL of the server, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }
}

/// Serves `routes` within the limits of `settings` until `stop` is cancelled, then lets running requests finish.
pub async fn serve(
    listener: Listener,
    routes: impl MakeService,
    settings: &ServerConfig,
    stop: CancellationToken,
) {
    let tls = listener.tls.clone();
    let serving = serve_connections(listener, routes, settings, &stop);
    match tls {
        None => serving.await,
        Some(tls) => {
            tokio::join!(serving, tls.reload(&stop));
        }
    }
}

async fn serve_connections(
    listener: Listener,
    routes: impl MakeService,
    settings: &ServerConfig,
    stop: &CancellationToken,
) {
    let connections = ConnectionLimit::new(settings.max_connections, Arc::clone(&listener.connections));
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accept(&listener.socket) => accepted,
        };
        let Some((stream, peer)) = accepted else { continue };
        // If all connections are serving requests, the new one is closed: waiting for a permit would delay all later
        // connections.
        let Some(permit) = connections.acquire(Caller::Address(peer)) else { continue };
        let stream = with_write_timeout(stream, settings.write_timeout);
        let context = ConnectionContext { peer, permit, routes: routes.clone(), stop: stop.clone() };
        match &listener.tls {
            None => tasks.spawn(connection(stream, None, context)),
            Some(tls) => tasks.spawn(tls_connection(Arc::clone(tls), stream, context)),
        };
    }
    drop(listener);
    tasks.close();
    if tokio::time::timeout(settings.shutdown, tasks.wait()).await.is_err() {
        tracing::warn!("cancelled requests that were still running");
    }
}

async fn accept(socket: &TcpListener) -> Option<(TcpStream, IpAddr)> {
    match socket.accept().await {
        Ok((stream, address)) => Some((stream, address.ip())),
        Err(error) => {
            tracing::warn!("cannot accept a connection: {error}");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// Wraps a stream so that the connection ends when a write makes no progress for `timeout`.
fn with_write_timeout(stream: TcpStream, timeout: Duration) -> TimeoutTcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("cannot set TCP_NODELAY: {error}");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(timeout));
    Box::pin(stream)
}

/// Everything that belongs to one connection, except its stream.
struct ConnectionContext<R> {
    peer: IpAddr,
    permit: ConnectionPermit,
    routes: R,
    stop: CancellationToken,
}

/// Serves a connection that starts with a TLS handshake. During the handshake the connection counts as waiting for its
/// client and can be evicted.
async fn tls_connection(
    tls: Arc<TlsAcceptor>,
    stream: TimeoutTcpStream,
    context: ConnectionContext<impl MakeService>,
) {
    let accepted = tokio::select! {
        accepted = tls.accept(stream) => accepted,
        () = context.permit.activity.evicted.cancelled() => return log_eviction(),
        () = context.stop.cancelled() => return,
    };
    match accepted {
        Ok(TlsClient { stream, certificate }) => connection(stream, certificate, context).await,
        Err(FailedHandshake { why, stream }) => {
            tracing::debug!("{why}");
            if let Some(mut stream) = stream {
                // The client may still be sending, and must be able to read why the handshake failed.
                stream
                    .shutdown()
                    .await
                    .unwrap_or_else(|error| tracing::debug!("the connection failed: {error}"));
                lingering_close(stream).await;
            }
        }
    }
}

/// Serves HTTP on a connection. `certificate` is the client's certificate, which becomes an extension of each request.
async fn connection(
    stream: impl ClientStream,
    certificate: Option<ConnectionCertificate>,
    ConnectionContext { peer, permit, routes, stop }: ConnectionContext<impl MakeService>,
) {
    let mut http = http1::Builder::new();
    http.timer(HeaderReadTimer::default()).header_read_timeout(HEADER_TIME).max_buf_size(BUFFER);
    let activity = Arc::clone(&permit.activity);
    let routes = routes.make_service(ConnectionInfo { peer, activity: Arc::clone(&activity) });
    let distrusted = certificate.as_ref().map(|certificate| certificate.distrusted.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        activity.set(ConnectionState::Waiting);
        if let Some(certificate) = &certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        let (serving, activity) = (Service::call(&routes, request), Arc::clone(&activity));
        async move {
            let response = serving.await;
            let streams = response.as_ref().is_ok_and(super::sse::is_stream);
            activity.set(if streams { ConnectionState::Streaming } else { ConnectionState::Waiting });
            response
        }
    });
    let mut served = SelfWaking::new(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = permit.activity.evicted.cancelled() => return log_eviction(),
        () = either_cancelled(&stop, distrusted.as_ref()) => {
            Pin::new(served.get_mut()).graceful_shutdown();
            tokio::select! {
                ended = &mut served => ended.unwrap_or_else(log_broken),
                () = permit.activity.evicted.cancelled() => log_eviction(),
            }
            return;
        }
    };
    match ended {
        Ok(()) => lingering_close(served.into_inner().into_parts().io.into_inner().into_tcp()).await,
        Err(error) => log_broken(error),
    }
}

/// Waits until one of the tokens is cancelled.
async fn either_cancelled(one: &CancellationToken, other: Option<&CancellationToken>) {
    match other {
        Some(other) => {
            one.run_until_cancelled(other.cancelled()).await;
        }
        None => one.cancelled().await,
    }
}

fn log_eviction() {
    tracing::debug!("evicted a connection for a new one (setting [server] `max_connections`)");
}

fn log_broken(error: hyper::Error) {
    tracing::debug!("the connection failed: {error}");
}

/// Reads on after the last response of a connection. A client whose request was rejected may still be sending it;
/// closing the connection at once could destroy the response before the client reads it (RFC 9112, 9.6).
async fn lingering_close(stream: TimeoutTcpStream) {
    let mut input = stream.take(LINGER_BYTES);
    let mut nowhere = tokio::io::sink();
    let reading = tokio::io::copy(&mut input, &mut nowhere);
    if let Ok(Err(error)) = tokio::time::timeout(LINGER, reading).await {
        tracing::debug!("the connection failed after its last response: {error}");
    }
}

#[cfg(test)]
mod tests;
