//! The rules of Streamable HTTP: whether a message is stateless or of which session, and which status goes back.
//!
//! One endpoint serves both kinds. It reads headers and bodies and opens no socket.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::buffer_budget::BufferReservation;
use super::dispatch;
use super::error::RpcError;
use super::header_validation;
use super::jsonrpc::{Message, Notification, Request, RequestId, error_response, response, without_bom};
use super::jsonrpc_batch;
use super::method::Method;
use super::request_context::Channel;
use super::request_meta::RequestKind;
use super::response_stream::ResponseStream;
use super::revision::Revision;
use super::server::Server;
use super::sessions::server_notifications::ServerNotifications;
use super::sessions::session::Session;
use super::sessions::session_streams::EventStream;

/// Header that carries a session's id.
const SESSION: &str = "mcp-session-id";

/// Header with the last event that a client saw.
const LAST_EVENT: &str = "last-event-id";

/// What the endpoint answers to one request of HTTP.
#[derive(Debug)]
pub enum HttpReply {
    /// A notification or a response was taken: 202 without a body.
    Accepted,
    /// A request is being served.
    ResponseStream(ResponseStream, Resumability),
    /// A session has begun: the answer and the id of the session.
    SessionCreated(Bytes, String),
    /// A stream of events.
    EventStream(Box<EventStream>),
    /// Nothing is served; the body says why.
    Rejected(StatusCode, Bytes),
}

/// How the stream of a request survives its connection; a stateless one does not.
#[derive(Debug)]
pub struct Resumability(Option<(Arc<Session>, Duration)>);

/// The rest of an exchange as a stream.
#[derive(Debug)]
pub enum HttpStream {
    /// It survives its connection.
    Resumable(Box<EventStream>),
    /// It ends with its connection: the first message, and what follows.
    OneConnection(Option<Bytes>, ResponseStream),
}

impl Resumability {
    /// After how long without a message the connection should be given up, to be resumed. `None`: never.
    #[must_use]
    pub fn close_after(&self) -> Option<Duration> {
        let (session, close) = self.0.as_ref()?;
        (session.revision.has_priming_events() && !close.is_zero()).then_some(*close)
    }

    /// Makes a stream of the rest of an exchange, after its first message.
    #[must_use]
    pub fn stream(self, first: Option<Bytes>, response_stream: ResponseStream) -> HttpStream {
        let close = self.close_after().unwrap_or_default();
        match self.0 {
            Some((session, _)) => HttpStream::Resumable(Box::new(EventStream::for_request(
                &session,
                response_stream,
                first,
                close,
            ))),
            None => HttpStream::OneConnection(first, response_stream),
        }
    }
}

/// The endpoint of one server.
#[derive(Debug, Clone)]
pub struct StreamableHttp {
    server: Arc<Server>,
}

type Rejection = (Option<RequestId>, RpcError);

impl StreamableHttp {
    /// The endpoint of `server`.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        Self { server }
    }

    /// The server behind it.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Takes the body of a POST, with what is held for it if it is large.
    #[must_use]
    pub fn post(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        reservation: Option<BufferReservation>,
        channel: &Channel,
    ) -> HttpReply {
        let body = without_bom(body);
        if let Some(messages) = Message::split(body) {
            return self
                .batch(headers, (&messages, reservation), channel)
                .unwrap_or_else(|error| rejected(&(None, error)));
        }
        let answer = match Message::parse(body) {
            Ok(Message::Request(mut request)) => {
                request.reservation = reservation.map(Arc::new);
                let id = request.id.clone();
                self.request(headers, request, channel).map_err(|error| (Some(id), error))
            }
            Ok(Message::Notification(notification)) => self.notification(headers, &notification),
            Ok(Message::Response(id, answered)) => self
                .session(headers)
                .map(|session| {
                    session.touch();
                    if let Some(id) = id {
                        session.pending_requests.complete(&id, answered, reservation.map(Arc::new));
                    }
                    HttpReply::Accepted
                })
                .map_err(|error| (None, error)),
            Err(malformed) => Err((malformed.id, malformed.error)),
        };
        answer.unwrap_or_else(|refusal| rejected(&refusal))
    }

    /// Opens the stream for what comes unasked, or resumes the one that `Last-Event-ID` names.
    #[must_use]
    pub fn get(&self, headers: &HeaderMap) -> HttpReply {
        self.events(headers).unwrap_or_else(|error| rejected(&(None, error)))
    }

    /// Ends the session that a DELETE names. `None` when the request names none.
    #[must_use]
    pub fn delete(&self, headers: &HeaderMap) -> Option<bool> {
        let id = header_validation::single(headers, SESSION).ok().flatten()?;
        Some(self.server.sessions.end(&id))
    }

    fn request(
        &self,
        headers: &HeaderMap,
        request: Request,
        channel: &Channel,
    ) -> Result<HttpReply, RpcError> {
        let (kind, mut request_meta) =
            RequestKind::parse(&request).map_err(|error| prefer_header_mismatch(headers, error))?;
        match kind {
            RequestKind::Stateless(mut stateless_meta) => {
                stateless_meta.client.is_local = self.server.is_local_client(headers, &channel.caller);
                let name = header_validation::check(headers, &request, stateless_meta.revision)?;
                if !self.check_params(headers, &request, name.as_deref())? {
                    request_meta.headers = Some(Box::new(headers.clone()));
                }
                let response_stream = dispatch::stateless(
                    &self.server,
                    request,
                    (stateless_meta, request_meta),
                    None,
                    channel,
                )?;
                Ok(HttpReply::ResponseStream(response_stream, Resumability(None)))
            }
            RequestKind::Initialize => self.initialize(headers, &request, channel),
            RequestKind::Session => {
                let session = self.session(headers)?;
                let response_stream =
                    dispatch::in_session(&self.server, &session, request, request_meta, channel)?;
                Ok(self.response_stream(session, response_stream))
            }
        }
    }

    /// The answer of a session's exchange, which goes on without its connection.
    fn response_stream(&self, session: Arc<Session>, response_stream: ResponseStream) -> HttpReply {
        let response_stream = response_stream.detach(&session.tasks);
        HttpReply::ResponseStream(
            response_stream,
            Resumability(Some((session, self.server.settings.sse_close))),
        )
    }

    fn batch(
        &self,
        headers: &HeaderMap,
        (messages, reservation): (&[&serde_json::value::RawValue], Option<BufferReservation>),
        channel: &Channel,
    ) -> Result<HttpReply, RpcError> {
        // A batch says no revision of its own, so only a session can tell that its client knows them.
        if header_validation::single(headers, SESSION)?.is_none() {
            return Err(jsonrpc_batch::unknown());
        }
        let session = self.session(headers)?;
        Ok(match jsonrpc_batch::serve(&self.server, &session, messages, reservation, channel)? {
            Some(response_stream) => self.response_stream(session, response_stream),
            None => HttpReply::Accepted,
        })
    }

    /// Arguments that a tool wants repeated in headers. Whether that can be told: a tool may come while the server begins.
    fn check_params(
        &self,
        headers: &HeaderMap,
        request: &Request,
        name: Option<&str>,
    ) -> Result<bool, RpcError> {
        let Some(name) = name.filter(|_| request.method == Method::CallTool) else { return Ok(true) };
        // In this order: what comes between the two is in the snapshot.
        let is_complete = self.server.catalog.is_complete();
        match self.server.catalog.current().tool(name) {
            Some(tool) => header_validation::check_params(headers, &tool.headers, request.params.as_deref())
                .map(|()| true),
            None => Ok(is_complete),
        }
    }

    fn initialize(
        &self,
        headers: &HeaderMap,
        request: &Request,
        channel: &Channel,
    ) -> Result<HttpReply, RpcError> {
        // A session begins once. One that has ended is no reason to refuse a client that forgot to leave its id out.
        if header_validation::single(headers, SESSION)?.is_some_and(|id| self.live_session(&id).is_some()) {
            return Err(RpcError::invalid_request(
                "this session has begun already; leave `Mcp-Session-Id` out to begin another, and end this one with DELETE",
            ));
        }
        let near = self.server.is_local_client(headers, &channel.caller);
        let (session, reply) =
            dispatch::initialize(&self.server, request, self.server.share(&channel.caller), near)?;
        let id = self.server.sessions.add(Arc::new(session)).map_err(|_| {
            RpcError::internal("all sessions are in use; try again later")
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
        })?;
        Ok(HttpReply::SessionCreated(response(&request.id, reply.as_json()), id))
    }

    fn notification(&self, headers: &HeaderMap, notification: &Notification) -> Result<HttpReply, Rejection> {
        // The stateless revision defines no notification from the client over HTTP; one is taken and has no effect.
        let stateless = header_validation::single(headers, header_validation::VERSION).ok().flatten();
        if stateless.as_deref().and_then(Revision::parse).is_some_and(Revision::is_stateless) {
            return Ok(HttpReply::Accepted);
        }
        let session = self.session(headers).map_err(|error| (None, error))?;
        session.touch();
        session.handle_notification(notification);
        Ok(HttpReply::Accepted)
    }

    fn events(&self, headers: &HeaderMap) -> Result<HttpReply, RpcError> {
        let session = self.session(headers)?;
        session.touch();
        let changes = || self.server.catalog.changes_since(session.lists);
        let notifications =
            || ServerNotifications::new(&session, changes(), self.server.settings.ping_interval);
        let events = match header_validation::single(headers, LAST_EVENT)? {
            None => EventStream::standalone(&session, notifications),
            Some(id) => {
                let close = self.server.settings.sse_close;
                EventStream::resume(&session, &id, close, notifications).ok_or_else(|| {
                    RpcError::invalid_request(
                        "there are no events for this `Last-Event-ID`; open a new stream",
                    )
                })?
            }
        };
        Ok(HttpReply::EventStream(Box::new(events)))
    }

    /// The session that a request belongs to.
    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, RpcError> {
        let version = header_validation::single(headers, header_validation::VERSION)?;
        let revision = version.as_deref().map(|name| (name, Revision::parse(name)));
        match revision {
            Some((name, None)) => return Err(RpcError::unsupported_version(name)),
            Some((_, Some(revision))) if revision.is_stateless() => {
                let detail =
                    "a request of this revision carries its protocol version and capabilities in `_meta`";
                return Err(RpcError::invalid_meta(detail));
            }
            _ => {}
        }
        let id = header_validation::single(headers, SESSION)?.ok_or_else(|| {
            RpcError::invalid_request(
                "no session: send `initialize` first, then `Mcp-Session-Id` with every request",
            )
        })?;
        self.live_session(&id).ok_or_else(|| {
            RpcError::invalid_request("unknown session: it has ended; send `initialize` again")
                .with_status(StatusCode::NOT_FOUND)
        })
    }

    fn live_session(&self, id: &str) -> Option<Arc<Session>> {
        self.server.sessions.get(id).filter(|session| !session.ended.is_cancelled())
    }
}

/// A version that the header does not repeat is a mismatch, whether or not anyone speaks it.
fn prefer_header_mismatch(headers: &HeaderMap, error: RpcError) -> RpcError {
    let requested = error.data.as_ref().and_then(|data| data.get("requested")?.as_str().map(str::to_owned));
    match requested.map(|requested| header_validation::check_version(headers, &requested)) {
        Some(Err(mismatch)) => mismatch,
        _ => error,
    }
}

fn rejected((id, error): &Rejection) -> HttpReply {
    HttpReply::Rejected(error.status, error_response(id.as_ref(), error))
}
