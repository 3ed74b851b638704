//! The routes, and the steps of every request: checking its headers and its credentials before the handler, and
//! draining its body after it.
//!
//! `handle` is the middleware of all routes. It is one function and not layers of axum: a body is drained after every
//! handler, whether or not the handler read it, so `handle` owns the body and lends it. Each axum layer would also box
//! one more future for each request. A new rule for every request belongs in `AppState::check`; handlers get the facts
//! about the client as [`CallerInfo`]. Metadata and preflights need no credentials, because clients send these requests
//! to learn which credentials they need.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::service::Service;

use super::authentication;
use super::client_locality::LocalityCheck;
use super::connection_limit::ConnectionState;
use super::content_types::{AcceptHeader, PlainRejection, check_json_body};
use super::cors;
use super::credential_expiry;
use super::forwarded_for::TrustedProxies;
use super::header_names::{METHOD, SESSION_ID};
use super::legacy_sse::{self, LegacySseStreams};
use super::make_service::{ConnectionInfo, MakeService};
use super::origin_check::{HostName, OriginCheck};
use super::request_body::{self, BodyError, CountedBody, RequestBody};
use super::resource_metadata::ResourceMetadata;
use super::response;
use super::response_body::{HttpResponse, ResponseBody, boxed};
use super::sse;
use super::streamable_http::StreamableHttp;
use super::tls::ConnectionCertificate;
use super::trace_headers;
use crate::access::AuthenticatedCaller;
use crate::mcp::{Caller, Channel, Server};
use crate::observe::trace::TraceContext;
use crate::sandbox::json_work;

/// The path of Streamable HTTP.
pub const PATH: &str = "/mcp";

/// The path prefix of documents in which servers describe themselves (RFC 8615).
const WELL_KNOWN: &str = "/.well-known/";

/// The methods of [`PATH`].
const METHODS: &str = "POST, GET, DELETE";

struct AppState {
    endpoint: StreamableHttp,
    origin_check: OriginCheck,
    locality_check: LocalityCheck,
    trusted_proxies: TrustedProxies,
    resource_metadata: ResourceMetadata,
    legacy_sse: LegacySseStreams,
}

/// Facts about the client of a request, from its connection and headers.
struct CallerInfo<'c> {
    /// `None` for requests without a connection.
    connection: Option<&'c ConnectionInfo>,
    caller: Caller,
    /// Whether the client is certain to run on this machine.
    is_on_this_machine: bool,
    /// Whether plugins may read the client's roots.
    is_local: bool,
}

impl CallerInfo<'_> {
    /// `trace` is the trace context of the message.
    fn channel(self, trace: Option<TraceContext>, can_send_requests: bool) -> Channel {
        let Self { caller, is_local, .. } = self;
        Channel { caller, can_send_requests, has_status: true, is_local, trace }
    }
}

/// The routes of a server, for [`serve`](super::serve).
#[derive(Clone)]
pub struct ServerRoutes(Arc<AppState>);

impl ServerRoutes {
    /// Must be called within the async runtime, because a task sweeps the sessions.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        Self(app_state(server))
    }
}

impl MakeService for ServerRoutes {
    type Body = ResponseBody;
    type Service = ConnectionService;

    fn make_service(&self, connection: ConnectionInfo) -> ConnectionService {
        ConnectionService { state: Arc::clone(&self.0), connection: Arc::new(connection) }
    }
}

/// Serves the requests of one connection.
pub struct ConnectionService {
    state: Arc<AppState>,
    connection: Arc<ConnectionInfo>,
}

impl Service<hyper::Request<Incoming>> for ConnectionService {
    type Response = HttpResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<HttpResponse, Infallible>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        let (state, connection) = (Arc::clone(&self.state), Arc::clone(&self.connection));
        // Boxed, so that an idle connection does not hold the memory of a request.
        async move { Ok(handle(&state, Some(&connection), request.map(Either::Left)).await) }.boxed()
    }
}

/// The same routes as an axum router, for requests without a connection. It boxes and copies more for each request.
pub fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(handle_without_connection).with_state(app_state(server))
}

async fn handle_without_connection(State(state): State<Arc<AppState>>, request: Request) -> Response {
    handle(&state, None, request.map(Either::Right)).await.map(Body::new)
}

fn app_state(server: Arc<Server>) -> Arc<AppState> {
    let origin_check = OriginCheck::new(server.settings());
    let locality_check = LocalityCheck::new(server.settings());
    let trusted_proxies = TrustedProxies::new(&server.settings().trusted_proxies);
    let has_client_certificates = server.settings().tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    let resource_metadata = ResourceMetadata::new(PATH, has_client_certificates);
    let legacy_sse = LegacySseStreams::new(server.settings().max_sessions);
    let endpoint = StreamableHttp::new(server);
    let state =
        AppState { endpoint, origin_check, locality_check, trusted_proxies, resource_metadata, legacy_sse };
    Arc::new(state)
}

/// Handles one request. Rejected requests come through here too, so that every body is drained or its connection
/// closed.
async fn handle(
    state: &AppState,
    connection: Option<&ConnectionInfo>,
    request: http::Request<RequestBody>,
) -> HttpResponse {
    let (mut parts, mut body) = request.into_parts();
    // A request target such as `http://host/mcp` names the host; `Host` is then ignored (RFC 9112, 3.2.2).
    let named = parts.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = named {
        parts.headers.insert(header::HOST, host);
    }
    let response = respond(state, connection, &parts, &mut body).await;
    request_body::drain_or_close(response, body, &parts.headers).await
}

async fn respond(
    state: &AppState,
    connection: Option<&ConnectionInfo>,
    parts: &Parts,
    body: &mut RequestBody,
) -> HttpResponse {
    let authenticator = state.endpoint.server().authenticator();
    if let Some(document) = state.resource_metadata.respond(parts, || authenticator.config()) {
        return boxed(document);
    }
    if parts.uri.path().starts_with(WELL_KNOWN) {
        // Clients of 2025-03-26 look for an authorization server here; a challenge would look like an error to them.
        let mut response = match parts.method {
            Method::OPTIONS => {
                boxed(cors::permission(&parts.headers, HeaderValue::from_static("GET"), every_page()))
            }
            _ => boxed((StatusCode::NOT_FOUND, "there is no such metadata here\n")),
        };
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, every_page());
        return response;
    }
    let origin = state.origin_check.allowed_origin(&parts.headers);
    let mut response = match state.check(connection, parts) {
        Ok(client) => match cors::preflight(parts, origin) {
            Some(permission) => boxed(permission),
            None => authenticate_and_route(state, parts, client, body).await,
        },
        Err(rejection) => boxed(rejection),
    };
    cors::add_headers(origin, &mut response);
    response
}

/// The value `*`, with which every page may read what is not secret.
fn every_page() -> HeaderValue {
    HeaderValue::from_static("*")
}

async fn authenticate_and_route(
    state: &AppState,
    parts: &Parts,
    mut client: CallerInfo<'_>,
    body: &mut RequestBody,
) -> HttpResponse {
    let authenticator = state.endpoint.server().authenticator();
    let (mut principal, is_loopback) = (None, client.is_on_this_machine);
    if authenticator.is_configured() {
        match authentication::authenticate(authenticator, parts, &client.caller, is_loopback).await {
            Ok(authenticated) => principal = authenticated,
            Err(rejection) => return boxed(rejection),
        }
    }
    if let Some(principal) = &principal {
        let address = match client.caller {
            Caller::Address(address) => Some(address),
            _ => None,
        };
        client.caller = Caller::Principal(AuthenticatedCaller { principal: Arc::clone(principal), address });
    }
    let mut response = route(state, parts, client, body).await;
    authentication::challenge_for_scopes(authenticator, parts, principal.is_some(), &mut response);
    // A call may finish even if its credentials expire meanwhile; only streams that wait for changes end with them.
    match is_listener(parts) {
        true => {
            let certificate = parts.extensions.get::<ConnectionCertificate>();
            credential_expiry::bind(response, authenticator, principal, is_loopback, certificate)
        }
        false => response,
    }
}

/// Whether a request opens a stream that waits for changes.
fn is_listener(parts: &Parts) -> bool {
    parts.method == Method::GET
        || parts.headers.get(METHOD).is_some_and(|method| method == "subscriptions/listen")
}

impl AppState {
    /// Checks the headers that every request has, and determines its client.
    fn check<'c>(
        &self,
        connection: Option<&'c ConnectionInfo>,
        parts: &Parts,
    ) -> Result<CallerInfo<'c>, PlainRejection> {
        let host = self.origin_check.check(&parts.headers)?;
        let caller = match connection {
            Some(ConnectionInfo { peer, .. }) => {
                Caller::Address(self.trusted_proxies.client_address(*peer, &parts.headers))
            }
            None => Caller::Unknown,
        };
        let is_on_this_machine =
            self.locality_check.is_local(&parts.headers, &caller, host == HostName::Loopback);
        let is_local = is_on_this_machine && self.endpoint.server().settings().roots_over_http;
        Ok(CallerInfo { connection, caller, is_on_this_machine, is_local })
    }

    /// Reads a body up to the limit on messages.
    async fn read_body(&self, body: &mut RequestBody, caller: &Caller) -> Result<CountedBody, BodyError> {
        let server = self.endpoint.server();
        request_body::read(body, server.settings().message_bytes, || server.share(caller)).await
    }
}

async fn route(
    state: &AppState,
    parts: &Parts,
    client: CallerInfo<'_>,
    body: &mut RequestBody,
) -> HttpResponse {
    let path = parts.uri.path();
    match (path.strip_suffix('/').unwrap_or(path), &parts.method) {
        (PATH, &Method::POST) => post_message(state, parts, client, body).await,
        (PATH, &Method::GET) => get_stream(state, &parts.headers, &client.caller).await,
        (PATH, &Method::DELETE) => delete_session(state, &parts.headers, &client.caller),
        (PATH, _) => not_allowed(METHODS, "MCP is spoken with POST, GET and DELETE\n"),
        (legacy_sse::STREAM, &Method::GET) => {
            match state.legacy_sse.open(
                state.endpoint.server(),
                &parts.headers,
                // The stream carries many messages, so it has no trace context of its own.
                client.channel(None, true),
            ) {
                Ok(events) => boxed(sse::stream(events)),
                Err(rejection) => boxed(rejection),
            }
        }
        (legacy_sse::STREAM, _) => not_allowed(
            "GET",
            "the stream of HTTP+SSE is opened with GET; for the newer transport, POST to /mcp\n",
        ),
        (legacy_sse::MESSAGES, &Method::POST) => post_legacy_message(state, parts, client, body).await,
        (legacy_sse::MESSAGES, _) => not_allowed("POST", "messages of HTTP+SSE are sent with POST\n"),
        _ => boxed((StatusCode::NOT_FOUND, format!("MCP is served at {PATH}\n"))),
    }
}

async fn post_message(
    state: &AppState,
    parts: &Parts,
    client: CallerInfo<'_>,
    body: &mut RequestBody,
) -> HttpResponse {
    let headers = &parts.headers;
    let accepts = match check_json_body(headers).and_then(|()| AcceptHeader::read_any(headers)) {
        Ok(accepts) => accepts,
        Err(rejection) => return boxed(rejection),
    };
    // A client that accepts no event streams gets no client requests.
    let is_traced = state.endpoint.server().records_traces();
    let trace = if is_traced { trace_headers::read(headers) } else { None };
    let connection = client.connection;
    let channel = client.channel(trace, accepts.events);
    let CountedBody { bytes, reservation } = match state.read_body(body, &channel.caller).await {
        Ok(body) => body,
        Err(error) => return boxed(error),
    };
    if let Some(ConnectionInfo { activity, .. }) = connection {
        // The request has been read completely.
        activity.set(ConnectionState::Working);
    }
    let server = state.endpoint.server();
    let post = || state.endpoint.post(headers, &bytes, reservation, &channel);
    let reply = server.reading().in_place(json_work(&bytes), post).await;
    drop(bytes);
    response::write(reply, accepts, server.settings().sse_close).await
}

async fn get_stream(state: &AppState, headers: &HeaderMap, caller: &Caller) -> HttpResponse {
    if !headers.contains_key(SESSION_ID) {
        return no_session();
    }
    let accepts = AcceptHeader::read(headers);
    if !accepts.events {
        let why = "what is opened with GET is an event stream; send `Accept: text/event-stream`\n";
        return boxed((StatusCode::NOT_ACCEPTABLE, why));
    }
    let sse_close = state.endpoint.server().settings().sse_close;
    response::write(state.endpoint.get(headers, caller), accepts, sse_close).await
}

async fn post_legacy_message(
    state: &AppState,
    parts: &Parts,
    client: CallerInfo<'_>,
    body: &mut RequestBody,
) -> HttpResponse {
    if let Err(rejection) = check_json_body(&parts.headers) {
        return boxed(rejection);
    }
    let body = match state.read_body(body, &client.caller).await {
        Ok(body) => body,
        Err(error) => return boxed(error),
    };
    match state.legacy_sse.post(parts.uri.query(), &client.caller, body).await {
        Ok(()) => boxed(StatusCode::ACCEPTED),
        Err(rejection) => boxed(rejection),
    }
}

fn delete_session(state: &AppState, headers: &HeaderMap, caller: &Caller) -> HttpResponse {
    match state.endpoint.delete(headers, caller) {
        Some(true) => boxed(StatusCode::NO_CONTENT),
        Some(false) => boxed((StatusCode::NOT_FOUND, "unknown session: it has ended\n")),
        None => no_session(),
    }
}

/// The response to a GET or DELETE without a session. A client of the stateless revision sends only POST.
fn no_session() -> HttpResponse {
    not_allowed(
        METHODS,
        "GET and DELETE are about a session, which `Mcp-Session-Id` names and `initialize` begins; without one, use POST\n",
    )
}

fn not_allowed(allowed: &'static str, why: &'static str) -> HttpResponse {
    boxed((StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)], why))
}
