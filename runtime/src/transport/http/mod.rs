//! Streamable HTTP: one endpoint, `POST` for messages, `GET` for what comes unasked and `DELETE` to end a session; and
//! beside it HTTP+SSE, for the clients of the first revision.
//!
//! The transport decides how an exchange is written, as one JSON object or as an event stream, and only once it knows
//! which is needed: an answer without notifications before it is JSON, anything else becomes a stream, and so does what
//! takes long.

mod body;
mod connections;
mod guard;
mod listener;
mod pair;
mod sse;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bytes::Bytes;

use crate::protocol::{Answer, Caller, Endpoint, Exchange, Frame, Rest, Resumption, Server, Via};

use body::Taken;
use connections::Doing;
use guard::Guard;
use listener::{At, Peer};
pub use listener::{Listener, serve};
use pair::Pairs;
use sse::{Begun, KEEP_ALIVE, OfSession};

/// Where MCP is served.
pub const PATH: &str = "/mcp";

const SESSION: &str = "mcp-session-id";

struct Shared {
    endpoint: Endpoint,
    guard: Guard,
    pairs: Pairs,
}

/// The routes of a server.
pub fn router(server: Arc<Server>) -> Router {
    let guard = Guard::new(server.settings());
    let pairs = Pairs::new(server.settings().sessions);
    let shared = Arc::new(Shared { endpoint: Endpoint::new(server), guard, pairs });
    let methods = post(take).get(listen).delete(end).fallback(not_allowed);
    Router::new()
        .route(PATH, methods)
        .route(pair::STREAM, get(open_pair))
        .route(pair::MESSAGES, post(post_to_pair))
        .fallback(not_found)
        .with_state(shared)
}

async fn take(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    if let Err(refusal) = shared.guard.check(&parts.headers) {
        return refusal.into_response();
    }
    let accepts = match negotiate(&parts.headers) {
        Ok(accepts) => accepts,
        Err(status) => return status.into_response(),
    };
    let most = shared.endpoint.server().settings().body_bytes;
    // Nothing can be asked of a client that takes no event stream as answer.
    let via = Via { caller: caller(&parts.extensions), can_ask: accepts.events };
    match body::read(&mut body, most, || shared.endpoint.server().share(&via.caller)).await {
        Ok(Taken { bytes, held }) => {
            at_work(&parts.extensions);
            let answer = shared.endpoint.post(&parts.headers, &bytes, held, &via);
            drop(bytes);
            write(answer, accepts).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// From here on the client has done its part.
fn at_work(noted: &Extensions) {
    if let Some(At(activity)) = noted.get() {
        activity.set(Doing::Working);
    }
}

async fn listen(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if let Err(refusal) = shared.guard.check(&headers) {
        return refusal.into_response();
    }
    // Without a session there is nothing to listen to; a client of the stateless revision only posts.
    if !headers.contains_key(SESSION) {
        return not_allowed().await;
    }
    let accepts = accepted(&headers);
    if !accepts.events {
        return StatusCode::NOT_ACCEPTABLE.into_response();
    }
    write(shared.endpoint.get(&headers), accepts).await
}

async fn open_pair(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if let Err(refusal) = shared.guard.check(request.headers()) {
        return refusal.into_response();
    }
    let caller = caller(request.extensions());
    match shared.pairs.open(shared.endpoint.server(), request.headers(), caller) {
        Ok(pair) => sse::stream(pair),
        Err(refusal) => refusal.into_response(),
    }
}

async fn post_to_pair(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    if let Err(refusal) = shared.guard.check(&parts.headers) {
        return refusal.into_response();
    }
    if let Err(status) = plain_json(&parts.headers) {
        return status.into_response();
    }
    let (server, caller) = (shared.endpoint.server(), caller(&parts.extensions));
    let body = match body::read(&mut body, server.settings().body_bytes, || server.share(&caller)).await {
        Ok(body) => body,
        Err(refusal) => return refusal.into_response(),
    };
    match shared.pairs.post(parts.uri.query(), body).await {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// Where a request comes from, as the listener noted it.
fn caller(noted: &Extensions) -> Caller {
    noted.get::<Peer>().map_or(Caller::Unknown, |Peer(address)| Caller::Address(*address))
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
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST, GET, DELETE")]).into_response()
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

/// Reads `Content-Type` and `Accept`.
fn negotiate(headers: &HeaderMap) -> Result<Accepts, StatusCode> {
    plain_json(headers)?;
    let accepts = accepted(headers);
    if accepts.json || accepts.events { Ok(accepts) } else { Err(StatusCode::NOT_ACCEPTABLE) }
}

fn plain_json(headers: &HeaderMap) -> Result<(), StatusCode> {
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
    Ok(())
}

/// A client that does not say what it reads is taken to read everything.
fn accepted(headers: &HeaderMap) -> Accepts {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let accept = lines.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    let named = |kind: &str| {
        accept.split(',').any(|range| range.split(';').next().unwrap_or_default().trim() == kind)
    };
    let any = accept.is_empty() || named("*/*");
    Accepts {
        json: any || named("application/json") || named("application/*"),
        events: any || named("text/event-stream") || named("text/*"),
    }
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
        Answer::Events(events) => sse::stream(OfSession(Some(events))),
        Answer::Exchange(exchange, resumption) => write_exchange(exchange, resumption, accepts).await,
    }
}

async fn write_exchange(mut exchange: Exchange, resumption: Resumption, accepts: Accepts) -> Response {
    let patience = resumption.close_after().map_or(KEEP_ALIVE, |close| close.min(KEEP_ALIVE));
    loop {
        let frame = match tokio::time::timeout(patience, exchange.next()).await {
            Ok(frame) => frame,
            Err(_) if accepts.events => return stream(None, exchange, resumption),
            Err(_) => continue,
        };
        match frame {
            Some(Frame::Answer(body, status)) if accepts.json || status != StatusCode::OK => {
                return json(status, body);
            }
            Some(Frame::Answer(body, _)) => return sse::single(&body),
            Some(Frame::Message(first)) if accepts.events => {
                return stream(Some(first), exchange, resumption);
            }
            // The client cannot read notifications in its answer, so it gets none.
            Some(Frame::Message(_)) => {}
            None => return sse::empty(),
        }
    }
}

fn stream(first: Option<Bytes>, exchange: Exchange, resumption: Resumption) -> Response {
    match resumption.stream(first, exchange) {
        Rest::Resumable(events) => sse::stream(OfSession(Some(events))),
        Rest::OneConnection(first, exchange) => sse::stream(Begun(first, exchange)),
    }
}

fn json(status: StatusCode, body: Bytes) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
