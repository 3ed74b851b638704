//! An answer as server-sent events.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream;

use super::super::lines::unbroken;
use crate::protocol::{Exchange, Frame};

/// A stream that has begun with `first` and goes on until the exchange ends.
pub(super) fn stream(first: Bytes, exchange: Exchange) -> Response {
    let state = (Some(first), exchange);
    let events = stream::unfold(state, |(first, mut exchange)| async move {
        let line = match first {
            Some(first) => first,
            None => match exchange.next().await? {
                Frame::Message(line) | Frame::Answer(line, _) => line,
            },
        };
        Some((Ok::<_, std::convert::Infallible>(event(&line)), (None, exchange)))
    });
    response(Body::from_stream(events))
}

/// A stream of one event.
pub(super) fn single(line: &Bytes) -> Response {
    response(Body::from(event(line)))
}

/// A stream that ends without an answer, as a withdrawn request does.
pub(super) fn empty() -> Response {
    response(Body::empty())
}

fn event(line: &Bytes) -> Bytes {
    let line = unbroken(line.clone());
    let mut event = BytesMut::with_capacity(line.len() + 8);
    event.extend_from_slice(b"data: ");
    event.extend_from_slice(&line);
    event.extend_from_slice(b"\n\n");
    event.freeze()
}

fn response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // A proxy that buffers would hold back progress until the end.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, body).into_response()
}
