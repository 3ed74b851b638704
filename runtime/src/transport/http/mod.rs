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
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
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

/// What [`PATH`] understands.
const METHODS: &str = "POST, GET, DELETE";

type Refusal = (StatusCode, &'static str);

const NOT_JSON: Refusal =
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is JSON; send `Content-Type: application/json`\n");
const COMPRESSED: Refusal =
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is not compressed; send it without `Content-Encoding`\n");
const UNREADABLE: Refusal = (
    StatusCode::NOT_ACCEPTABLE,
    "an answer is JSON or an event stream; send `Accept: application/json, text/event-stream`\n",
);

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
    Router::new().fallback(handle).with_state(shared)
}

/// Answers one request. What is refused is answered here like everything else, so that no way of refusing can forget the
/// body that came with the request.
async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (mut parts, mut body) = request.into_parts();
    // A target such as `http://host/mcp` names the host, and then the header does not count (RFC 9112, 3.2.2).
    let named = parts.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = named {
        parts.headers.insert(header::HOST, host);
    }
    let response = answer(&shared, &parts, &mut body).await;
    body::settle(response, body, &parts.headers).await
}

async fn answer(shared: &Shared, parts: &Parts, body: &mut Body) -> Response {
    if let Err(refusal) = shared.guard.check(&parts.headers) {
        return refusal.into_response();
    }
    let path = parts.uri.path();
    match (path.strip_suffix('/').unwrap_or(path), &parts.method) {
        (PATH, &Method::POST) => take(shared, parts, body).await,
        (PATH, &Method::GET) => listen(shared, &parts.headers).await,
        (PATH, &Method::DELETE) => end(shared, &parts.headers),
        (PATH, _) => not_allowed(METHODS, "MCP is spoken with POST, GET and DELETE\n"),
        (pair::STREAM, &Method::GET) => open_pair(shared, parts),
        (pair::STREAM, _) => not_allowed(
            "GET",
            "the stream of HTTP+SSE is opened with GET; for the newer transport, POST to /mcp\n",
        ),
        (pair::MESSAGES, &Method::POST) => post_to_pair(shared, parts, body).await,
        (pair::MESSAGES, _) => not_allowed("POST", "messages of HTTP+SSE are sent with POST\n"),
        _ => (StatusCode::NOT_FOUND, format!("MCP is served at {PATH}\n")).into_response(),
    }
}

async fn take(shared: &Shared, parts: &Parts, body: &mut Body) -> Response {
    let accepts = match negotiate(&parts.headers) {
        Ok(accepts) => accepts,
        Err(refusal) => return refusal.into_response(),
    };
    let most = shared.endpoint.server().settings().body_bytes;
    // Nothing can be asked of a client that takes no event stream as answer.
    let via = Via { caller: caller(&parts.extensions), can_ask: accepts.events };
    match body::read(body, most, || shared.endpoint.server().share(&via.caller)).await {
        Ok(Taken { bytes, held }) => {
            at_work(&parts.extensions);
            let reading = shared.endpoint.server().reading();
            let answer = reading
                .in_place(bytes.len(), || shared.endpoint.post(&parts.headers, &bytes, held, &via))
                .await;
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

async fn listen(shared: &Shared, headers: &HeaderMap) -> Response {
    if !headers.contains_key(SESSION) {
        return no_session();
    }
    let accepts = accepted(headers);
    if !accepts.events {
        let why = "what is opened with GET is an event stream; send `Accept: text/event-stream`\n";
        return (StatusCode::NOT_ACCEPTABLE, why).into_response();
    }
    write(shared.endpoint.get(headers), accepts).await
}

fn open_pair(shared: &Shared, parts: &Parts) -> Response {
    match shared.pairs.open(shared.endpoint.server(), &parts.headers, caller(&parts.extensions)) {
        Ok(pair) => sse::stream(pair),
        Err(refusal) => refusal.into_response(),
    }
}

async fn post_to_pair(shared: &Shared, parts: &Parts, body: &mut Body) -> Response {
    if let Err(refusal) = plain_json(&parts.headers) {
        return refusal.into_response();
    }
    let (server, caller) = (shared.endpoint.server(), caller(&parts.extensions));
    let body = match body::read(body, server.settings().body_bytes, || server.share(&caller)).await {
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

fn end(shared: &Shared, headers: &HeaderMap) -> Response {
    match shared.endpoint.delete(headers) {
        Some(true) => StatusCode::NO_CONTENT.into_response(),
        Some(false) => (StatusCode::NOT_FOUND, "unknown session: it has ended\n").into_response(),
        None => no_session(),
    }
}

/// Without a session there is nothing to listen to and nothing to end; a client of the stateless revision only posts.
fn no_session() -> Response {
    not_allowed(
        METHODS,
        "GET and DELETE are about a session, which `Mcp-Session-Id` names and `initialize` begins; without one, use POST\n",
    )
}

fn not_allowed(allowed: &'static str, why: &'static str) -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)], why).into_response()
}

/// The forms of an answer that the client reads.
#[derive(Debug, Clone, Copy)]
struct Accepts {
    json: bool,
    events: bool,
}

/// Reads `Content-Type` and `Accept`.
fn negotiate(headers: &HeaderMap) -> Result<Accepts, Refusal> {
    plain_json(headers)?;
    let accepts = accepted(headers);
    if accepts.json || accepts.events { Ok(accepts) } else { Err(UNREADABLE) }
}

fn plain_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let content_type = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    if !content_type.eq_ignore_ascii_case("application/json") {
        return Err(NOT_JSON);
    }
    // A small compressed body can unfold into a large one, so none is taken.
    if !matches!(text(header::CONTENT_ENCODING), "" | "identity") {
        return Err(COMPRESSED);
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
