//! Writes the responses of Streamable HTTP.
//!
//! A response is one JSON object or an event stream. The choice is made as late as possible: the response becomes a
//! stream when a notification precedes it or when it takes long; otherwise it is JSON. The layer `mcp` returns only a
//! response's kind; only this file turns the kind into a status code.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::Either;

use super::content_types::AcceptHeader;
use super::header_names::SESSION_ID;
use super::response_body::{HttpResponse, JsonBody, boxed};
use super::resumable_stream::ResumableStream;
use super::session_streams::HttpSession;
use super::sse::{self, KEEP_ALIVE, UnresumableStream};
use super::streamable_http::Reply;
use crate::mcp::{RequestSender, ResponseKind, ResponseLine, ResponsePart, ResponseStream};

/// Writes a reply. `stream_close` says after how much time without a message the connection of a resumable stream is
/// closed; zero means never.
pub(super) async fn write(reply: Reply, accepts: AcceptHeader, stream_close: Duration) -> HttpResponse {
    match reply {
        Reply::Accepted => boxed(StatusCode::ACCEPTED),
        Reply::Rejected(kind, body) => json(kind, body.into()),
        Reply::SessionCreated(body, id) => {
            let mut response = match accepts.json {
                true => json(ResponseKind::Served, body.into()),
                false => boxed(sse::single_event(&body)),
            };
            if let Ok(value) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(SESSION_ID, value);
            }
            response
        }
        Reply::Events(events) => boxed(sse::stream(*events)),
        Reply::Stream(stream, session) => write_stream(stream, session, accepts, stream_close).await,
    }
}

async fn write_stream(
    mut stream: ResponseStream,
    session: Option<(Arc<HttpSession>, RequestSender)>,
    accepts: AcceptHeader,
    stream_close: Duration,
) -> HttpResponse {
    if let Some((http_session, _)) = &session {
        // A request of a session goes on when its connection breaks. No await precedes this point, so that cannot
        // happen before.
        stream.poll_once();
        stream = stream.detach(&http_session.session.tasks);
    }
    // A stream can be resumed from its start only if it begins with a priming event, which has an id.
    let is_resumable =
        session.as_ref().is_some_and(|(http_session, _)| http_session.session.revision.has_priming_events());
    let close = if is_resumable { stream_close } else { Duration::ZERO };
    let max_wait = if close.is_zero() { KEEP_ALIVE } else { close.min(KEEP_ALIVE) };
    loop {
        let part = match tokio::time::timeout(max_wait, stream.next()).await {
            Ok(part) => part,
            Err(_) if accepts.events => {
                // hyper does not poll this body while the client has not read an earlier response, so a task polls the
                // stream.
                stream.spawn();
                return events(session, stream, None, close);
            }
            Err(_) => continue,
        };
        match part {
            Some(ResponsePart::Response(line, kind)) if accepts.json || kind != ResponseKind::Served => {
                return json(kind, line);
            }
            Some(ResponsePart::Response(line, _)) => return boxed(sse::single_event(&line.into_bytes())),
            Some(ResponsePart::Message(first)) if accepts.events => {
                return events(session, stream, Some(first), close);
            }
            // The client accepts no event stream, so it gets no notifications.
            Some(ResponsePart::Message(_)) => {}
            None => return boxed(sse::empty()),
        }
    }
}

/// Makes the event stream for the rest of a response stream, starting with the message `first`.
fn events(
    session: Option<(Arc<HttpSession>, RequestSender)>,
    stream: ResponseStream,
    first: Option<Bytes>,
    close: Duration,
) -> HttpResponse {
    boxed(match session {
        Some((session, sender)) => {
            sse::stream(ResumableStream::for_request(&session, sender, stream, first, close))
        }
        None => sse::stream(UnresumableStream(first, stream)),
    })
}

fn json(kind: ResponseKind, line: ResponseLine) -> HttpResponse {
    let mut response = Response::new(Either::Left(JsonBody::new(line)));
    *response.status_mut() = status(&kind);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match kind {
        ResponseKind::InsufficientScope(scopes) => {
            response.extensions_mut().insert(NeededScopes(scopes));
        }
        ResponseKind::OverQuota { retry_after_s } => {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s));
        }
        _ => {}
    }
    response
}

/// The scopes that the operation needs, as an extension of the response. `router` makes the challenge from it.
#[derive(Debug, Clone)]
pub(super) struct NeededScopes(pub(super) Arc<[Box<str>]>);

fn status(kind: &ResponseKind) -> StatusCode {
    match kind {
        ResponseKind::Served => StatusCode::OK,
        ResponseKind::Malformed => StatusCode::BAD_REQUEST,
        ResponseKind::NotFound => StatusCode::NOT_FOUND,
        ResponseKind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        ResponseKind::InsufficientScope(_) => StatusCode::FORBIDDEN,
        ResponseKind::OverQuota { .. } => StatusCode::TOO_MANY_REQUESTS,
    }
}
