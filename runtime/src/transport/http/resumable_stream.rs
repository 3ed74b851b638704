//! An event stream of a session that continues when its connection breaks.
//!
//! A task moves a response stream of the layer `mcp` into an [`EventStore`] of the session. Each connection reads from
//! this store, from the start or from the event after the last one that its client received.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::event_store::{Event, EventPriority, EventReader, EventStore, parse_id};
use super::session_streams::{HttpSession, STANDALONE};
use super::sse::{EncodedEvent, EventSource};
use crate::mcp::{AttachedConnection, Caller, ResponsePart, ResponseStream, ServerNotifications, is_request};

/// How long a client should wait before it reconnects, when the server has closed its stream.
pub(super) const RETRY: Duration = Duration::from_millis(250);

/// Reads an event stream for one connection.
#[derive(Debug)]
pub(super) struct ResumableStream {
    session: Arc<HttpSession>,
    reader: EventReader,
    /// Whether the next event is the priming event.
    prime: bool,
    /// After how much time without a message the connection is closed; zero means never.
    close: Duration,
    /// When the last message came.
    last_message: Instant,
    standalone: Option<AttachedConnection>,
    /// Whether this connection is closed before the end of the stream.
    closed: bool,
}

impl ResumableStream {
    /// Makes the stream for a request of `session`: `first`, then the messages of `response_stream`. The request goes
    /// on without a reader.
    pub(super) fn for_request(
        session: &Arc<HttpSession>,
        response_stream: ResponseStream,
        first: Option<Bytes>,
        close: Duration,
    ) -> Self {
        let store = session.streams.open_stream();
        let reader = store.read_new();
        session.session.tasks.spawn(store_parts(Arc::clone(session), store, response_stream, first));
        Self::new(session, reader, close)
    }

    /// Makes the stream for server notifications, which `caller` hears.
    pub(super) fn standalone(
        session: &Arc<HttpSession>,
        caller: &Caller,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Self {
        let reader = session.streams.standalone.read_new();
        session.session.task_requests.repeat();
        Self::attached(session, reader, caller, notifications)
    }

    /// Resumes the stream of the event `id` after that event, for `caller`.
    pub(super) fn resume(
        session: &Arc<HttpSession>,
        id: &str,
        close: Duration,
        caller: &Caller,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Option<Self> {
        let (stream, event) = parse_id(id)?;
        let reader = session.streams.find(stream)?.read_after(event).ok()?;
        if stream == STANDALONE {
            return Some(Self::attached(session, reader, caller, notifications));
        }
        Some(Self { prime: false, ..Self::new(session, reader, close) })
    }

    fn attached(
        session: &Arc<HttpSession>,
        reader: EventReader,
        caller: &Caller,
        notifications: impl FnOnce() -> ServerNotifications,
    ) -> Self {
        session.streams.listener.store(Arc::new(caller.clone()));
        // If the lock is taken, an earlier reader of this stream still reads the notifications. It releases the lock
        // when it is replaced.
        if let Ok(mut current) = session.streams.notifications.try_lock() {
            current.get_or_insert_with(notifications);
        }
        let standalone = Some(session.session.attach());
        Self { standalone, ..Self::new(session, reader, Duration::ZERO) }
    }

    fn new(session: &Arc<HttpSession>, reader: EventReader, close: Duration) -> Self {
        let (session, prime) = (Arc::clone(session), session.session.revision.has_priming_events());
        Self { session, reader, prime, close, last_message: Instant::now(), standalone: None, closed: false }
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
        let Self { session: http_session, reader, close, last_message, standalone, closed, .. } = self;
        let http_session: &HttpSession = http_session;
        let session = &http_session.session;
        let event = tokio::select! {
            biased;
            event = reader.next() => event?,
            () = session.ended.cancelled() => return None,
            () = session.stopping.cancelled(), if standalone.is_some() => return None,
            () = forward_notifications(http_session), if standalone.is_some() => return None,
            () = tokio::time::sleep_until(*last_message + *close), if !close.is_zero() => {
                *closed = true;
                return Some(EncodedEvent::retry(RETRY));
            }
        };
        *last_message = Instant::now();
        Some(EncodedEvent::with_id(&event))
    }
}

/// Moves server notifications to the standalone stream. Ends the session when its client does not respond to a ping.
async fn forward_notifications(session: &HttpSession) {
    let mut notifications = session.streams.notifications.lock().await;
    let Some(notifications) = notifications.as_mut() else { return std::future::pending().await };
    while let Ok(message) = notifications.next().await {
        if !session.streams.standalone.push(message.clone(), EventPriority::ClientRequest) {
            // The store has ended its reader. The message waits for the next reader.
            notifications.put_back(message);
            return std::future::pending().await;
        }
    }
    tracing::debug!("ended a session: its client did not answer a ping");
    session.session.end();
}

async fn store_parts(
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
                let priority = if is_request(&message) {
                    EventPriority::ClientRequest
                } else {
                    EventPriority::Notification
                };
                store.push(message, priority);
            }
            Some(ResponsePart::Response(response, _)) => {
                if !store.push(response.into_bytes(), EventPriority::Response) {
                    store.push_error(id.as_ref());
                }
            }
            None => break,
        }
    }
    store.end();
}
