//! JSON-RPC batches: several messages in one array, in the first two revisions only.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::buffer_budget::BufferReservation;
use super::client_requests::pending_requests::ReceivedResponse;
use super::dispatch;
use super::error::RpcError;
use super::jsonrpc::{Message, Request, error_response};
use super::method::Method;
use super::request_context::Channel;
use super::request_meta::RequestKind;
use super::response_stream::ResponseStream;
use super::server::Server;
use super::sessions::session::Session;

/// Maximum number of messages in a batch.
const MAX_MESSAGES: usize = 100;

/// Returns the error for a batch in a revision without batches.
pub(crate) fn unknown() -> RpcError {
    RpcError::invalid_request("batches belong to sessions of revision 2025-03-26; send one message at a time")
}

/// Serves the messages of a batch concurrently. `None` when none of them gets a response.
///
/// # Errors
/// When the session's revision has no batches, or there are too many messages.
pub(crate) fn serve(
    server: &Arc<Server>,
    session: &Arc<Session>,
    messages: &[&RawValue],
    reservation: Option<BufferReservation>,
    channel: &Channel,
) -> Result<Option<ResponseStream>, RpcError> {
    if !session.revision.has_batches() {
        return Err(unknown());
    }
    if messages.len() > MAX_MESSAGES {
        return Err(RpcError::invalid_request(&format!("a batch has at most {MAX_MESSAGES} messages")));
    }
    let channel = &Channel { has_status: false, ..channel.clone() };
    // The messages share one reservation, which is released with the last of them.
    let reservation = reservation.map(Arc::new);
    let mut streams = Vec::new();
    let mut responses: Vec<Bytes> = Vec::new();
    for message in messages {
        match Message::parse(message.get().as_bytes()) {
            Ok(Message::Request(mut request)) => {
                request.reservation.clone_from(&reservation);
                let id = request.id.clone();
                match start_request(server, session, request, channel) {
                    Ok(response_stream) => streams.push(response_stream),
                    Err(error) => responses.push(error_response(Some(&id), &error)),
                }
            }
            Ok(Message::Notification(notification)) => session.handle_notification(&notification),
            Ok(Message::Response(Some(id), result)) => {
                let (caller, reservation) = (channel.caller.clone(), reservation.clone());
                session.pending_requests.complete(&id, ReceivedResponse { caller, result, reservation })
            }
            Ok(Message::Response(None, _)) => {}
            Err(malformed) => responses.push(error_response(malformed.id.as_ref(), &malformed.error)),
        }
    }
    let is_silent = streams.is_empty() && responses.is_empty();
    Ok((!is_silent).then(|| ResponseStream::batch(server, session.share.caller(), streams, responses)))
}

fn start_request(
    server: &Arc<Server>,
    session: &Arc<Session>,
    request: Request,
    channel: &Channel,
) -> Result<ResponseStream, RpcError> {
    if request.method == Method::Initialize {
        return Err(RpcError::invalid_request("`initialize` cannot be part of a batch"));
    }
    match RequestKind::parse(&request, server.records_traces())? {
        (RequestKind::Stateless(_), _) => Err(unknown()),
        (_, request_meta) => {
            let response_stream = dispatch::in_session(server, session, request, request_meta, channel)?;
            Ok(response_stream.detach(&session.tasks))
        }
    }
}
