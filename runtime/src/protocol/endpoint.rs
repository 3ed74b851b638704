//! The rules of Streamable HTTP: which era a POST belongs to, which session, and which status goes back.
//!
//! One endpoint serves both eras at once. This decides; it reads headers and bodies and opens no socket.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::dispatch;
use super::era::Era;
use super::error::RpcError;
use super::exchange::Exchange;
use super::message::{Id, Message, Notification, Request, error_response, response};
use super::method::Method;
use super::mirror;
use super::revision::Revision;
use super::server::Server;
use super::session::Session;
use crate::protocol::connection::cancel;

/// Header that carries a session's id.
const SESSION: &str = "mcp-session-id";

/// What the endpoint answers to one POST.
#[derive(Debug)]
pub enum Answer {
    /// A notification or a response was taken: 202 without a body.
    Accepted,
    /// A request is being served.
    Exchange(Exchange),
    /// A session has begun: the answer and the id of the session.
    Begun(Bytes, String),
    /// Nothing is served; the body says why.
    Refused(StatusCode, Bytes),
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

    /// Takes the body of a POST.
    #[must_use]
    pub fn post(&self, headers: &HeaderMap, body: &[u8]) -> Answer {
        let answer = match Message::parse(body) {
            Ok(Message::Request(request)) => {
                let id = request.id.clone();
                self.request(headers, request).map_err(|error| (Some(id), error))
            }
            Ok(Message::Notification(notification)) => self.notification(headers, &notification),
            Ok(Message::Response) => {
                self.session(headers).map(|_| Answer::Accepted).map_err(|error| (None, error))
            }
            Err(malformed) => Err((malformed.id, malformed.error)),
        };
        answer.unwrap_or_else(|refusal| refused(&refusal))
    }

    /// Ends the session that a DELETE names. `None` when the request names none.
    #[must_use]
    pub fn delete(&self, headers: &HeaderMap) -> Option<bool> {
        let id = mirror::single(headers, SESSION).ok().flatten()?;
        Some(self.server.sessions.end(&id))
    }

    fn request(&self, headers: &HeaderMap, request: Request) -> Result<Answer, RpcError> {
        let (era, carried) = Era::of(&request)?;
        match era {
            Era::Stateless(claims) => {
                let name = mirror::check(headers, &request, claims.revision)?;
                self.check_params(headers, &request, name.as_deref())?;
                dispatch::stateless(&self.server, request, (claims, carried), None).map(Answer::Exchange)
            }
            Era::Initialize => self.initialize(&request),
            Era::Session => {
                let session = self.session(headers)?;
                let exchange = dispatch::in_session(&self.server, &session, request, carried)?;
                Ok(Answer::Exchange(exchange.detach(&session.tasks)))
            }
        }
    }

    /// Arguments that a tool wants repeated in headers.
    fn check_params(
        &self,
        headers: &HeaderMap,
        request: &Request,
        name: Option<&str>,
    ) -> Result<(), RpcError> {
        let Some(name) = name.filter(|_| request.method == Method::CallTool) else { return Ok(()) };
        let snapshot = self.server.catalog.current();
        let expected = snapshot.tool(name).map_or(&[][..], |tool| &tool.headers);
        mirror::check_params(headers, expected, request.params.as_deref())
    }

    fn initialize(&self, request: &Request) -> Result<Answer, RpcError> {
        let (session, reply) = dispatch::initialize(&self.server, request)?;
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
        cancel(&session.in_flight, notification);
        Ok(Answer::Accepted)
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
        self.server.sessions.get(&id).ok_or_else(|| {
            RpcError::invalid_request("unknown session: it has ended; send `initialize` again")
                .with_status(StatusCode::NOT_FOUND)
        })
    }
}

fn refused((id, error): &Refusal) -> Answer {
    Answer::Refused(error.status, error_response(id.as_ref(), error))
}
