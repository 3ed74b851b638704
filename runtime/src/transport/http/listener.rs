//! Accepts connections and serves them until told to stop.
//!
//! Our own loop rather than `axum::serve`, because a connection here is bounded: [in number](super::connections), in the time
//! it may take to send a header or to read what it is sent, and in what it buffers. `TCP_NODELAY` is set on each, without which an event stream waits 40 ms for
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
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connections::{Activity, Connections, Doing, Place};
use crate::config::Server;
use crate::protocol::Caller;

const HEADER_TIME: Duration = Duration::from_secs(10);

/// What a connection may buffer in each direction, and so the longest header. The least that is not met by honest clients.
const BUFFER: usize = 32 << 10;

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
    let connections = Connections::new(settings.connections);
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accept(&listener.socket) => accepted,
        };
        let Some((stream, peer)) = accepted else { continue };
        // When all are at work its client is cut off: one that waited would hold up those behind it, whoever they are.
        let Some(place) = connections.enter(Caller::Address(peer.0)) else { continue };
        let stream = patient(stream, settings.unread);
        tasks.spawn(connection(stream, (peer, place), router.clone(), stop.clone()));
    }
    drop(listener);
    tasks.close();
    if tokio::time::timeout(DRAIN, tasks.wait()).await.is_err() {
        tracing::warn!("stopped requests that were still under way");
    }
}

async fn accept(socket: &TcpListener) -> Option<(TcpStream, Peer)> {
    match socket.accept().await {
        Ok((stream, address)) => Some((stream, Peer(address.ip()))),
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

/// What a request's connection does.
#[derive(Debug, Clone)]
pub(super) struct At(pub(super) Arc<Activity>);

async fn connection(stream: Stream, (peer, place): (Peer, Place), router: Router, stop: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(BUFFER);
    let routes = TowerToHyperService::new(router);
    let activity = Arc::clone(&place.activity);
    let service = service_fn(move |mut request: Request<Incoming>| {
        activity.set(Doing::Waiting);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(At(Arc::clone(&activity)));
        let (serving, activity) = (routes.call(request), Arc::clone(&activity));
        async move {
            let response = serving.await;
            let streams = response.as_ref().is_ok_and(super::sse::is_stream);
            activity.set(if streams { Doing::Streaming } else { Doing::Waiting });
            response
        }
    });
    let mut served = http.serve_connection(TokioIo::new(stream), service);
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = place.activity.given_up.cancelled() => {
            tracing::debug!("gave up a connection to make room for another (setting [server] `connections`)");
            return;
        }
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
