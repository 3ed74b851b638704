//! One client on a duplex transport (stdio or HTTP+SSE): requests of its session, stateless requests, and notifications
//! that cancel requests.
//!
//! The connection has one session, which begins with `initialize`. Stateless requests are served on the same
//! connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::buffer_budget::{BufferReservation, BufferShare, UNCOUNTED_BYTES, buffer_cost};
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
use crate::call_env::Caller;
use crate::config::fixed_limits::REQUESTS_PER_SESSION;
use crate::sandbox::LargeWork;

/// The reply to one message.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a value lives for one message, and a box would be an allocation each"
)]
pub enum DuplexReply {
    /// No reply.
    Nothing,
    /// A message to send at once.
    Message(Bytes),
    /// The response stream of a running request.
    Stream(ResponseStream),
}

/// One client on a duplex transport.
#[derive(Debug)]
pub struct DuplexSession {
    server: Arc<Server>,
    session: Option<Arc<Session>>,
    notifications: Option<ServerNotifications>,
    /// Whether the client is ready for server notifications.
    ready: bool,
    stateless: Arc<InFlight>,
    share: BufferShare,
    ping: Duration,
    channel: Channel,
    /// The caller that sent the current message, if each message is authenticated. `channel` has the caller that opened
    /// the connection.
    sender: Option<Caller>,
}

impl DuplexSession {
    /// Makes the state for a client that has sent nothing yet. `ping` is the period of pings; zero means no pings.
    /// `is_local` says whether the client is certain to run on this machine.
    #[must_use]
    pub fn new(server: Arc<Server>, ping: Duration, caller: Caller, is_local: bool) -> Self {
        let share = server.buffers.share(&caller);
        let stateless = InFlight::new(REQUESTS_PER_SESSION, share.clone());
        let channel = Channel { caller, can_send_requests: true, has_status: false, is_local, trace: None };
        let (session, notifications) = (None, None);
        let sender = None;
        Self { server, session, notifications, ready: false, stateless, share, ping, channel, sender }
    }

    /// The caller's share of the buffer budget.
    #[must_use]
    pub fn share(&self) -> &BufferShare {
        &self.share
    }

    /// Handles one message, or a batch.
    pub fn receive(&mut self, line: &[u8]) -> DuplexReply {
        self.receive_counted(line, None, None)
    }

    /// Like [`Self::receive`], with a reservation for the message. `sender` is the caller that sent the message, if
    /// that may differ from the one that opened the connection. A large message without a reservation gets one here, or
    /// is rejected.
    pub(crate) fn receive_counted(
        &mut self,
        line: &[u8],
        reservation: Option<BufferReservation>,
        sender: Option<Caller>,
    ) -> DuplexReply {
        self.sender = sender;
        let line = without_bom(line);
        let reservation = match reservation {
            None if line.len() > UNCOUNTED_BYTES => self.share.reserve(buffer_cost(line.len())),
            reservation => reservation,
        };
        if line.len() > UNCOUNTED_BYTES && reservation.is_none() {
            let mut scanner = IdScanner::default();
            scanner.feed(line);
            let error = RpcError::overloaded("the message");
            return DuplexReply::Message(self.reject(
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
            Ok(Message::Response(id, result)) => {
                if let (Some(session), Some(id)) = (&self.session, id) {
                    session.touch();
                    session.complete(&id, &self.channel_for(None).caller, result, reservation);
                }
                DuplexReply::Nothing
            }
            Err(malformed) => DuplexReply::Message(error_response(malformed.id.as_ref(), &malformed.error)),
        }
    }

    /// Returns the next server notification or ping; `None` when the client no longer responds to pings. Dropping the
    /// future loses no message.
    pub async fn next_notification(&mut self) -> Option<Bytes> {
        match &mut self.notifications {
            Some(notifications) if self.ready => notifications.next().await.ok(),
            _ => std::future::pending().await,
        }
    }

    /// Returns the error for a message that is longer than `max_bytes`. If the message is a response, the waiting
    /// client request ends with an error, because the client will not respond a second time.
    pub(crate) fn too_long(&self, message: &OversizedMessage, max_bytes: usize) -> Bytes {
        let why = format!("longer than {} KiB (limit `message_kib`)", max_bytes >> 10);
        let error = RpcError::invalid_request(&format!("the message is {why}"));
        self.reject(message, &format!("it is {why}"), &error)
    }

    /// Returns the error for a message that is rejected unparsed. If the message is a response, the guest that waits
    /// for it gets an error with `why`.
    fn reject(&self, message: &OversizedMessage, why: &str, error: &RpcError) -> Bytes {
        if let (OversizedMessage::Response(id), Some(session)) = (message, &self.session) {
            let message = format!("the client's response cannot be used: {why}");
            let result = Err(ClientError { code: -32603, message });
            session.complete(id, &self.channel_for(None).caller, result, None);
        }
        let id = if let OversizedMessage::Request(id) = message { Some(id) } else { None };
        error_response(id, error)
    }

    /// The permits for reading large messages.
    pub(crate) fn reading(&self) -> Arc<LargeWork> {
        Arc::clone(&self.server.reading)
    }

    /// Cancelled when the server begins to stop.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.server.stopping.clone()
    }

    /// How long running requests may go on when the server stops; `None` while it does not stop.
    #[must_use]
    pub fn shutdown_time(&self) -> Option<Duration> {
        self.server.ending.is_cancelled().then_some(self.server.settings.shutdown)
    }

    /// How long requests may still have to wait for the initial load.
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
        let channel = self.channel_for(None);
        let response_stream = jsonrpc_batch::serve(&self.server, session, messages, reservation, &channel)?;
        Ok(response_stream.map_or(DuplexReply::Nothing, DuplexReply::Stream))
    }

    /// The channel of the current message. A request that waits for changes belongs to the caller that opened the
    /// connection; it ends with that caller's credentials.
    fn channel_for(&self, method: Option<&Method>) -> Channel {
        let sender = self.sender.clone().filter(|_| method != Some(&Method::Listen));
        Channel { caller: sender.unwrap_or_else(|| self.channel.caller.clone()), ..self.channel.clone() }
    }

    fn request(&mut self, request: Request) -> Result<DuplexReply, RpcError> {
        let (kind, request_meta) = RequestKind::parse(&request, self.server.records_traces())?;
        let channel = self.channel_for(Some(&request.method));
        match kind {
            RequestKind::Stateless(stateless_meta) => {
                let (view, meta) =
                    (self.server.catalog_view(&channel.caller), (stateless_meta, request_meta));
                dispatch::stateless(&self.server, view, request, meta, Some(&self.stateless), &channel)
                    .map(DuplexReply::Stream)
            }
            RequestKind::Initialize if self.session.is_none() => {
                let (session, reply) =
                    dispatch::initialize(&self.server, &request, &request_meta, &self.channel)?;
                let session = Arc::new(session);
                let changes = self.server.changes(&self.channel.caller);
                self.notifications = Some(ServerNotifications::new(&session, changes, self.ping));
                self.session = Some(session);
                Ok(DuplexReply::Message(reply))
            }
            RequestKind::Initialize | RequestKind::Session => {
                // A client that sends requests without `notifications/initialized` is ready too.
                self.ready |= self.session.is_some() && request.method != Method::Ping;
                let session = self.session.as_ref().ok_or_else(|| {
                    RpcError::invalid_params(
                        "send `initialize` first, or say the protocol version in `_meta`",
                    )
                })?;
                dispatch::in_session(&self.server, session, request, request_meta, &channel)
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
