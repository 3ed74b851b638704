//! The rules of stdio: one client, both eras, notifications that cancel.
//!
//! The process is the session: `initialize` begins it, and requests that carry their own revision are served beside it.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;

use super::dispatch;
use super::era::Era;
use super::error::RpcError;
use super::exchange::Exchange;
use super::in_flight::InFlight;
use super::message::{Id, Message, Notification, Request, error_response, response};
use super::server::Server;
use super::session::Session;

/// What to do about one line.
#[derive(Debug)]
pub enum Received {
    /// Nothing goes back.
    Nothing,
    /// This goes back at once.
    Reply(Bytes),
    /// A request is being served.
    Exchange(Exchange),
}

/// One client on a pipe.
#[derive(Debug)]
pub struct Connection {
    server: Arc<Server>,
    session: Option<Arc<Session>>,
    stateless: Arc<InFlight>,
}

impl Connection {
    /// A client that has said nothing yet.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        let stateless = InFlight::new(server.settings.requests_per_session);
        Self { server, session: None, stateless }
    }

    /// Takes one line.
    pub fn receive(&mut self, line: &[u8]) -> Received {
        match Message::parse(line) {
            Ok(Message::Request(request)) => {
                let id = request.id.clone();
                self.request(request)
                    .unwrap_or_else(|error| Received::Reply(error_response(Some(&id), &error)))
            }
            Ok(Message::Notification(notification)) => {
                cancel(&self.stateless, &notification);
                if let Some(session) = &self.session {
                    cancel(&session.in_flight, &notification);
                }
                Received::Nothing
            }
            Ok(Message::Response) => Received::Nothing,
            Err(malformed) => Received::Reply(error_response(malformed.id.as_ref(), &malformed.error)),
        }
    }

    /// The answer to a line that is longer than one may be.
    #[must_use]
    pub fn too_long(&self, most: usize) -> Bytes {
        error_response(None, &RpcError::invalid_request(&format!("the message is longer than {most} bytes")))
    }

    fn request(&mut self, request: Request) -> Result<Received, RpcError> {
        let (era, carried) = Era::of(&request)?;
        match era {
            Era::Stateless(claims) => {
                let said = (claims, carried);
                dispatch::stateless(&self.server, request, said, Some(&self.stateless))
                    .map(Received::Exchange)
            }
            Era::Initialize if self.session.is_none() => {
                let (session, reply) = dispatch::initialize(&self.server, &request)?;
                self.session = Some(Arc::new(session));
                Ok(Received::Reply(response(&request.id, reply.as_json())))
            }
            Era::Initialize | Era::Session => {
                let session = self.session.as_ref().ok_or_else(|| {
                    RpcError::invalid_params(
                        "send `initialize` first, or say the protocol version in `_meta`",
                    )
                })?;
                dispatch::in_session(&self.server, session, request, carried).map(Received::Exchange)
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams {
    request_id: IdParam,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum IdParam {
    Number(i64),
    Text(String),
}

/// Acts on `notifications/cancelled`; every other notification from a client is for information.
pub(super) fn cancel(in_flight: &InFlight, notification: &Notification) {
    if notification.method != "notifications/cancelled" {
        return;
    }
    let params =
        notification.params.as_deref().map(|params| serde_json::from_str::<CancelledParams>(params.get()));
    if let Some(Ok(params)) = params {
        in_flight.cancel(&match params.request_id {
            IdParam::Number(number) => Id::Number(number),
            IdParam::Text(text) => Id::Text(text),
        });
    }
}
