//! Several messages as one (JSON-RPC batches): part of the first two revisions, gone since.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::buffers::Held;
use super::context::Via;
use super::dispatch;
use super::era::Era;
use super::error::RpcError;
use super::exchange::Exchange;
use super::message::{Message, Request, error_response};
use super::method::Method;
use super::server::Server;
use super::sessions::session::Session;

/// Messages in one batch.
const MOST: usize = 100;

/// The error for a batch outside the revisions that have them.
pub(super) fn unknown() -> RpcError {
    RpcError::invalid_request("batches belong to sessions of revision 2025-03-26; send one message at a time")
}

/// Serves the messages of a batch side by side. `None` when nothing in it wants an answer.
///
/// # Errors
/// When the session's revision has no batches, or there are too many messages.
pub(super) fn serve(
    server: &Arc<Server>,
    session: &Arc<Session>,
    messages: &[&RawValue],
    held: Option<Held>,
    via: &Via,
) -> Result<Option<Exchange>, RpcError> {
    if !session.revision.has_batches() {
        return Err(unknown());
    }
    if messages.len() > MOST {
        return Err(RpcError::invalid_request(&format!("a batch has at most {MOST} messages")));
    }
    // The messages of a batch are held for together: what is held is given back with the last of them.
    let held = held.map(Arc::new);
    let mut exchanges = Vec::new();
    let mut answers: Vec<Bytes> = Vec::new();
    for message in messages {
        match Message::parse(message.get().as_bytes()) {
            Ok(Message::Request(mut request)) => {
                request.held.clone_from(&held);
                let id = request.id.clone();
                match begin(server, session, request, via) {
                    Ok(exchange) => exchanges.push(exchange),
                    Err(error) => answers.push(error_response(Some(&id), &error)),
                }
            }
            Ok(Message::Notification(notification)) => session.notified(&notification),
            Ok(Message::Response(Some(id), answered)) => session.asked.settle(&id, answered, held.clone()),
            Ok(Message::Response(None, _)) => {}
            Err(malformed) => answers.push(error_response(malformed.id.as_ref(), &malformed.error)),
        }
    }
    let silent = exchanges.is_empty() && answers.is_empty();
    Ok((!silent).then(|| Exchange::batch(server, session.share.caller(), exchanges, answers)))
}

fn begin(
    server: &Arc<Server>,
    session: &Arc<Session>,
    request: Request,
    via: &Via,
) -> Result<Exchange, RpcError> {
    if request.method == Method::Initialize {
        return Err(RpcError::invalid_request("`initialize` cannot be part of a batch"));
    }
    match Era::of(&request)? {
        (Era::Stateless(_), _) => Err(unknown()),
        (_, carried) => {
            let exchange = dispatch::in_session(server, session, request, carried, via)?;
            Ok(exchange.detach(&session.tasks))
        }
    }
}
