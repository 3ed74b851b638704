//! Accepts connections and serves them until told to stop.
//!
//! Our own loop rather than `axum::serve`, because a connection here is bounded: in number, in the time it may take to
//! send a header or to read what it is sent, and in what it buffers. `TCP_NODELAY` is set on each, without which an event stream waits 40 ms for
//! the peer's acknowledgement.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Server;

const HEADER_TIME: Duration = Duration::from_secs(10);
const BUFFER: usize = 64 << 10;

/// What requests under way have left when the server stops.
const DRAIN: Duration = Duration::from_secs(5);

/// For how long, and for how many bytes, a client may go on sending after the last answer of its connection.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 8 << 20;

/// After running out of file descriptors, accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where a connection comes from. Each of its requests carries it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);

type Stream = Pin<Box<TimeoutStream<TcpStream>>>;

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    /// Where it listens, with the port that the system chose if none was asked for.
    pub address: SocketAddr,
}

impl Listener {
    /// Binds a socket.
    ///
    /// # Errors
    /// When the address is taken or may not be used.
    pub async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        Ok(Self { address: socket.local_addr()?, socket })
    }
}

/// Serves `router` within the bounds of `settings`, until `stop`, then lets requests under way finish.
pub async fn serve(listener: Listener, router: Router, settings: &Server, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(settings.connections));
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accept(&listener.socket, &places) => accepted,
        };
        let Some(((stream, peer), place)) = accepted else { continue };
        let stream = patient(stream, settings.unread);
        let connection = connection(stream, peer, router.clone(), stop.clone());
        tasks.spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    tasks.close();
    if tokio::time::timeout(DRAIN, tasks.wait()).await.is_err() {
        tracing::warn!("stopped requests that were still under way");
    }
}

async fn accept(
    socket: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<((TcpStream, Peer), tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match socket.accept().await {
        Ok((stream, address)) => Some(((stream, Peer(address.ip())), place)),
        Err(error) => {
            tracing::warn!("cannot accept a connection: {error}");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// A stream whose peer has to read: one that takes nothing for so long is given up, with all that waits for it.
fn patient(stream: TcpStream, unread: Duration) -> Stream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("cannot set TCP_NODELAY: {error}");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(unread));
    Box::pin(stream)
}

async fn connection(stream: Stream, peer: Peer, router: Router, stop: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(BUFFER);
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        routes.call(request)
    });
    let mut served = http.serve_connection(TokioIo::new(stream), service);
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = stop.cancelled() => {
            Pin::new(&mut served).graceful_shutdown();
            served.await.unwrap_or_else(broken);
            return;
        }
    };
    match ended {
        Ok(()) => linger(served.into_parts().io.into_inner()).await,
        Err(error) => broken(error),
    }
}

fn broken(error: hyper::Error) {
    tracing::debug!("connection: {error}");
}

/// Reads on where the answer was the last word. A client that was refused may still be sending, and a connection that is
/// closed under it takes the answer away before it is read (RFC 9112, 9.6).
async fn linger(stream: Stream) {
    let mut rest = stream.take(LINGER_BYTES);
    let mut nowhere = tokio::io::sink();
    let reading = tokio::io::copy(&mut rest, &mut nowhere);
    if let Ok(Err(error)) = tokio::time::timeout(LINGER, reading).await {
        tracing::debug!("connection, after its last answer: {error}");
    }
}
