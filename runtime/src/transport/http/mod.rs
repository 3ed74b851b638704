//! Streamable HTTP: one endpoint, `POST` for messages and `DELETE` to end a session.
//!
//! The transport decides how an exchange is written, as one JSON object or as an event stream, and only once it knows
//! which is needed: an answer without notifications before it is JSON, anything else becomes a stream.

mod body;
mod guard;
mod listener;
mod sse;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;

use crate::protocol::{Answer, Endpoint, Exchange, Frame, Server};
use guard::Guard;
pub use listener::{Listener, serve};

/// Where MCP is served.
pub const PATH: &str = "/mcp";

const SESSION: &str = "mcp-session-id";

struct Shared {
    endpoint: Endpoint,
    guard: Guard,
}

/// The routes of a server.
pub fn router(server: Arc<Server>) -> Router {
    let guard = Guard::new(server.settings());
    let shared = Arc::new(Shared { endpoint: Endpoint::new(server), guard });
    let methods = post(take).delete(end).fallback(not_allowed);
    Router::new().route(PATH, methods).fallback(not_found).with_state(shared)
}

async fn take(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = shared.guard.check(&parts.headers) {
        return refusal.into_response();
    }
    let accepts = match negotiate(&parts.headers) {
        Ok(accepts) => accepts,
        Err(status) => return status.into_response(),
    };
    let most = shared.endpoint.server().settings().body_bytes;
    match body::read(body, most).await {
        Ok(body) => write(shared.endpoint.post(&parts.headers, &body), accepts).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn end(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if let Err(refusal) = shared.guard.check(&headers) {
        return refusal.into_response();
    }
    match shared.endpoint.delete(&headers) {
        Some(true) => StatusCode::NO_CONTENT.into_response(),
        Some(false) => StatusCode::NOT_FOUND.into_response(),
        None => not_allowed().await,
    }
}

async fn not_allowed() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST, DELETE")]).into_response()
}

async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, format!("MCP is served at {PATH}\n")).into_response()
}

/// The forms of an answer that the client reads.
#[derive(Debug, Clone, Copy)]
struct Accepts {
    json: bool,
    events: bool,
}

/// Reads `Content-Type` and `Accept`. A client that does not say what it reads is taken to read both.
fn negotiate(headers: &HeaderMap) -> Result<Accepts, StatusCode> {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let content_type = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    if !content_type.eq_ignore_ascii_case("application/json") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    // A small compressed body can unfold into a large one, so none is taken.
    if !matches!(text(header::CONTENT_ENCODING), "" | "identity") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let accept = lines.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    let named = |kind: &str| {
        accept.split(',').any(|range| range.split(';').next().unwrap_or_default().trim() == kind)
    };
    let any = accept.is_empty() || named("*/*");
    let accepts = Accepts {
        json: any || named("application/json") || named("application/*"),
        events: any || named("text/event-stream") || named("text/*"),
    };
    if accepts.json || accepts.events { Ok(accepts) } else { Err(StatusCode::NOT_ACCEPTABLE) }
}

async fn write(answer: Answer, accepts: Accepts) -> Response {
    match answer {
        Answer::Accepted => StatusCode::ACCEPTED.into_response(),
        Answer::Refused(status, body) => json(status, body),
        Answer::Begun(body, session) => {
            let mut response = if accepts.json { json(StatusCode::OK, body) } else { sse::single(&body) };
            if let Ok(value) = HeaderValue::from_str(&session) {
                response.headers_mut().insert(SESSION, value);
            }
            response
        }
        Answer::Exchange(exchange) => write_exchange(exchange, accepts).await,
    }
}

async fn write_exchange(mut exchange: Exchange, accepts: Accepts) -> Response {
    loop {
        match exchange.next().await {
            Some(Frame::Answer(body, status)) if accepts.json || status != StatusCode::OK => {
                return json(status, body);
            }
            Some(Frame::Answer(body, _)) => return sse::single(&body),
            Some(Frame::Message(first)) if accepts.events => return sse::stream(first, exchange),
            // The client cannot read notifications in its answer, so it gets none.
            Some(Frame::Message(_)) => {}
            None => return sse::empty(),
        }
    }
}

fn json(status: StatusCode, body: Bytes) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
