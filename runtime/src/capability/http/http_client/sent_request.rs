//! The resource `sent-request`: first the request is being sent, then its response is read, and at last it has ended.
//!
//! The request and its connection are tasks that end with the handle, so several requests progress while the guest
//! waits for one of them, or computes. Up to [`READ_AHEAD`] bytes of a response's body are read ahead, for two reasons:
//! `wait` must know whether a piece has come, and an interpreted guest should get many small pieces in few calls. An
//! ended request keeps only the bytes that the guest has not read yet, because an instance with requests under way is
//! not reused.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::Body as _;
use tokio::sync::mpsc;
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::{Error, WasiBody};

use super::failure;
use super::parsed_request::{FIELD_SIZE, MAX_PIECE, PieceSender, READ_AHEAD};
use crate::bindings::http::plugport::plugin::http_client::{self as wit, Failure};
use crate::capability::http::host::OutgoingRequest;
use crate::capability::http::policy::Target;

/// From this many buffered bytes on, no more of a body is read ahead. One more frame may come on top; a frame is at
/// most as long as the header fields of a response may be.
const READ_AHEAD_STOP: usize = READ_AHEAD / 2;

/// A request that a guest has begun to send.
pub struct SentRequest {
    target: Target,
    /// `None` if the body is complete: the guest gave it as a whole, or has finished it.
    pieces: Option<PieceSender>,
    state: SentRequestState,
    /// What the host keeps for the request until the response has ended, in bytes.
    size: usize,
}

/// What a sent request waits for, or why it has failed.
enum SentRequestState {
    Sending(AbortOnDropJoinHandle<Result<OpenResponse, Error>>),
    Receiving(Box<IncomingResponse>),
    Failed(Failure),
}

/// A response whose head has come and whose body is unread, and the task that runs its connection.
struct OpenResponse {
    response: Response<WasiBody>,
    connection: AbortOnDropJoinHandle<()>,
}

/// A response whose head has come.
struct IncomingResponse {
    response: wit::Response,
    /// Whether the guest has read the head.
    is_head_read: bool,
    /// Bytes of the body that are read ahead.
    piece: Vec<u8>,
    /// `None` if the body has ended or failed.
    body: Option<OpenBody>,
    /// Why the body broke off. The guest gets this failure after it has read the last piece.
    failure: Option<Failure>,
}

/// A body that has not ended, and the task that runs its connection.
struct OpenBody {
    body: WasiBody,
    _connection: AbortOnDropJoinHandle<()>,
}

/// Permission to write the next piece of a request's body.
pub(super) struct PiecePermit(mpsc::Sender<Bytes>);

impl PiecePermit {
    /// Sends a piece to the connection. Returns `false` if the connection accepts no more pieces.
    pub(super) async fn send(self, piece: Vec<u8>) -> bool {
        if piece.is_empty() {
            return !self.0.is_closed();
        }
        self.0.send(Bytes::from(piece)).await.is_ok()
    }
}

impl SentRequest {
    /// Begins to send a checked request.
    pub(super) fn new(
        target: Target,
        checked: OutgoingRequest,
        pieces: Option<PieceSender>,
        size: usize,
    ) -> Self {
        let sending = spawn(async move {
            let (response, connection) = checked.run().await?;
            let connection = spawn(async move {
                // The error goes to the reader of the body.
                let _ = Box::into_pin(connection).await;
            });
            Ok::<_, Error>(OpenResponse { response, connection })
        });
        Self { target, pieces, state: SentRequestState::Sending(sending), size }
    }

    /// What the host keeps behind the handle, bytes.
    pub(in crate::capability::http) fn size(&self) -> usize {
        match &self.state {
            SentRequestState::Sending(_) => self.size,
            // A server may respond before it has read the request, which is then still kept.
            SentRequestState::Receiving(incoming) if incoming.body.is_some() => {
                incoming.size() + self.size.saturating_sub(READ_AHEAD)
            }
            SentRequestState::Receiving(incoming) => incoming.size(),
            SentRequestState::Failed(_) => 0,
        }
    }

    /// Checks that the guest may write a piece of this length, and counts it.
    pub(super) fn reserve_piece(&mut self, length: usize) -> Result<PiecePermit, Failure> {
        if length > MAX_PIECE {
            return Err(failure::invalid("a piece of its body has more than 64 KiB"));
        }
        let pieces = self.pieces.as_mut();
        let pieces = pieces.ok_or_else(|| failure::invalid("its body is complete"))?;
        if let Some(left) = &mut pieces.left {
            let after = left.checked_sub(length as u64);
            *left = after.ok_or_else(|| failure::invalid("its body is longer than was said"))?;
        }
        Ok(PiecePermit(pieces.sender.clone()))
    }

    /// Ends a body that the guest writes in pieces. A request whose body is shorter than declared fails.
    pub(super) fn finish(&mut self) {
        let Some(pieces) = self.pieces.take() else { return };
        // A connection that takes no more pieces has its own reason, or a response that came early.
        let is_short = pieces.left.is_some_and(|left| left > 0) && !pieces.sender.is_closed();
        if is_short && matches!(self.state, SentRequestState::Sending(_)) {
            self.state = SentRequestState::Failed(failure::invalid("its body is shorter than was said"));
        }
    }

    /// Ready when there is something that the guest has not read yet: the head of the response; after that, a piece of
    /// the body, its end, or a failure.
    pub(super) fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_response(context));
        match &mut self.state {
            SentRequestState::Receiving(incoming) if incoming.is_head_read => {
                incoming.poll_piece(context, &self.target)
            }
            _ => Poll::Ready(()),
        }
    }

    /// Ready when the head of the response has come, or the request has failed.
    pub(super) fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let SentRequestState::Sending(sending) = &mut self.state {
            self.state = match ready!(Pin::new(sending).poll(context)) {
                Ok(open) => SentRequestState::Receiving(Box::new(IncomingResponse::new(open))),
                Err(error) => SentRequestState::Failed(failure::of(&error, &self.target)),
            };
        }
        Poll::Ready(())
    }

    /// Ready when a piece of the body has come, or the body has ended.
    pub(super) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_response(context));
        match &mut self.state {
            SentRequestState::Receiving(incoming) => incoming.poll_piece(context, &self.target),
            SentRequestState::Sending(_) | SentRequestState::Failed(_) => Poll::Ready(()),
        }
    }

    /// The head of the response.
    pub(super) fn response(&mut self) -> Result<wit::Response, Failure> {
        self.incoming().map(|incoming| incoming.response.clone())
    }

    /// Takes the bytes that are read ahead; empty at the end of the body.
    pub(super) fn piece(&mut self) -> Result<Vec<u8>, Failure> {
        let incoming = self.incoming()?;
        let piece = std::mem::take(&mut incoming.piece);
        match &incoming.failure {
            Some(failure) if piece.is_empty() => Err(failure.clone()),
            _ => Ok(piece),
        }
    }

    fn incoming(&mut self) -> Result<&mut IncomingResponse, Failure> {
        match &mut self.state {
            SentRequestState::Receiving(incoming) => {
                incoming.is_head_read = true;
                Ok(incoming)
            }
            SentRequestState::Failed(failure) => Err(failure.clone()),
            SentRequestState::Sending(_) => Err(failure::invalid("it has no response yet")),
        }
    }
}

impl IncomingResponse {
    fn new(open: OpenResponse) -> Self {
        let OpenResponse { response, connection } = open;
        let (parts, body) = response.into_parts();
        let response = wit::Response { status: parts.status.as_u16(), headers: entries(&parts.headers) };
        let body = Some(OpenBody { body, _connection: connection });
        Self { response, is_head_read: false, piece: Vec::new(), body, failure: None }
    }

    fn size(&self) -> usize {
        let fields = self.response.headers.iter();
        let fields: usize = fields.map(|(name, value)| FIELD_SIZE + name.len() + value.len()).sum();
        fields + if self.body.is_some() { READ_AHEAD } else { self.piece.capacity() }
    }

    /// Reads ahead what has come. Ready when that is at least one byte, or the end.
    fn poll_piece(&mut self, context: &mut Context<'_>, target: &Target) -> Poll<()> {
        while let Some(open) = &mut self.body
            && self.piece.len() < READ_AHEAD_STOP
        {
            match Pin::new(&mut open.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    // Any other frame has trailers, which guests cannot read.
                    if let Some(data) = frame.data_ref() {
                        self.piece.extend_from_slice(data);
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.failure = Some(failure::of(&error, target));
                    self.body = None;
                }
                Poll::Ready(None) => self.body = None,
                Poll::Pending if self.piece.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(())
    }
}

/// The header fields of a response. A value that is not UTF-8 is decoded as Latin-1, as browsers do.
fn entries(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &[u8]| match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().copied().map(char::from).collect(),
    };
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn a_header_field_that_is_no_utf_8_is_read_as_latin_1() {
        let mut headers = HeaderMap::new();
        headers.append("x-a", HeaderValue::from_bytes(b"\xfcber").unwrap());
        headers.append("x-a", HeaderValue::from_bytes("über".as_bytes()).unwrap());
        let field = || ("x-a".to_owned(), "über".to_owned());
        assert_eq!(entries(&headers), [field(), field()]);
    }
}
