//! One client on a duplex transport, stdio or HTTP+SSE: session and stateless requests, notifications that cancel.
//!
//! The connection is the session: `initialize` begins it, and requests that carry their own revision are served beside
//! it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::buffer_budget::{BufferReservation, BufferShare, FREE, buffer_cost};
use super::dispatch;
use super::error::RpcError;
use super::jsonrpc::{ClientError, Message, Request, error_response, without_bom};
use super::jsonrpc_batch;
use super::method::Method;
use super::oversized_message::{IdScanner, OversizedMessage};
use super::request_context::Channel;
use super::request_meta::RequestKind;
use super::response_stream::ResponseStream;
use super::server::Server;
use super::sessions::in_flight::InFlight;
use super::sessions::server_notifications::ServerNotifications;
use super::sessions::session::Session;
use crate::config::fixed_limits::REQUESTS_PER_SESSION;
use crate::host::Caller;
use crate::sandbox::LargeWork;

/// What to do about one message.
#[derive(Debug)]
pub enum DuplexReply {
    /// Nothing goes back.
    Nothing,
    /// This goes back at once.
    Message(Bytes),
    /// A request is being served.
    Stream(ResponseStream),
}

/// One client on a pair of pipes.
#[derive(Debug)]
pub struct DuplexSession {
    server: Arc<Server>,
    session: Option<Arc<Session>>,
    notifications: Option<ServerNotifications>,
    /// Whether the client has said that it is ready for server notifications.
    ready: bool,
    stateless: Arc<InFlight>,
    share: BufferShare,
    ping: Duration,
    channel: Channel,
}

impl DuplexSession {
    /// A client that has said nothing yet. It is pinged `ping` so often; never, when that is zero. `is_local`: it runs
    /// on this machine for certain.
    #[must_use]
    pub fn new(server: Arc<Server>, ping: Duration, caller: Caller, is_local: bool) -> Self {
        let share = server.buffers.share(&caller);
        let stateless = InFlight::new(REQUESTS_PER_SESSION, share.clone());
        let channel = Channel { caller, can_ask: true, is_local };
        let (session, notifications) = (None, None);
        Self { server, session, notifications, ready: false, stateless, share, ping, channel }
    }

    /// What its caller holds of what the server keeps for its clients.
    #[must_use]
    pub fn share(&self) -> &BufferShare {
        &self.share
    }

    /// Takes one message, or a batch.
    pub fn receive(&mut self, line: &[u8]) -> DuplexReply {
        self.receive_counted(line, None)
    }

    /// The same with what is held for it already. A large message is not served without.
    pub(crate) fn receive_counted(
        &mut self,
        line: &[u8],
        reservation: Option<BufferReservation>,
    ) -> DuplexReply {
        let line = without_bom(line);
        let reservation = match reservation {
            None if line.len() > FREE => self.share.reserve(buffer_cost(line.len())),
            reservation => reservation,
        };
        if line.len() > FREE && reservation.is_none() {
            let mut scanner = IdScanner::default();
            scanner.feed(line);
            let error = RpcError::no_room("the message");
            return DuplexReply::Message(self.unread(
                &scanner.finish(),
                "the server has no room for it",
                &error,
            ));
        }
        if let Some(messages) = Message::split(line) {
            return self
                .batch(&messages, reservation)
                .unwrap_or_else(|error| DuplexReply::Message(error_response(None, &error)));
        }
        match Message::parse(line) {
            Ok(Message::Request(mut request)) => {
                request.reservation = reservation.map(Arc::new);
                let id = request.id.clone();
                self.request(request)
                    .unwrap_or_else(|error| DuplexReply::Message(error_response(Some(&id), &error)))
            }
            Ok(Message::Notification(notification)) => {
                self.stateless.handle_notification(&notification);
                if let Some(session) = &self.session {
                    session.touch();
                    session.handle_notification(&notification);
                    self.ready |= notification.method == "notifications/initialized";
                }
                DuplexReply::Nothing
            }
            Ok(Message::Response(id, answered)) => {
                if let (Some(session), Some(id)) = (&self.session, id) {
                    session.touch();
                    session.pending_requests.complete(&id, answered, reservation.map(Arc::new));
                }
                DuplexReply::Nothing
            }
            Err(malformed) => DuplexReply::Message(error_response(malformed.id.as_ref(), &malformed.error)),
        }
    }

    /// The next server notification or ping; `None` when the client no longer answers pings. Can be dropped and
    /// called again without losing any.
    pub async fn next_notification(&mut self) -> Option<Bytes> {
        match &mut self.notifications {
            Some(notifications) if self.ready => notifications.next().await.ok(),
            _ => std::future::pending().await,
        }
    }

    /// The answer to a message that is longer than one may be. A question of ours that it would have answered is given
    /// up: the client believes that it has.
    pub(crate) fn too_long(&self, skimmed: &OversizedMessage, most: usize) -> Bytes {
        let why = format!("longer than {} KiB (limit `message_kib`)", most >> 10);
        let error = RpcError::invalid_request(&format!("the message is {why}"));
        self.unread(skimmed, &format!("it is {why}"), &error)
    }

    /// The answer to a message that is not read, and what a guest hears that waits for it.
    fn unread(&self, skimmed: &OversizedMessage, why: &str, error: &RpcError) -> Bytes {
        if let (OversizedMessage::Response(id), Some(session)) = (skimmed, &self.session) {
            let message = format!("the client's answer cannot be used: {why}");
            session.pending_requests.complete(id, Err(ClientError { code: -32603, message }), None);
        }
        let id = if let OversizedMessage::Request(id) = skimmed { Some(id) } else { None };
        error_response(id, error)
    }

    /// Where its messages are read, if they are large.
    pub(crate) fn reading(&self) -> Arc<LargeWork> {
        Arc::clone(&self.server.reading)
    }

    /// Cancelled when the server is to end.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.server.stopping.clone()
    }

    /// How long requests may still have to wait because the server has just begun.
    #[must_use]
    pub fn startup_wait(&self) -> Duration {
        self.server.startup_wait()
    }

    fn batch(
        &self,
        messages: &[&RawValue],
        reservation: Option<BufferReservation>,
    ) -> Result<DuplexReply, RpcError> {
        let session = self.session.as_ref().ok_or_else(jsonrpc_batch::unknown)?;
        let response_stream =
            jsonrpc_batch::serve(&self.server, session, messages, reservation, &self.channel)?;
        Ok(response_stream.map_or(DuplexReply::Nothing, DuplexReply::Stream))
    }

    fn request(&mut self, request: Request) -> Result<DuplexReply, RpcError> {
        let (kind, request_meta) = RequestKind::parse(&request)?;
        match kind {
            RequestKind::Stateless(stateless_meta) => {
                let (view, said) = (self.server.catalog_view(), (stateless_meta, request_meta));
                dispatch::stateless(&self.server, view, request, said, Some(&self.stateless), &self.channel)
                    .map(DuplexReply::Stream)
            }
            RequestKind::Initialize if self.session.is_none() => {
                let (session, reply) = dispatch::initialize(&self.server, &request, &self.channel)?;
                let session = Arc::new(session);
                let changes = self.server.catalog.changes();
                self.notifications = Some(ServerNotifications::new(&session, changes, self.ping));
                self.session = Some(session);
                Ok(DuplexReply::Message(reply))
            }
            RequestKind::Initialize | RequestKind::Session => {
                // A client that goes on without saying so is ready too.
                self.ready |= self.session.is_some() && request.method != Method::Ping;
                let session = self.session.as_ref().ok_or_else(|| {
                    RpcError::invalid_params(
                        "send `initialize` first, or say the protocol version in `_meta`",
                    )
                })?;
                dispatch::in_session(&self.server, session, request, request_meta, &self.channel)
                    .map(DuplexReply::Stream)
            }
        }
    }
}

impl Drop for DuplexSession {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            session.end();
        }
    }
}
