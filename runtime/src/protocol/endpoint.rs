//! The rules of Streamable HTTP: which era a message belongs to, which session, and which status goes back.
//!
//! One endpoint serves both eras at once. This decides; it reads headers and bodies and opens no socket.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::batch;
use super::buffers::Held;
use super::context::Via;
use super::dispatch;
use super::era::Era;
use super::error::RpcError;
use super::exchange::Exchange;
use super::message::{Id, Message, Notification, Request, error_response, response, without_bom};
use super::method::Method;
use super::mirror;
use super::revision::Revision;
use super::server::Server;
use super::sessions::presence::Presence;
use super::sessions::session::Session;
use super::sessions::streams::Events;

/// Header that carries a session's id.
const SESSION: &str = "mcp-session-id";

/// Header with the last event that a client saw.
const LAST_EVENT: &str = "last-event-id";

/// What the endpoint answers to one request of HTTP.
#[derive(Debug)]
pub enum Answer {
    /// A notification or a response was taken: 202 without a body.
    Accepted,
    /// A request is being served.
    Exchange(Exchange, Resumption),
    /// A session has begun: the answer and the id of the session.
    Begun(Bytes, String),
    /// A stream of events.
    Events(Box<Events>),
    /// Nothing is served; the body says why.
    Refused(StatusCode, Bytes),
}

/// How the stream of a request survives its connection; a stateless one does not.
#[derive(Debug)]
pub struct Resumption(Option<(Arc<Session>, Duration)>);

/// The rest of an exchange as a stream.
#[derive(Debug)]
pub enum Rest {
    /// It survives its connection.
    Resumable(Box<Events>),
    /// It ends with its connection: the first message, and what follows.
    OneConnection(Option<Bytes>, Exchange),
}

impl Resumption {
    /// After how long without a message the connection should be given up, to be resumed. `None`: never.
    #[must_use]
    pub fn close_after(&self) -> Option<Duration> {
        let (session, close) = self.0.as_ref()?;
        (session.revision.has_priming_events() && !close.is_zero()).then_some(*close)
    }

    /// Makes a stream of the rest of an exchange, after its first message.
    #[must_use]
    pub fn stream(self, first: Option<Bytes>, exchange: Exchange) -> Rest {
        let close = self.close_after().unwrap_or_default();
        match self.0 {
            Some((session, _)) => {
                Rest::Resumable(Box::new(Events::of_request(&session, exchange, first, close)))
            }
            None => Rest::OneConnection(first, exchange),
        }
    }
}

/// The endpoint of one server.
#[derive(Debug, Clone)]
pub struct Endpoint {
    server: Arc<Server>,
}

type Refusal = (Option<Id>, RpcError);

impl Endpoint {
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
    pub fn post(&self, headers: &HeaderMap, body: &[u8], held: Option<Held>, via: &Via) -> Answer {
        let body = without_bom(body);
        if let Some(messages) = Message::split(body) {
            return self
                .batch(headers, (&messages, held), via)
                .unwrap_or_else(|error| refused(&(None, error)));
        }
        let answer = match Message::parse(body) {
            Ok(Message::Request(mut request)) => {
                request.held = held.map(Arc::new);
                let id = request.id.clone();
                self.request(headers, request, via).map_err(|error| (Some(id), error))
            }
            Ok(Message::Notification(notification)) => self.notification(headers, &notification),
            Ok(Message::Response(id, answered)) => self
                .session(headers)
                .map(|session| {
                    session.touch();
                    if let Some(id) = id {
                        session.asked.settle(&id, answered, held.map(Arc::new));
                    }
                    Answer::Accepted
                })
                .map_err(|error| (None, error)),
            Err(malformed) => Err((malformed.id, malformed.error)),
        };
        answer.unwrap_or_else(|refusal| refused(&refusal))
    }

    /// Opens the stream for what comes unasked, or resumes the one that `Last-Event-ID` names.
    #[must_use]
    pub fn get(&self, headers: &HeaderMap) -> Answer {
        self.events(headers).unwrap_or_else(|error| refused(&(None, error)))
    }

    /// Ends the session that a DELETE names. `None` when the request names none.
    #[must_use]
    pub fn delete(&self, headers: &HeaderMap) -> Option<bool> {
        let id = mirror::single(headers, SESSION).ok().flatten()?;
        Some(self.server.sessions.end(&id))
    }

    fn request(&self, headers: &HeaderMap, request: Request, via: &Via) -> Result<Answer, RpcError> {
        let (era, mut carried) = Era::of(&request).map_err(|error| contradicted(headers, error))?;
        match era {
            Era::Stateless(mut claims) => {
                claims.client.near = self.server.is_near(headers, &via.caller);
                let name = mirror::check(headers, &request, claims.revision)?;
                if !self.check_params(headers, &request, name.as_deref())? {
                    carried.headers = Some(Box::new(headers.clone()));
                }
                let exchange = dispatch::stateless(&self.server, request, (claims, carried), None, via)?;
                Ok(Answer::Exchange(exchange, Resumption(None)))
            }
            Era::Initialize => self.initialize(headers, &request, via),
            Era::Session => {
                let session = self.session(headers)?;
                let exchange = dispatch::in_session(&self.server, &session, request, carried, via)?;
                Ok(self.exchange(session, exchange))
            }
        }
    }

    /// The answer of a session's exchange, which goes on without its connection.
    fn exchange(&self, session: Arc<Session>, exchange: Exchange) -> Answer {
        let exchange = exchange.detach(&session.tasks);
        Answer::Exchange(exchange, Resumption(Some((session, self.server.settings.stream_close))))
    }

    fn batch(
        &self,
        headers: &HeaderMap,
        (messages, held): (&[&serde_json::value::RawValue], Option<Held>),
        via: &Via,
    ) -> Result<Answer, RpcError> {
        // A batch says no revision of its own, so only a session can tell that its client knows them.
        if mirror::single(headers, SESSION)?.is_none() {
            return Err(batch::unknown());
        }
        let session = self.session(headers)?;
        Ok(match batch::serve(&self.server, &session, messages, held, via)? {
            Some(exchange) => self.exchange(session, exchange),
            None => Answer::Accepted,
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
            Some(tool) => {
                mirror::check_params(headers, &tool.headers, request.params.as_deref()).map(|()| true)
            }
            None => Ok(is_complete),
        }
    }

    fn initialize(&self, headers: &HeaderMap, request: &Request, via: &Via) -> Result<Answer, RpcError> {
        // A session begins once. One that has ended is no reason to refuse a client that forgot to leave its id out.
        if mirror::single(headers, SESSION)?.is_some_and(|id| self.alive(&id).is_some()) {
            return Err(RpcError::invalid_request(
                "this session has begun already; leave `Mcp-Session-Id` out to begin another, and end this one with DELETE",
            ));
        }
        let near = self.server.is_near(headers, &via.caller);
        let (session, reply) =
            dispatch::initialize(&self.server, request, self.server.share(&via.caller), near)?;
        let id = self.server.sessions.add(Arc::new(session)).map_err(|_| {
            RpcError::internal("all sessions are in use; try again later")
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
        })?;
        Ok(Answer::Begun(response(&request.id, reply.as_json()), id))
    }

    fn notification(&self, headers: &HeaderMap, notification: &Notification) -> Result<Answer, Refusal> {
        // The stateless revision defines no notification from the client over HTTP; one is taken and has no effect.
        let stateless = mirror::single(headers, mirror::VERSION).ok().flatten();
        if stateless.as_deref().and_then(Revision::parse).is_some_and(Revision::is_stateless) {
            return Ok(Answer::Accepted);
        }
        let session = self.session(headers).map_err(|error| (None, error))?;
        session.touch();
        session.notified(notification);
        Ok(Answer::Accepted)
    }

    fn events(&self, headers: &HeaderMap) -> Result<Answer, RpcError> {
        let session = self.session(headers)?;
        session.touch();
        let changes = || self.server.catalog.changes_since(session.lists);
        let presence = || Presence::new(&session, changes(), self.server.settings.ping);
        let events = match mirror::single(headers, LAST_EVENT)? {
            None => Events::common(&session, presence),
            Some(id) => {
                let close = self.server.settings.stream_close;
                Events::resumed(&session, &id, close, presence).ok_or_else(|| {
                    RpcError::invalid_request("nothing is kept for this `Last-Event-ID`; open a new stream")
                })?
            }
        };
        Ok(Answer::Events(Box::new(events)))
    }

    /// The session that a request belongs to.
    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, RpcError> {
        let version = mirror::single(headers, mirror::VERSION)?;
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
        let id = mirror::single(headers, SESSION)?.ok_or_else(|| {
            RpcError::invalid_request(
                "no session: send `initialize` first, then `Mcp-Session-Id` with every request",
            )
        })?;
        self.alive(&id).ok_or_else(|| {
            RpcError::invalid_request("unknown session: it has ended; send `initialize` again")
                .with_status(StatusCode::NOT_FOUND)
        })
    }

    fn alive(&self, id: &str) -> Option<Arc<Session>> {
        self.server.sessions.get(id).filter(|session| !session.ended.is_cancelled())
    }
}

/// A version that the header does not repeat is a mismatch, whether or not anyone speaks it.
fn contradicted(headers: &HeaderMap, error: RpcError) -> RpcError {
    let requested = error.data.as_ref().and_then(|data| data.get("requested")?.as_str().map(str::to_owned));
    match requested.map(|requested| mirror::check_version(headers, &requested)) {
        Some(Err(mismatch)) => mismatch,
        _ => error,
    }
}

fn refused((id, error): &Refusal) -> Answer {
    Answer::Refused(error.status, error_response(id.as_ref(), error))
}
