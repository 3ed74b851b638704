//! Streamable HTTP: one endpoint, `POST` for messages, `GET` for what comes unasked and `DELETE` to end a session; and
//! beside it HTTP+SSE, for the clients of the first revision.
//!
//! A response is written as one JSON object or as an event stream, and which of them is decided as late as possible: a
//! response without notifications before it is JSON; with notifications it becomes a stream, and so does one that takes
//! long.

mod connection_limit;
mod legacy_sse;
mod listener;
mod origin_check;
mod request_body;
mod sse;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;

use crate::mcp::{
    Caller, Channel, HttpReply, HttpStream, ResponsePart, ResponseStream, Resumability, Server,
    StreamableHttp,
};

use connection_limit::ConnectionState;
use legacy_sse::LegacySseStreams;
use listener::{ConnectionHandle, PeerAddr};
pub use listener::{Listener, serve};
use origin_check::OriginCheck;
use request_body::CountedBody;
use sse::{KEEP_ALIVE, SessionStream, StartedStream};

/// Where MCP is served.
pub const PATH: &str = "/mcp";

const SESSION: &str = "mcp-session-id";

/// What [`PATH`] understands.
const METHODS: &str = "POST, GET, DELETE";

type Rejection = (StatusCode, &'static str);

const NOT_JSON: Rejection =
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is JSON; send `Content-Type: application/json`\n");
const COMPRESSED: Rejection =
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is not compressed; send it without `Content-Encoding`\n");
const UNREADABLE: Rejection = (
    StatusCode::NOT_ACCEPTABLE,
    "an answer is JSON or an event stream; send `Accept: application/json, text/event-stream`\n",
);

struct AppState {
    endpoint: StreamableHttp,
    origin_check: OriginCheck,
    legacy_sse: LegacySseStreams,
}

/// The routes of a server.
pub fn router(server: Arc<Server>) -> Router {
    let origin_check = OriginCheck::new(server.settings());
    let legacy_sse = LegacySseStreams::new(server.settings().max_sessions);
    let state = Arc::new(AppState { endpoint: StreamableHttp::new(server), origin_check, legacy_sse });
    Router::new().fallback(handle).with_state(state)
}

/// Answers one request. What is refused is answered here like everything else, so that no way of refusing can forget the
/// body that came with the request.
async fn handle(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let (mut parts, mut body) = request.into_parts();
    // A target such as `http://host/mcp` names the host, and then the header does not count (RFC 9112, 3.2.2).
    let named = parts.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = named {
        parts.headers.insert(header::HOST, host);
    }
    let response = route(&state, &parts, &mut body).await;
    request_body::drain_or_close(response, body, &parts.headers).await
}

async fn route(state: &AppState, parts: &Parts, body: &mut Body) -> Response {
    if let Err(refusal) = state.origin_check.check(&parts.headers) {
        return refusal.into_response();
    }
    let path = parts.uri.path();
    match (path.strip_suffix('/').unwrap_or(path), &parts.method) {
        (PATH, &Method::POST) => post_message(state, parts, body).await,
        (PATH, &Method::GET) => get_stream(state, &parts.headers).await,
        (PATH, &Method::DELETE) => delete_session(state, &parts.headers),
        (PATH, _) => not_allowed(METHODS, "MCP is spoken with POST, GET and DELETE\n"),
        (legacy_sse::STREAM, &Method::GET) => open_legacy_sse(state, parts),
        (legacy_sse::STREAM, _) => not_allowed(
            "GET",
            "the stream of HTTP+SSE is opened with GET; for the newer transport, POST to /mcp\n",
        ),
        (legacy_sse::MESSAGES, &Method::POST) => post_legacy_message(state, parts, body).await,
        (legacy_sse::MESSAGES, _) => not_allowed("POST", "messages of HTTP+SSE are sent with POST\n"),
        _ => (StatusCode::NOT_FOUND, format!("MCP is served at {PATH}\n")).into_response(),
    }
}

async fn post_message(state: &AppState, parts: &Parts, body: &mut Body) -> Response {
    let accepts = match negotiate(&parts.headers) {
        Ok(accepts) => accepts,
        Err(refusal) => return refusal.into_response(),
    };
    let most = state.endpoint.server().settings().message_bytes;
    // Nothing can be asked of a client that takes no event stream as answer.
    let channel = Channel { caller: caller(&parts.extensions), can_ask: accepts.events };
    match request_body::read(body, most, || state.endpoint.server().share(&channel.caller)).await {
        Ok(CountedBody { bytes, held }) => {
            mark_working(&parts.extensions);
            let reading = state.endpoint.server().reading();
            let answer = reading
                .in_place(bytes.len(), || state.endpoint.post(&parts.headers, &bytes, held, &channel))
                .await;
            drop(bytes);
            write(answer, accepts).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// From here on the client has done its part.
fn mark_working(noted: &Extensions) {
    if let Some(ConnectionHandle(activity)) = noted.get() {
        activity.set(ConnectionState::Working);
    }
}

async fn get_stream(state: &AppState, headers: &HeaderMap) -> Response {
    if !headers.contains_key(SESSION) {
        return no_session();
    }
    let accepts = accepted(headers);
    if !accepts.events {
        let why = "what is opened with GET is an event stream; send `Accept: text/event-stream`\n";
        return (StatusCode::NOT_ACCEPTABLE, why).into_response();
    }
    write(state.endpoint.get(headers), accepts).await
}

fn open_legacy_sse(state: &AppState, parts: &Parts) -> Response {
    match state.legacy_sse.open(state.endpoint.server(), &parts.headers, caller(&parts.extensions)) {
        Ok(events) => sse::stream(events),
        Err(refusal) => refusal.into_response(),
    }
}

async fn post_legacy_message(state: &AppState, parts: &Parts, body: &mut Body) -> Response {
    if let Err(refusal) = plain_json(&parts.headers) {
        return refusal.into_response();
    }
    let (server, caller) = (state.endpoint.server(), caller(&parts.extensions));
    let body = match request_body::read(body, server.settings().message_bytes, || server.share(&caller)).await
    {
        Ok(body) => body,
        Err(refusal) => return refusal.into_response(),
    };
    match state.legacy_sse.post(parts.uri.query(), body).await {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// Where a request comes from, as the listener noted it.
fn caller(noted: &Extensions) -> Caller {
    noted.get::<PeerAddr>().map_or(Caller::Unknown, |PeerAddr(address)| Caller::Address(*address))
}

fn delete_session(state: &AppState, headers: &HeaderMap) -> Response {
    match state.endpoint.delete(headers) {
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
struct AcceptHeader {
    json: bool,
    events: bool,
}

/// Reads `Content-Type` and `Accept`.
fn negotiate(headers: &HeaderMap) -> Result<AcceptHeader, Rejection> {
    plain_json(headers)?;
    let accepts = accepted(headers);
    if accepts.json || accepts.events { Ok(accepts) } else { Err(UNREADABLE) }
}

fn plain_json(headers: &HeaderMap) -> Result<(), Rejection> {
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
fn accepted(headers: &HeaderMap) -> AcceptHeader {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let accept = lines.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    let named = |kind: &str| {
        accept.split(',').any(|range| range.split(';').next().unwrap_or_default().trim() == kind)
    };
    let any = accept.is_empty() || named("*/*");
    AcceptHeader {
        json: any || named("application/json") || named("application/*"),
        events: any || named("text/event-stream") || named("text/*"),
    }
}

async fn write(answer: HttpReply, accepts: AcceptHeader) -> Response {
    match answer {
        HttpReply::Accepted => StatusCode::ACCEPTED.into_response(),
        HttpReply::Rejected(status, body) => json(status, body),
        HttpReply::SessionCreated(body, session) => {
            let mut response =
                if accepts.json { json(StatusCode::OK, body) } else { sse::single_event(&body) };
            if let Ok(value) = HeaderValue::from_str(&session) {
                response.headers_mut().insert(SESSION, value);
            }
            response
        }
        HttpReply::EventStream(events) => sse::stream(SessionStream(Some(events))),
        HttpReply::ResponseStream(exchange, resumption) => {
            write_exchange(exchange, resumption, accepts).await
        }
    }
}

async fn write_exchange(
    mut exchange: ResponseStream,
    resumption: Resumability,
    accepts: AcceptHeader,
) -> Response {
    let patience = resumption.close_after().map_or(KEEP_ALIVE, |close| close.min(KEEP_ALIVE));
    loop {
        let frame = match tokio::time::timeout(patience, exchange.next()).await {
            Ok(frame) => frame,
            Err(_) if accepts.events => return stream(None, exchange, resumption),
            Err(_) => continue,
        };
        match frame {
            Some(ResponsePart::Response(body, status)) if accepts.json || status != StatusCode::OK => {
                return json(status, body);
            }
            Some(ResponsePart::Response(body, _)) => return sse::single_event(&body),
            Some(ResponsePart::Message(first)) if accepts.events => {
                return stream(Some(first), exchange, resumption);
            }
            // The client cannot read notifications in its answer, so it gets none.
            Some(ResponsePart::Message(_)) => {}
            None => return sse::empty(),
        }
    }
}

fn stream(first: Option<Bytes>, exchange: ResponseStream, resumption: Resumability) -> Response {
    match resumption.stream(first, exchange) {
        HttpStream::Resumable(events) => sse::stream(SessionStream(Some(events))),
        HttpStream::OneConnection(first, exchange) => sse::stream(StartedStream(first, exchange)),
    }
}

fn json(status: StatusCode, body: Bytes) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
