//! Writes responses as server-sent events.
//!
//! A stream that is silent for long gets a comment now and then: proxies and clients drop connections on which nothing
//! moves, and a broken connection is noticed by writing to it.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream;

use super::super::duplex::Duplex;
use crate::mcp::{Event, EventStream, FREE, NextEvent, RETRY, ResponsePart, ResponseStream};

/// After how much silence a comment is sent.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

const EVENT_STREAM: &str = "text/event-stream";

const COMMENT: Bytes = Bytes::from_static(b": still here\n\n");

/// An event as it is written. A large message stays the bytes that are [counted](crate::mcp::BufferBudget): a copy would not be.
pub(super) enum EncodedEvent {
    Whole(Bytes),
    Parts([Bytes; 3]),
}

impl EncodedEvent {
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

/// What can be written as events, one after the other.
pub(super) trait EventSource: Send + 'static {
    /// The next event. Can be dropped and called again without losing any.
    fn next_event(&mut self) -> impl Future<Output = Option<EncodedEvent>> + Send;
}

/// An exchange that has begun with a message, perhaps.
pub(super) struct StartedStream(pub(super) Option<Bytes>, pub(super) ResponseStream);

impl EventSource for StartedStream {
    async fn next_event(&mut self) -> Option<EncodedEvent> {
        if let Some(first) = self.0.take() {
            return Some(event(None, &first));
        }
        let (ResponsePart::Message(line) | ResponsePart::Response(line, _)) = self.1.next().await?;
        Some(event(None, &line))
    }
}

/// A stream of a session. The client is told when to come back if it is closed before its end.
pub(super) struct SessionStream(pub(super) Option<Box<EventStream>>);

impl EventSource for SessionStream {
    async fn next_event(&mut self) -> Option<EncodedEvent> {
        match self.0.as_mut()?.next().await {
            NextEvent::Event(Event { id, message: Some(message) }) => Some(event(Some(&id), &message)),
            NextEvent::Event(Event { id, message: None }) => Some(format!("id: {id}\ndata:\n\n").into()),
            NextEvent::Retry => {
                self.0 = None;
                Some(format!("retry: {}\n\n", RETRY.as_millis()).into())
            }
            NextEvent::End => None,
        }
    }
}

/// The stream of HTTP+SSE: where to post, then every message.
pub(super) struct LegacyStream {
    endpoint: Option<String>,
    duplex: Duplex,
    _guard: Box<dyn Send>,
}

impl LegacyStream {
    /// `guard` is dropped with the stream.
    pub(super) fn new(endpoint: String, duplex: Duplex, guard: Box<dyn Send>) -> Self {
        Self { endpoint: Some(endpoint), duplex, _guard: guard }
    }
}

impl EventSource for LegacyStream {
    async fn next_event(&mut self) -> Option<EncodedEvent> {
        if let Some(endpoint) = self.endpoint.take() {
            return Some(format!("event: endpoint\ndata: {endpoint}\n\n").into());
        }
        self.duplex.next().await.map(|message| framed("event: message\n", &message))
    }
}

/// Writes a source to its end, with comments where it is silent.
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
    match event(None, line) {
        EncodedEvent::Whole(event) => response(Body::from(event)),
        parts => response(body(stream::iter([parts]))),
    }
}

fn body(events: impl stream::Stream<Item = EncodedEvent> + Send + 'static) -> Body {
    let parts = events.flat_map(|event| stream::iter(event.into_parts()));
    let parts = parts.filter(|part| std::future::ready(!part.is_empty()));
    Body::from_stream(parts.map(Ok::<_, std::convert::Infallible>))
}

/// A stream that ends without an answer, as a withdrawn request does.
pub(super) fn empty() -> Response {
    response(Body::empty())
}

fn event(id: Option<&str>, line: &Bytes) -> EncodedEvent {
    match id {
        Some(id) => framed(&format!("id: {id}\n"), line),
        None => framed("", line),
    }
}

/// `line` has no line breaks.
fn framed(fields: &str, line: &Bytes) -> EncodedEvent {
    if line.len() > FREE {
        let beginning = format!("{fields}data: ");
        return EncodedEvent::Parts([beginning.into(), line.clone(), Bytes::from_static(b"\n\n")]);
    }
    let mut event = BytesMut::with_capacity(fields.len() + line.len() + 8);
    event.extend_from_slice(fields.as_bytes());
    event.extend_from_slice(b"data: ");
    event.extend_from_slice(line);
    event.extend_from_slice(b"\n\n");
    EncodedEvent::Whole(event.freeze())
}

/// Whether an answer is a stream.
pub(super) fn is_stream(response: &Response) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == EVENT_STREAM)
}

fn response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, EVENT_STREAM),
        (header::CACHE_CONTROL, "no-cache"),
        // A proxy that buffers would hold back progress until the end.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, body).into_response()
}
