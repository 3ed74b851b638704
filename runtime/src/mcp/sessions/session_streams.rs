//! The event streams of one session: one for each request that needed a stream, and the standalone one of GET.
//!
//! What belongs to a request goes on the stream of that request and nowhere else. Streams that have ended are kept for a
//! while, for a client whose connection broke in the last moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::super::buffer_budget::BufferShare;
use super::super::jsonrpc::is_request;
use super::super::response_stream::{ResponsePart, ResponseStream};
use super::event_store::{Event, EventPriority, EventReader, EventStore, parse_id};
use super::server_notifications::ServerNotifications;
use super::session::{AttachedConnection, Session};

/// Streams of requests that are kept at the same time, those under way aside.
const MOST: usize = 32;

/// Bytes that are kept of streams that have ended.
const KEPT_BYTES: usize = 4 << 20;

/// How long a stream is kept after its end.
const KEPT: Duration = Duration::from_secs(60);

/// When a client whose stream was closed on purpose should come back.
pub const RETRY: Duration = Duration::from_millis(250);

/// Number of the stream for what comes unasked.
const STANDALONE: u64 = 0;

/// The streams.
#[derive(Debug)]
pub(crate) struct SessionStreams {
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

/// What an event stream brings next.
#[derive(Debug)]
pub enum NextEvent {
    /// An event.
    Event(Event),
    /// The stream is closed although more will come; the client should ask again after [`RETRY`].
    Retry,
    /// It is over.
    End,
}

/// An event stream on one connection.
#[derive(Debug)]
pub struct EventStream {
    session: Arc<Session>,
    reader: EventReader,
    prime: bool,
    /// After how long without a message the connection is closed; zero: never.
    close: Duration,
    /// Since when there was no message.
    silent: Instant,
    standalone: Option<AttachedConnection>,
}

impl SessionStreams {
    /// The streams of a session; what they keep is kept for its caller.
    pub(crate) fn new(share: BufferShare) -> Self {
        let standalone = EventStore::new(STANDALONE, share.clone());
        Self { standalone, request_streams: Mutex::default(), share, notifications: Arc::default() }
    }

    /// Makes way for old streams to be forgotten.
    pub(crate) fn sweep(&self) {
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

impl EventStream {
    /// A stream for a request of `session`: what `response_stream` brings, after `first`. It goes on without a reader.
    pub(crate) fn for_request(
        session: &Arc<Session>,
        response_stream: ResponseStream,
        first: Option<Bytes>,
        close: Duration,
    ) -> Self {
        let store = session.streams.open_stream();
        let reader = store.read_new();
        session.tasks.spawn(pump(Arc::clone(session), store, response_stream, first));
        let prime = session.revision.has_priming_events();
        Self { session: Arc::clone(session), reader, prime, close, silent: Instant::now(), standalone: None }
    }

    /// The stream for what comes unasked.
    pub(crate) fn standalone(
        session: &Arc<Session>,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Self {
        let reader = session.streams.standalone.read_new();
        Self::attached(session, reader, notifications)
    }

    /// The stream that the event `id` belongs to, from the event after it on.
    pub(crate) fn resume(
        session: &Arc<Session>,
        id: &str,
        close: Duration,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Option<Self> {
        let (stream, event) = parse_id(id)?;
        let reader = session.streams.find(stream)?.read_after(event).ok()?;
        if stream == STANDALONE {
            return Some(Self::attached(session, reader, notifications));
        }
        Some(Self {
            session: Arc::clone(session),
            reader,
            prime: false,
            close,
            silent: Instant::now(),
            standalone: None,
        })
    }

    fn attached(
        session: &Arc<Session>,
        reader: EventReader,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Self {
        // Where it is locked, the stream before this one still has it, and gives it up when it finds itself replaced.
        if let Ok(mut place) = session.streams.notifications.try_lock() {
            place.get_or_insert_with(notifications);
        }
        let prime = session.revision.has_priming_events();
        let standalone = Some(session.attach());
        Self {
            session: Arc::clone(session),
            reader,
            prime,
            close: Duration::ZERO,
            silent: Instant::now(),
            standalone,
        }
    }

    /// What comes next. Can be dropped and called again without losing anything.
    pub async fn next(&mut self) -> NextEvent {
        if std::mem::take(&mut self.prime) {
            return NextEvent::Event(Event { id: self.reader.id(), message: None });
        }
        let Self { session, reader, close, silent, standalone, .. } = self;
        let next = tokio::select! {
            biased;
            event = reader.next() => event.map_or(NextEvent::End, NextEvent::Event),
            () = session.ended.cancelled() => NextEvent::End,
            () = session.stopping.cancelled(), if standalone.is_some() => NextEvent::End,
            () = announce(session), if standalone.is_some() => NextEvent::End,
            () = tokio::time::sleep_until(*silent + *close), if !close.is_zero() => NextEvent::Retry,
        };
        *silent = Instant::now();
        next
    }
}

/// Moves what the session has to say to the stream for it, until the client is gone.
async fn announce(session: &Session) {
    let mut notifications = session.streams.notifications.lock().await;
    let Some(notifications) = notifications.as_mut() else { return std::future::pending().await };
    while let Ok(message) = notifications.next().await {
        if !session.streams.standalone.push(message.clone(), EventPriority::ClientRequest) {
            // The reader was cut off, and the next one hears of it.
            notifications.put_back(message);
            return std::future::pending().await;
        }
    }
    tracing::debug!("ended a session: its client did not answer a ping");
    session.end();
}

async fn pump(
    session: Arc<Session>,
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
            () = session.ended.cancelled() => None,
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
