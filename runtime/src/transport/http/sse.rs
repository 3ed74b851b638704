//! Writes streams as server-sent events.
//!
//! The events come from an [`EventSource`]: a response stream on one connection, a resumable one (`resumable_stream`),
//! or the stream of HTTP+SSE. [`EncodedEvent`] encodes one event of any source. A stream without events gets a comment
//! from time to time: proxies and clients close idle connections, and only a write reveals that a connection is broken.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::mpsc;

use super::super::duplex::{Duplex, InputLine};
use super::event_store::Event;
use crate::mcp::{ResponseStream, UNCOUNTED_BYTES};

/// After how much time without an event a comment is sent.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

const EVENT_STREAM: &str = "text/event-stream";

const COMMENT: Bytes = Bytes::from_static(b": still here\n\n");

/// An encoded event. A large message is not copied, because its bytes are [counted](crate::mcp::BufferBudget), and
/// those of a copy would not be.
pub(super) enum EncodedEvent {
    Whole(Bytes),
    Parts([Bytes; 3]),
}

impl EncodedEvent {
    /// A message without an id. A client cannot resume after it.
    fn message(line: &Bytes) -> Self {
        Self::framed("", line)
    }

    /// An event with an id, after which a client can resume. It may have no message.
    pub(super) fn with_id(Event { id, message }: &Event) -> Self {
        match message {
            Some(message) => Self::framed(&format!("id: {id}\n"), message),
            None => format!("id: {id}\ndata:\n\n").into(),
        }
    }

    /// Tells the client how long to wait before it reconnects.
    pub(super) fn retry(after: Duration) -> Self {
        format!("retry: {}\n\n", after.as_millis()).into()
    }

    /// `line` must have no line breaks.
    fn framed(fields: &str, line: &Bytes) -> Self {
        if line.len() > UNCOUNTED_BYTES {
            let beginning = format!("{fields}data: ");
            return Self::Parts([beginning.into(), line.clone(), Bytes::from_static(b"\n\n")]);
        }
        let mut event = BytesMut::with_capacity(fields.len() + line.len() + 8);
        event.extend_from_slice(fields.as_bytes());
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line);
        event.extend_from_slice(b"\n\n");
        Self::Whole(event.freeze())
    }

    fn into_parts(self) -> [Bytes; 3] {
        match self {
            Self::Whole(event) => [event, Bytes::new(), Bytes::new()],
            Self::Parts(parts) => parts,
        }
    }
}

impl From<String> for EncodedEvent {
    fn from(event: String) -> Self {
        Self::Whole(event.into())
    }
}

/// A source of events.
pub(super) trait EventSource: Send + 'static {
    /// The next event. Must be cancel-safe.
    fn next_event(&mut self) -> impl Future<Output = Option<EncodedEvent>> + Send;
}

/// A response stream that ends with its connection. The first message, if any, was taken from the stream already.
pub(super) struct UnresumableStream(pub(super) Option<Bytes>, pub(super) ResponseStream);

impl EventSource for UnresumableStream {
    async fn next_event(&mut self) -> Option<EncodedEvent> {
        if let Some(first) = self.0.take() {
            return Some(EncodedEvent::message(&first));
        }
        let part = self.1.next().await?;
        Some(EncodedEvent::message(&part.into_bytes()))
    }
}

/// The stream of HTTP+SSE: first the URL to post to, then every message.
pub(super) struct LegacyStream {
    endpoint: Option<String>,
    duplex: Duplex<mpsc::Receiver<InputLine>>,
    _guard: Box<dyn Send>,
}

impl LegacyStream {
    /// `guard` is dropped when the stream ends.
    pub(super) fn new(
        endpoint: String,
        duplex: Duplex<mpsc::Receiver<InputLine>>,
        guard: Box<dyn Send>,
    ) -> Self {
        Self { endpoint: Some(endpoint), duplex, _guard: guard }
    }
}

impl EventSource for LegacyStream {
    async fn next_event(&mut self) -> Option<EncodedEvent> {
        if let Some(endpoint) = self.endpoint.take() {
            return Some(format!("event: endpoint\ndata: {endpoint}\n\n").into());
        }
        self.duplex.next().await.map(|message| EncodedEvent::framed("event: message\n", &message))
    }
}

/// Writes all events of a source, and comments while it has none.
pub(super) fn stream(source: impl EventSource) -> Response {
    let events = stream::unfold(source, |mut source| async move {
        let event = match tokio::time::timeout(KEEP_ALIVE, source.next_event()).await {
            Ok(event) => event?,
            Err(_) => EncodedEvent::Whole(COMMENT),
        };
        Some((event, source))
    });
    response(body(events))
}

/// A stream of one event.
pub(super) fn single_event(line: &Bytes) -> Response {
    match EncodedEvent::message(line) {
        EncodedEvent::Whole(event) => response(Body::from(event)),
        parts => response(body(stream::iter([parts]))),
    }
}

fn body(events: impl stream::Stream<Item = EncodedEvent> + Send + 'static) -> Body {
    let parts = events.flat_map(|event| stream::iter(event.into_parts()));
    let parts = parts.filter(|part| std::future::ready(!part.is_empty()));
    Body::from_stream(parts.map(Ok::<_, std::convert::Infallible>))
}

/// An event stream without a response, for a cancelled request.
pub(super) fn empty() -> Response {
    response(Body::empty())
}

/// Whether a response is an event stream.
pub(super) fn is_stream<B>(response: &Response<B>) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == EVENT_STREAM)
}

fn response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, EVENT_STREAM),
        (header::CACHE_CONTROL, "no-cache"),
        // A proxy that buffers would hold back progress notifications until the end.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, body).into_response()
}
