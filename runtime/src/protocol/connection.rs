//! The rules of a client on a pair of pipes, be they stdio or HTTP+SSE: both eras, notifications that cancel.
//!
//! The connection is the session: `initialize` begins it, and requests that carry their own revision are served beside
//! it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::asking::asked::ClientError;
use super::batch;
use super::buffers::{FREE, Held, Share};
use super::context::Via;
use super::dispatch;
use super::era::Era;
use super::error::RpcError;
use super::exchange::Exchange;
use super::message::{Message, Notification, Request, error_response, read_id, response, without_bom};
use super::method::Method;
use super::server::Server;
use super::sessions::in_flight::InFlight;
use super::sessions::presence::Presence;
use super::sessions::session::Session;
use super::skim::{Skim, Skimmed};
use crate::host::Caller;
use crate::sandbox::Offload;

/// What to do about one message.
#[derive(Debug)]
pub enum Received {
    /// Nothing goes back.
    Nothing,
    /// This goes back at once.
    Reply(Bytes),
    /// A request is being served.
    Exchange(Exchange),
}

/// One client on a pair of pipes.
#[derive(Debug)]
pub struct Connection {
    server: Arc<Server>,
    session: Option<Arc<Session>>,
    presence: Option<Presence>,
    /// Whether the client has said that it is ready for what comes unasked.
    ready: bool,
    stateless: Arc<InFlight>,
    share: Share,
    ping: Duration,
    via: Via,
    near: bool,
}

impl Connection {
    /// A client that has said nothing yet. It is pinged `ping` so often; never, when that is zero. `near`: it runs on this
    /// machine for certain.
    #[must_use]
    pub fn new(server: Arc<Server>, ping: Duration, caller: Caller, near: bool) -> Self {
        let share = server.buffers.share(&caller);
        let stateless = InFlight::new(server.settings.requests_per_session, share.clone());
        let via = Via { caller, can_ask: true };
        Self { server, session: None, presence: None, ready: false, stateless, share, ping, via, near }
    }

    /// What its caller holds of what the server keeps for its clients.
    #[must_use]
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// Takes one message, or a batch.
    pub fn receive(&mut self, line: &[u8]) -> Received {
        self.take(line, None)
    }

    /// The same with what is held for it already. A large message is not served without.
    pub(crate) fn take(&mut self, line: &[u8], held: Option<Held>) -> Received {
        let line = without_bom(line);
        let held = match held {
            None if line.len() > FREE => self.share.hold(weight(line.len())),
            held => held,
        };
        if line.len() > FREE && held.is_none() {
            let mut skim = Skim::default();
            skim.pass(line);
            let error = RpcError::no_room("the message");
            return Received::Reply(self.unread(&skim.end(), "the server has no room for it", &error));
        }
        if let Some(messages) = Message::split(line) {
            return self
                .batch(&messages, held)
                .unwrap_or_else(|error| Received::Reply(error_response(None, &error)));
        }
        match Message::parse(line) {
            Ok(Message::Request(mut request)) => {
                request.held = held.map(Arc::new);
                let id = request.id.clone();
                self.request(request)
                    .unwrap_or_else(|error| Received::Reply(error_response(Some(&id), &error)))
            }
            Ok(Message::Notification(notification)) => {
                cancel(&self.stateless, &notification);
                if let Some(session) = &self.session {
                    session.touch();
                    session.notified(&notification);
                    self.ready |= notification.method == "notifications/initialized";
                }
                Received::Nothing
            }
            Ok(Message::Response(id, answered)) => {
                if let (Some(session), Some(id)) = (&self.session, id) {
                    session.touch();
                    session.asked.settle(&id, answered, held.map(Arc::new));
                }
                Received::Nothing
            }
            Err(malformed) => Received::Reply(error_response(malformed.id.as_ref(), &malformed.error)),
        }
    }

    /// The next message that goes to the client unasked; `None` when it no longer answers pings. Can be dropped and
    /// called again without losing any.
    pub async fn unasked(&mut self) -> Option<Bytes> {
        match &mut self.presence {
            Some(presence) if self.ready => presence.next().await.ok(),
            _ => std::future::pending().await,
        }
    }

    /// The answer to a message that is longer than one may be. A question of ours that it would have answered is given
    /// up: the client believes that it has.
    pub(crate) fn too_long(&self, skimmed: &Skimmed, most: usize) -> Bytes {
        let why = format!("longer than {} KiB (limit `body_kib`)", most >> 10);
        let error = RpcError::invalid_request(&format!("the message is {why}"));
        self.unread(skimmed, &format!("it is {why}"), &error)
    }

    /// The answer to a message that is not read, and what a guest hears that waits for it.
    fn unread(&self, skimmed: &Skimmed, why: &str, error: &RpcError) -> Bytes {
        if let (Skimmed::Response(id), Some(session)) = (skimmed, &self.session) {
            let message = format!("the client's answer cannot be used: {why}");
            session.asked.settle(id, Err(ClientError { code: -32603, message }), None);
        }
        let id = if let Skimmed::Request(id) = skimmed { Some(id) } else { None };
        error_response(id, error)
    }

    /// Where its messages are read, if they are large.
    pub(crate) fn reading(&self) -> Arc<Offload> {
        Arc::clone(&self.server.reading)
    }

    /// Cancelled when the server is to end.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.server.stopping.clone()
    }

    /// How long requests may still have to wait because the server has just begun.
    #[must_use]
    pub fn starting(&self) -> Duration {
        self.server.starting()
    }

    fn batch(&self, messages: &[&RawValue], held: Option<Held>) -> Result<Received, RpcError> {
        let session = self.session.as_ref().ok_or_else(batch::unknown)?;
        let exchange = batch::serve(&self.server, session, messages, held, &self.via)?;
        Ok(exchange.map_or(Received::Nothing, Received::Exchange))
    }

    fn request(&mut self, request: Request) -> Result<Received, RpcError> {
        let (era, carried) = Era::of(&request)?;
        match era {
            Era::Stateless(mut claims) => {
                claims.client.near = self.near;
                let said = (claims, carried);
                dispatch::stateless(&self.server, request, said, Some(&self.stateless), &self.via)
                    .map(Received::Exchange)
            }
            Era::Initialize if self.session.is_none() => {
                let (session, reply) =
                    dispatch::initialize(&self.server, &request, self.share.clone(), self.near)?;
                let session = Arc::new(session);
                let changes = self.server.catalog.changes();
                self.presence = Some(Presence::new(&session, changes, self.ping));
                self.session = Some(session);
                Ok(Received::Reply(response(&request.id, reply.as_json())))
            }
            Era::Initialize | Era::Session => {
                // A client that goes on without saying so is ready too.
                self.ready |= self.session.is_some() && request.method != Method::Ping;
                let session = self.session.as_ref().ok_or_else(|| {
                    RpcError::invalid_params(
                        "send `initialize` first, or say the protocol version in `_meta`",
                    )
                })?;
                dispatch::in_session(&self.server, session, request, carried, &self.via)
                    .map(Received::Exchange)
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            session.end();
        }
    }
}

/// What a message of so many bytes takes while it is served: as it came, and as a guest is given it.
pub(crate) fn weight(bytes: usize) -> usize {
    2 * bytes
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams<'a> {
    #[serde(borrow)]
    request_id: &'a RawValue,
}

/// Acts on `notifications/cancelled`; every other notification from a client is for information.
pub(super) fn cancel(in_flight: &InFlight, notification: &Notification) {
    if notification.method != "notifications/cancelled" {
        return;
    }
    let params = notification.params.as_deref().map(|params| serde_json::from_str(params.get()));
    if let Some(Ok(CancelledParams { request_id })) = params
        && let Ok(id) = read_id(request_id)
    {
        in_flight.cancel(&id);
    }
}
