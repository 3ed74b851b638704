//! The event streams of one session: one for each request that needed a stream, and the standalone one of GET.
//!
//! What belongs to a request goes on the stream of that request and nowhere else. Streams that have ended are kept for a
//! while, for a client whose connection broke in the last moment. A stream of the mcp layer knows nothing of this: here it is
//! read into an [`EventStore`], and each connection reads from the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::event_store::{Event, EventPriority, EventReader, EventStore, parse_id};
use super::session_registry::HttpSession;
use super::sse::{EncodedEvent, EventSource};
use crate::mcp::{
    AttachedConnection, BufferShare, ResponsePart, ResponseStream, ServerNotifications, is_request,
};

/// Streams of requests that are kept at the same time, those under way aside.
const MOST: usize = 32;

/// Bytes that are kept of streams that have ended.
const KEPT_BYTES: usize = 4 << 20;

/// How long a stream is kept after its end.
const KEPT: Duration = Duration::from_secs(60);

/// When a client whose stream was closed on purpose should come back.
pub(super) const RETRY: Duration = Duration::from_millis(250);

/// Number of the stream for what comes unasked.
const STANDALONE: u64 = 0;

/// The streams.
#[derive(Debug)]
pub(super) struct SessionStreams {
    standalone: Arc<EventStore>,
    request_streams: Mutex<RequestStreams>,
    share: BufferShare,
    notifications: Arc<tokio::sync::Mutex<Option<ServerNotifications>>>,
}

#[derive(Debug, Default)]
struct RequestStreams {
    last: u64,
    stores: VecDeque<Arc<EventStore>>,
}

impl RequestStreams {
    /// Bytes of streams that have ended.
    fn kept(&self) -> usize {
        self.stores.iter().filter(|store| store.ended_for().is_some()).map(|store| store.bytes()).sum()
    }
}

/// An event stream on one connection, which survives the connection.
#[derive(Debug)]
pub(super) struct ResumableStream {
    session: Arc<HttpSession>,
    reader: EventReader,
    prime: bool,
    /// After how long without a message the connection is closed; zero: never.
    close: Duration,
    /// Since when there was no message.
    silent: Instant,
    standalone: Option<AttachedConnection>,
    /// The connection is closed although more will come.
    closed: bool,
}

impl SessionStreams {
    /// The streams of a session; what they keep is kept for its caller.
    pub(super) fn new(share: BufferShare) -> Self {
        let standalone = EventStore::new(STANDALONE, share.clone());
        Self { standalone, request_streams: Mutex::default(), share, notifications: Arc::default() }
    }

    /// Makes way for old streams to be forgotten.
    pub(super) fn sweep(&self) {
        self.lock().stores.retain(|store| store.ended_for().is_none_or(|ended| ended < KEPT));
    }

    fn open_stream(&self) -> Arc<EventStore> {
        let mut streams = self.lock();
        streams.last += 1;
        let store = EventStore::new(streams.last, self.share.clone());
        // Those under way are bounded by the requests under way; the others make room, oldest first.
        while streams.stores.len() >= MOST || streams.kept() > KEPT_BYTES {
            let Some(ended) = streams.stores.iter().position(|store| store.ended_for().is_some()) else {
                break;
            };
            streams.stores.remove(ended);
        }
        streams.stores.push_back(Arc::clone(&store));
        store
    }

    fn find(&self, number: u64) -> Option<Arc<EventStore>> {
        if number == STANDALONE {
            return Some(Arc::clone(&self.standalone));
        }
        self.lock().stores.iter().find(|store| store.number == number).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RequestStreams> {
        self.request_streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResumableStream {
    /// A stream for a request of `session`: what `response_stream` brings, after `first`. It goes on without a reader.
    pub(super) fn for_request(
        session: &Arc<HttpSession>,
        response_stream: ResponseStream,
        first: Option<Bytes>,
        close: Duration,
    ) -> Self {
        let store = session.streams.open_stream();
        let reader = store.read_new();
        session.session.tasks.spawn(pump(Arc::clone(session), store, response_stream, first));
        Self::new(session, reader, close)
    }

    /// The stream for what comes unasked.
    pub(super) fn standalone(
        session: &Arc<HttpSession>,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Self {
        let reader = session.streams.standalone.read_new();
        Self::attached(session, reader, notifications)
    }

    /// The stream that the event `id` belongs to, from the event after it on.
    pub(super) fn resume(
        session: &Arc<HttpSession>,
        id: &str,
        close: Duration,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Option<Self> {
        let (stream, event) = parse_id(id)?;
        let reader = session.streams.find(stream)?.read_after(event).ok()?;
        if stream == STANDALONE {
            return Some(Self::attached(session, reader, notifications));
        }
        Some(Self { prime: false, ..Self::new(session, reader, close) })
    }

    fn attached(
        session: &Arc<HttpSession>,
        reader: EventReader,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Self {
        // Where it is locked, the stream before this one still has it, and gives it up when it finds itself replaced.
        if let Ok(mut place) = session.streams.notifications.try_lock() {
            place.get_or_insert_with(notifications);
        }
        let standalone = Some(session.session.attach());
        Self { standalone, ..Self::new(session, reader, Duration::ZERO) }
    }

    fn new(session: &Arc<HttpSession>, reader: EventReader, close: Duration) -> Self {
        let (session, prime) = (Arc::clone(session), session.session.revision.has_priming_events());
        Self { session, reader, prime, close, silent: Instant::now(), standalone: None, closed: false }
    }
}

impl EventSource for ResumableStream {
    async fn next_event(&mut self) -> Option<EncodedEvent> {
        if self.closed {
            return None;
        }
        if std::mem::take(&mut self.prime) {
            return Some(EncodedEvent::with_id(&Event { id: self.reader.id(), message: None }));
        }
        let Self { session: http_session, reader, close, silent, standalone, closed, .. } = self;
        let http_session: &HttpSession = http_session;
        let session = &http_session.session;
        let event = tokio::select! {
            biased;
            event = reader.next() => event?,
            () = session.ended.cancelled() => return None,
            () = session.stopping.cancelled(), if standalone.is_some() => return None,
            () = announce(http_session), if standalone.is_some() => return None,
            () = tokio::time::sleep_until(*silent + *close), if !close.is_zero() => {
                *closed = true;
                return Some(EncodedEvent::retry(RETRY));
            }
        };
        *silent = Instant::now();
        Some(EncodedEvent::with_id(&event))
    }
}

/// Moves what the session has to say to the stream for it, until the client is gone.
async fn announce(session: &HttpSession) {
    let mut notifications = session.streams.notifications.lock().await;
    let Some(notifications) = notifications.as_mut() else { return std::future::pending().await };
    while let Ok(message) = notifications.next().await {
        if !session.streams.standalone.push(message.clone(), EventPriority::ClientRequest) {
            // The reader was cut off, and the next one hears of it.
            notifications.put_back(message);
            return std::future::pending().await;
        }
    }
    tracing::debug!("a session has ended: its client did not answer a ping");
    session.session.end();
}

async fn pump(
    session: Arc<HttpSession>,
    store: Arc<EventStore>,
    mut response_stream: ResponseStream,
    first: Option<Bytes>,
) {
    let id = response_stream.id().cloned();
    if let Some(first) = first {
        store.push(first, EventPriority::ClientRequest);
    }
    loop {
        let part = tokio::select! {
            biased;
            part = response_stream.next() => part,
            () = session.session.ended.cancelled() => None,
        };
        match part {
            Some(ResponsePart::Message(message)) => {
                let weight = if is_request(&message) {
                    EventPriority::ClientRequest
                } else {
                    EventPriority::Notification
                };
                store.push(message, weight);
            }
            Some(ResponsePart::Response(answer, _)) => {
                if !store.push(answer, EventPriority::Response) {
                    store.push_error(id.as_ref());
                }
            }
            None => break,
        }
    }
    store.end();
}
