//! The rules of Streamable HTTP: whether a message is stateless or belongs to a session, and what the reply is.
//!
//! One endpoint serves both kinds. This module reads headers, bodies and session ids, and calls the layer `mcp` with
//! parsed messages, a [`Channel`] and one view of the catalog; `mcp` returns a [`ResponseStream`]. `response` writes
//! the reply.

use std::sync::Arc;

use axum::http::HeaderMap;
use bytes::Bytes;
use serde_json::value::RawValue;

use super::header_names::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID, single};
use super::header_validation::{self, DeferredHeaders};
use super::resumable_stream::ResumableStream;
use super::session_registry::SessionRegistry;
use super::session_streams::HttpSession;
use crate::mcp::{
    BufferReservation, Caller, CatalogView, Channel, Message, Method, Notification, Request, RequestId,
    RequestKind, RequestMeta, RequestSender, ResponseKind, ResponseStream, Revision, RpcError, Server,
    dispatch, error_response, jsonrpc_batch, without_bom,
};

/// The reply to one HTTP request.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most replies are streams, and a box costs each of them an allocation"
)]
pub(super) enum Reply {
    /// A notification or a response was accepted: 202 without a body.
    Accepted,
    /// A request is being served. In a session its stream outlives the connection, and is for its sender.
    Stream(ResponseStream, Option<(Arc<HttpSession>, RequestSender)>),
    /// A session was created: the response and the id of the session.
    SessionCreated(Bytes, String),
    /// The stream of a session for server notifications, or a resumed stream.
    Events(Box<ResumableStream>),
    /// The request was rejected: the kind and the text of the error response.
    Rejected(ResponseKind, Bytes),
}

/// The endpoint of one server.
#[derive(Debug)]
pub(super) struct StreamableHttp {
    server: Arc<Server>,
    sessions: Arc<SessionRegistry>,
}

/// The messages of a batch, and the buffer space that is reserved for them if they are large.
type CountedMessages<'b> = (&'b [&'b RawValue], Option<BufferReservation>);

impl StreamableHttp {
    /// Makes the endpoint of `server`, and starts the task that sweeps its sessions.
    pub(super) fn new(server: Arc<Server>) -> Self {
        let settings = server.settings();
        let sessions = Arc::new(SessionRegistry::new(settings.max_sessions, settings.session_idle));
        tokio::spawn(SessionRegistry::run_sweeps(Arc::downgrade(&sessions), server.stopping().clone()));
        Self { server, sessions }
    }

    /// The server that handles the messages.
    pub(super) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Handles the body of a POST. The second argument is the buffer space that is reserved for it, if it is large.
    pub(super) fn post(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        reservation: Option<BufferReservation>,
        channel: &Channel,
    ) -> Reply {
        let body = without_bom(body);
        if let Some(messages) = Message::split(body) {
            let messages: CountedMessages<'_> = (&messages, reservation);
            return self.batch(headers, messages, channel).unwrap_or_else(|error| rejected(None, &error));
        }
        let (id, reply) = match Message::parse(body) {
            Ok(Message::Request(mut request)) => {
                request.reservation = reservation.map(Arc::new);
                (Some(request.id.clone()), self.request(headers, request, channel))
            }
            Ok(Message::Notification(notification)) => {
                (None, self.notification(headers, &notification, &channel.caller))
            }
            Ok(Message::Response(id, result)) => {
                let reply = self.session(headers, &channel.caller).map(|http_session| {
                    let session = &http_session.session;
                    session.touch();
                    if let Some(id) = id {
                        session.complete(&id, &channel.caller, result, reservation);
                    }
                    Reply::Accepted
                });
                (None, reply)
            }
            Err(malformed) => (malformed.id, Err(malformed.error)),
        };
        reply.unwrap_or_else(|error| rejected(id.as_ref(), &error))
    }

    /// Opens the stream for server notifications, or resumes the stream that `Last-Event-ID` names.
    pub(super) fn get(&self, headers: &HeaderMap, caller: &Caller) -> Reply {
        self.events(headers, caller).unwrap_or_else(|error| rejected(None, &error))
    }

    /// Ends the session that a DELETE names. Returns `None` if the request names none.
    pub(super) fn delete(&self, headers: &HeaderMap, caller: &Caller) -> Option<bool> {
        let id = single(headers, &SESSION_ID).ok().flatten()?;
        Some(self.sessions.end(id, caller))
    }

    fn request(&self, headers: &HeaderMap, request: Request, channel: &Channel) -> Result<Reply, RpcError> {
        let (kind, mut request_meta) = RequestKind::parse(&request, self.server.records_traces())
            .map_err(|error| prefer_header_mismatch(headers, error))?;
        match kind {
            RequestKind::Stateless(stateless_meta) => {
                let view = self.server.catalog_view(&channel.caller);
                if !check_headers(headers, &request, stateless_meta.revision, &view)? {
                    request_meta.deferred_check = Some(Box::new(DeferredHeaders(headers.clone())));
                }
                let meta = (stateless_meta, request_meta);
                let stream = dispatch::stateless(&self.server, view, request, meta, None, channel)?;
                Ok(Reply::Stream(stream, None))
            }
            RequestKind::Initialize => self.initialize(headers, &request, &request_meta, channel),
            RequestKind::Session => {
                let http_session = self.session(headers, &channel.caller)?;
                let (session, sender) = (&http_session.session, self.server.sender(&channel.caller));
                let stream = dispatch::in_session(&self.server, session, request, request_meta, channel)?;
                Ok(Reply::Stream(stream, Some((http_session, sender))))
            }
        }
    }

    fn batch(
        &self,
        headers: &HeaderMap,
        (messages, reservation): CountedMessages<'_>,
        channel: &Channel,
    ) -> Result<Reply, RpcError> {
        // A batch does not name a revision, so only its session shows whether the client's revision has batches.
        if single(headers, &SESSION_ID)?.is_none() {
            return Err(jsonrpc_batch::unknown());
        }
        let http_session = self.session(headers, &channel.caller)?;
        let sender = self.server.sender(&channel.caller);
        Ok(match jsonrpc_batch::serve(&self.server, &http_session.session, messages, reservation, channel)? {
            Some(stream) => Reply::Stream(stream, Some((http_session, sender))),
            None => Reply::Accepted,
        })
    }

    fn initialize(
        &self,
        headers: &HeaderMap,
        request: &Request,
        request_meta: &RequestMeta,
        channel: &Channel,
    ) -> Result<Reply, RpcError> {
        // A session can be initialized only once. The id of an ended session is ignored.
        if single(headers, &SESSION_ID)?.is_some_and(|id| self.sessions.get(id, &channel.caller).is_some()) {
            return Err(RpcError::invalid_request(
                "this session has begun already; leave `Mcp-Session-Id` out to begin another, and end this one with DELETE",
            ));
        }
        let (session, response) = dispatch::initialize(&self.server, request, request_meta, channel)?;
        let id = self.sessions.add(Arc::new(session)).map_err(|_| {
            RpcError::internal("all sessions are in use; try again later").with_kind(ResponseKind::Overloaded)
        })?;
        Ok(Reply::SessionCreated(response, id))
    }

    fn notification(
        &self,
        headers: &HeaderMap,
        notification: &Notification,
        caller: &Caller,
    ) -> Result<Reply, RpcError> {
        // The stateless revision defines no notifications of clients over HTTP. They are accepted and have no effect.
        let stateless = single(headers, &PROTOCOL_VERSION).ok().flatten();
        if stateless.and_then(Revision::parse).is_some_and(Revision::is_stateless) {
            return Ok(Reply::Accepted);
        }
        let http_session = self.session(headers, caller)?;
        http_session.session.touch();
        http_session.session.handle_notification(notification);
        Ok(Reply::Accepted)
    }

    fn events(&self, headers: &HeaderMap, caller: &Caller) -> Result<Reply, RpcError> {
        let http_session = self.session(headers, caller)?;
        http_session.session.touch();
        let events = match single(headers, &LAST_EVENT_ID)? {
            None => ResumableStream::standalone(&self.server, &http_session, caller),
            Some(id) => {
                let gone = || {
                    let why = "there are no events for this `Last-Event-ID`; open a new stream, or, for the stream of \
                               a request, use the token that sent it";
                    RpcError::invalid_request(why)
                };
                ResumableStream::resume(&self.server, &http_session, id, caller).ok_or_else(gone)?
            }
        };
        Ok(Reply::Events(Box::new(events)))
    }

    /// Returns the session that a request belongs to. To a principal, sessions of other principals do not exist.
    fn session(&self, headers: &HeaderMap, caller: &Caller) -> Result<Arc<HttpSession>, RpcError> {
        let version = single(headers, &PROTOCOL_VERSION)?;
        match version.map(|name| (name, Revision::parse(name))) {
            Some((name, None)) => return Err(RpcError::unsupported_version(name)),
            Some((_, Some(revision))) if revision.is_stateless() => {
                let detail =
                    "a request of this revision carries its protocol version and capabilities in `_meta`";
                return Err(RpcError::invalid_meta(detail));
            }
            _ => {}
        }
        let id = single(headers, &SESSION_ID)?.ok_or_else(|| {
            RpcError::invalid_request(
                "no session: send `initialize` first, then `Mcp-Session-Id` with every request",
            )
        })?;
        self.sessions.get(id, caller).ok_or_else(|| {
            RpcError::invalid_request("unknown session: it has ended; send `initialize` again")
                .with_kind(ResponseKind::NotFound)
        })
    }
}

/// Compares the headers of a stateless request with its body. Returns `false` if the arguments could not be compared
/// yet, because the tool may still be published by the first load of the folder.
fn check_headers(
    headers: &HeaderMap,
    request: &Request,
    revision: Revision,
    view: &CatalogView,
) -> Result<bool, RpcError> {
    let name = header_validation::check(headers, request, revision)?;
    let Some(name) = name.filter(|_| request.method == Method::CallTool) else { return Ok(true) };
    match view.snapshot.tool(&name) {
        Some(tool) => {
            header_validation::check_params(headers, &tool.headers, request.params.arguments()).map(|()| true)
        }
        None => Ok(view.is_complete),
    }
}

/// If the header does not repeat the body's revision, that is reported, even if the revision is also unsupported.
fn prefer_header_mismatch(headers: &HeaderMap, error: RpcError) -> RpcError {
    let requested = error.data.as_ref().and_then(|data| data.get("requested")?.as_str().map(str::to_owned));
    match requested.map(|requested| header_validation::check_version(headers, &requested)) {
        Some(Err(mismatch)) => mismatch,
        _ => error,
    }
}

fn rejected(id: Option<&RequestId>, error: &RpcError) -> Reply {
    Reply::Rejected(error.kind.clone(), error_response(id, error))
}
