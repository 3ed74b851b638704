//! The routes, and what every request goes through: the checks of its headers before, the rest of its body after.
//!
//! `handle` is the middleware of all routes, as one function and not as layers of axum. The rest of a body is read
//! after every handler, whether or not the handler read the body, so `handle` owns the body and lends it. Each layer of
//! axum would box one more future for each request. A new rule for every request belongs in `AppState::check`; handlers
//! get what is known of the client as [`CallerInfo`].

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::client_locality::LocalityCheck;
use super::connection_limit::ConnectionState;
use super::content_types::{AcceptHeader, PlainRejection, check_json_body};
use super::headers::SESSION_ID;
use super::legacy_sse::{self, LegacySseStreams};
use super::listener::{ConnectionHandle, PeerAddr};
use super::origin_check::{HostName, OriginCheck};
use super::request_body::{self, BodyError, CountedBody};
use super::response;
use super::sse;
use super::streamable_http::StreamableHttp;
use crate::mcp::{Caller, Channel, Server};

/// Where MCP is served.
pub const PATH: &str = "/mcp";

/// The methods of [`PATH`].
const METHODS: &str = "POST, GET, DELETE";

struct AppState {
    endpoint: StreamableHttp,
    origin_check: OriginCheck,
    locality_check: LocalityCheck,
    legacy_sse: LegacySseStreams,
}

/// The client of a request, read once from its connection and headers.
struct CallerInfo {
    caller: Caller,
    is_local: bool,
}

impl CallerInfo {
    fn channel(self, can_send_requests: bool) -> Channel {
        Channel { caller: self.caller, can_send_requests, is_local: self.is_local }
    }
}

/// The routes of a server. Called within the async runtime, since sessions are swept by a task.
pub fn router(server: Arc<Server>) -> Router {
    let origin_check = OriginCheck::new(server.settings());
    let locality_check = LocalityCheck::new(server.settings());
    let legacy_sse = LegacySseStreams::new(server.settings().max_sessions);
    let endpoint = StreamableHttp::new(server);
    let state = Arc::new(AppState { endpoint, origin_check, locality_check, legacy_sse });
    Router::new().fallback(handle).with_state(state)
}

/// Handles one request. Rejected requests pass through here too, so that the rest of every body is read, or
/// the connection is closed.
async fn handle(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let (mut parts, mut body) = request.into_parts();
    // A target such as `http://host/mcp` names the host, and then `Host` is ignored (RFC 9112, 3.2.2).
    let named = parts.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = named {
        parts.headers.insert(header::HOST, host);
    }
    let response = match state.check(&parts) {
        Ok(client) => route(&state, &parts, client, &mut body).await,
        Err(rejection) => rejection.into_response(),
    };
    request_body::drain_or_close(response, body, &parts.headers).await
}

impl AppState {
    /// Checks the headers of every request, and finds out which client sent it.
    fn check(&self, parts: &Parts) -> Result<CallerInfo, PlainRejection> {
        let host = self.origin_check.check(&parts.headers)?;
        let caller = caller(&parts.extensions);
        let is_local = self.locality_check.is_local(&parts.headers, &caller, host == HostName::Loopback);
        Ok(CallerInfo { caller, is_local })
    }

    /// Reads a body within the limit on messages.
    async fn read_body(&self, body: &mut Body, caller: &Caller) -> Result<CountedBody, BodyError> {
        let server = self.endpoint.server();
        request_body::read(body, server.settings().message_bytes, || server.share(caller)).await
    }
}

async fn route(state: &AppState, parts: &Parts, client: CallerInfo, body: &mut Body) -> Response {
    let path = parts.uri.path();
    match (path.strip_suffix('/').unwrap_or(path), &parts.method) {
        (PATH, &Method::POST) => post_message(state, parts, client, body).await,
        (PATH, &Method::GET) => get_stream(state, &parts.headers).await,
        (PATH, &Method::DELETE) => delete_session(state, &parts.headers),
        (PATH, _) => not_allowed(METHODS, "MCP is spoken with POST, GET and DELETE\n"),
        (legacy_sse::STREAM, &Method::GET) => {
            match state.legacy_sse.open(state.endpoint.server(), &parts.headers, client.channel(true)) {
                Ok(events) => sse::stream(events),
                Err(rejection) => rejection.into_response(),
            }
        }
        (legacy_sse::STREAM, _) => not_allowed(
            "GET",
            "the stream of HTTP+SSE is opened with GET; for the newer transport, POST to /mcp\n",
        ),
        (legacy_sse::MESSAGES, &Method::POST) => post_legacy_message(state, parts, client, body).await,
        (legacy_sse::MESSAGES, _) => not_allowed("POST", "messages of HTTP+SSE are sent with POST\n"),
        _ => (StatusCode::NOT_FOUND, format!("MCP is served at {PATH}\n")).into_response(),
    }
}

async fn post_message(state: &AppState, parts: &Parts, client: CallerInfo, body: &mut Body) -> Response {
    let headers = &parts.headers;
    let accepts = match check_json_body(headers).and_then(|()| AcceptHeader::read_any(headers)) {
        Ok(accepts) => accepts,
        Err(rejection) => return rejection.into_response(),
    };
    // A client that does not read event streams gets no client requests.
    let channel = client.channel(accepts.events);
    let CountedBody { bytes, reservation } = match state.read_body(body, &channel.caller).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    mark_working(&parts.extensions);
    let server = state.endpoint.server();
    let post = || state.endpoint.post(headers, &bytes, reservation, &channel);
    let reply = server.reading().in_place(bytes.len(), post).await;
    drop(bytes);
    response::write(reply, accepts, server.settings().sse_close).await
}

/// Marks the connection as working: the whole request has been read.
fn mark_working(extensions: &Extensions) {
    if let Some(ConnectionHandle(activity)) = extensions.get() {
        activity.set(ConnectionState::Working);
    }
}

async fn get_stream(state: &AppState, headers: &HeaderMap) -> Response {
    if !headers.contains_key(SESSION_ID) {
        return no_session();
    }
    let accepts = AcceptHeader::read(headers);
    if !accepts.events {
        let why = "what is opened with GET is an event stream; send `Accept: text/event-stream`\n";
        return (StatusCode::NOT_ACCEPTABLE, why).into_response();
    }
    response::write(state.endpoint.get(headers), accepts, state.endpoint.server().settings().sse_close).await
}

async fn post_legacy_message(
    state: &AppState,
    parts: &Parts,
    client: CallerInfo,
    body: &mut Body,
) -> Response {
    if let Err(rejection) = check_json_body(&parts.headers) {
        return rejection.into_response();
    }
    let body = match state.read_body(body, &client.caller).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    match state.legacy_sse.post(parts.uri.query(), body).await {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(rejection) => rejection.into_response(),
    }
}

/// The caller of a request, by the address that the listener noted.
fn caller(extensions: &Extensions) -> Caller {
    extensions.get::<PeerAddr>().map_or(Caller::Unknown, |PeerAddr(address)| Caller::Address(*address))
}

fn delete_session(state: &AppState, headers: &HeaderMap) -> Response {
    match state.endpoint.delete(headers) {
        Some(true) => StatusCode::NO_CONTENT.into_response(),
        Some(false) => (StatusCode::NOT_FOUND, "unknown session: it has ended\n").into_response(),
        None => no_session(),
    }
}

/// GET and DELETE need a session. A client of the stateless revision only sends POST.
fn no_session() -> Response {
    not_allowed(
        METHODS,
        "GET and DELETE are about a session, which `Mcp-Session-Id` names and `initialize` begins; without one, use POST\n",
    )
}

fn not_allowed(allowed: &'static str, why: &'static str) -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)], why).into_response()
}
