//! An event stream of a session that continues when its connection breaks.
//!
//! A task moves a response stream of the layer `mcp` into an [`EventStore`] of the session. Each connection reads from
//! this store, from the start or from the event after the last one that its client received.
//!
//! A session belongs to a principal, and a principal may come with tokens of different roles and scopes. So an event
//! may be stored for one token and read with another:
//!
//! - **The stream of a request** has its response: a list, the contents of a resource, or a result with links. It is
//!   resumed only by a caller that [might use](ResumingCaller::may_read) whatever the sender of the request might. To
//!   others its events are gone. The roles may change while the stream is read, so this is decided for each event.
//! - **The standalone stream** is read by whoever last opened or resumed it. What names a resource is an update, so
//!   each update is decided again for the connection that it is written to. This also holds for what was stored before
//!   the roles changed, and for what is stored while another connection takes over. A changed list has no name in its
//!   notification, a client request is about a call of the same principal, and a ping says nothing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::event_store::{Event, EventPriority, EventReader, EventStore, parse_id};
use super::session_streams::{HttpSession, RequestStream, STANDALONE};
use super::sse::{EncodedEvent, EventSource};
use crate::catalog::ListenerView;
use crate::mcp::{
    AttachedConnection, Caller, RequestSender, ResponsePart, ResponseStream, ResumingCaller, Server,
    ServerNotifications, is_request, is_seen_by,
};

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
    kind: StreamKind,
    /// Whether this connection is closed before the end of the stream.
    closed: bool,
}

/// What a connection reads, and so which events it may get.
#[derive(Debug)]
enum StreamKind {
    /// The stream of the request that came on this connection.
    Request,
    /// The stream of a request that came on another connection.
    ResumedRequest(ResumingCaller),
    /// The standalone stream.
    Standalone {
        /// What the caller of this connection sees.
        view: Arc<dyn ListenerView>,
        _attached: AttachedConnection,
    },
}

impl ResumableStream {
    /// Makes the stream for a request of `session`: `first`, then the messages of `response_stream`. The request goes
    /// on without a reader.
    pub(super) fn for_request(
        session: &Arc<HttpSession>,
        sender: RequestSender,
        response_stream: ResponseStream,
        first: Option<Bytes>,
        close: Duration,
    ) -> Self {
        let store = session.streams.open_stream(sender);
        let reader = store.read_new();
        session.session.tasks.spawn(store_parts(Arc::clone(session), store, response_stream, first));
        Self::new(session, reader, close, StreamKind::Request)
    }

    /// Makes the stream for server notifications, which `caller` hears.
    pub(super) fn standalone(server: &Server, session: &Arc<HttpSession>, caller: &Caller) -> Self {
        let reader = session.streams.listen(caller);
        session.session.task_requests.repeat();
        Self::attached(server, session, reader, caller)
    }

    /// Resumes the stream of the event `id` after that event, for `caller`. Returns `None` if the events are gone, or
    /// are not for this caller.
    pub(super) fn resume(
        server: &Server,
        session: &Arc<HttpSession>,
        id: &str,
        caller: &Caller,
    ) -> Option<Self> {
        let (stream, event) = parse_id(id)?;
        if stream == STANDALONE {
            let reader = session.streams.listen_after(event, caller).ok()?;
            return Some(Self::attached(server, session, reader, caller));
        }
        let RequestStream { store, sender } = session.streams.find(stream)?;
        let resuming = server.resuming(sender, caller)?;
        let reader = store.read_after(event).ok()?;
        let (close, kind) = (server.settings().sse_close, StreamKind::ResumedRequest(resuming));
        Some(Self { prime: false, ..Self::new(session, reader, close, kind) })
    }

    fn attached(server: &Server, session: &Arc<HttpSession>, reader: EventReader, caller: &Caller) -> Self {
        let HttpSession { session: of_client, streams } = &**session;
        // If the lock is taken, an earlier reader of this stream still reads the notifications. It releases the lock
        // when it is replaced.
        if let Ok(mut current) = streams.notifications.try_lock() {
            current.get_or_insert_with(|| {
                let changes = server.changes_since(of_client.lists, &streams.listener);
                ServerNotifications::new(of_client, changes, server.settings().ping_interval)
            });
        }
        let kind = StreamKind::Standalone { view: server.view_of(caller), _attached: of_client.attach() };
        Self::new(session, reader, Duration::ZERO, kind)
    }

    fn new(session: &Arc<HttpSession>, reader: EventReader, close: Duration, kind: StreamKind) -> Self {
        let (session, prime) = (Arc::clone(session), session.session.revision.has_priming_events());
        Self { session, reader, prime, close, last_message: Instant::now(), kind, closed: false }
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
        let Self { session: http_session, reader, close, last_message, kind, closed, .. } = self;
        let (http_session, kind): (&HttpSession, &StreamKind) = (http_session, kind);
        let is_standalone = matches!(kind, StreamKind::Standalone { .. });
        let session = &http_session.session;
        let event = tokio::select! {
            biased;
            event = next_seen(reader, kind) => event?,
            () = session.ended.cancelled() => return None,
            () = session.stopping.cancelled(), if is_standalone => return None,
            () = forward_notifications(http_session), if is_standalone => return None,
            () = tokio::time::sleep_until(*last_message + *close), if !close.is_zero() => {
                *closed = true;
                return Some(EncodedEvent::retry(RETRY));
            }
        };
        *last_message = Instant::now();
        Some(EncodedEvent::with_id(&event))
    }
}

/// The next event that the client of this connection may get; `None` when the stream has ended, another connection has
/// replaced this one, or the caller may not read on. Cancel-safe.
async fn next_seen(reader: &mut EventReader, kind: &StreamKind) -> Option<Event> {
    match kind {
        StreamKind::Request => reader.next_if(|| true).await,
        StreamKind::ResumedRequest(caller) => reader.next_if(|| may_read(caller)).await,
        StreamKind::Standalone { view, .. } => loop {
            let event = reader.next_if(|| true).await?;
            if event.message.as_ref().is_none_or(|message| is_seen_by(message, &**view)) {
                return Some(event);
            }
        },
    }
}

fn may_read(caller: &ResumingCaller) -> bool {
    let may_read = caller.may_read();
    if !may_read {
        tracing::debug!(
            "ended an event stream: its caller has lost roles or scopes that the request's sender has"
        );
    }
    may_read
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

#[cfg(test)]
mod tests;
