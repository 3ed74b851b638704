//! The handle of a request: first it is being sent, then its response is read, and at last it has ended.
//!
//! The request and the connection are tasks that end with the handle, so several requests go on while the guest waits
//! for one, or computes. A response's body is read ahead by at most [`READ_AHEAD`] bytes: only so can `wait` know of a
//! piece, and a guest in an interpreter makes few calls for many small pieces. What has ended keeps nothing but what
//! the guest has yet to read, since an instance with requests under way is not reused.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::Body as _;
use tokio::sync::mpsc;
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::{Error, WasiBody};

use super::failure;
use super::outgoing::{FIELD_SIZE, MAX_PIECE, PieceSender, READ_AHEAD};
use crate::bindings::http::plugport::plugin::http_client::{self as wit, Failure};
use crate::capability::http::host::OutgoingRequest;
use crate::capability::http::policy::Target;

/// Bytes from which on no more of a body is read ahead. A frame of the connection is at most as long as the header
/// fields of a response may be.
const ENOUGH: usize = READ_AHEAD / 2;

/// A request that a guest has begun to send.
pub struct SentRequest {
    target: Target,
    /// `None`: the body is complete, or the guest has ended it.
    pieces: Option<PieceSender>,
    progress: Progress,
    /// What the host keeps for it while it is sent, bytes.
    size: usize,
}

enum Progress {
    Sending(AbortOnDropJoinHandle<Result<Head, Error>>),
    Receiving(Box<Received>),
    Failed(Failure),
}

/// What a response begins with.
struct Head {
    response: Response<WasiBody>,
    connection: AbortOnDropJoinHandle<()>,
}

/// A response that has begun.
struct Received {
    response: wit::Response,
    /// Whether the guest knows that it has begun.
    is_known: bool,
    /// Read ahead.
    piece: Vec<u8>,
    /// `None`: it has ended, well or not.
    body: Option<OpenBody>,
    /// Why it broke off; for the guest once it has read the last piece.
    failure: Option<Failure>,
}

/// A body of which more may come, and the connection, which has to be driven.
struct OpenBody {
    body: WasiBody,
    _connection: AbortOnDropJoinHandle<()>,
}

/// Room for the next piece of a request's body, once it is there.
pub(super) struct PieceRoom(mpsc::Sender<Bytes>);

impl PieceRoom {
    /// `false`: the host takes no more.
    pub(super) async fn hand_over(self, piece: Vec<u8>) -> bool {
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
                // Who reads the body gets the error.
                let _ = Box::into_pin(connection).await;
            });
            Ok::<_, Error>(Head { response, connection })
        });
        Self { target, pieces, progress: Progress::Sending(sending), size }
    }

    /// What the host keeps behind the handle, bytes.
    pub(in crate::capability::http) fn size(&self) -> usize {
        match &self.progress {
            Progress::Sending(_) => self.size,
            Progress::Receiving(received) => received.size(),
            Progress::Failed(_) => 0,
        }
    }

    /// Takes the room for a piece of this length.
    pub(super) fn take_room(&mut self, length: usize) -> Result<PieceRoom, Failure> {
        if length > MAX_PIECE {
            return Err(failure::invalid("a piece of its body has more than 64 KiB"));
        }
        let pieces = self.pieces.as_mut();
        let pieces = pieces.ok_or_else(|| failure::invalid("its body is complete"))?;
        if let Some(left) = &mut pieces.left {
            let after = left.checked_sub(length as u64);
            *left = after.ok_or_else(|| failure::invalid("its body is longer than was said"))?;
        }
        Ok(PieceRoom(pieces.sender.clone()))
    }

    /// Ends a body of pieces.
    pub(super) fn finish(&mut self) {
        self.pieces = None;
    }

    /// Ready when there is something that the guest does not know: the response, or else a piece of its body, its end,
    /// or a failure.
    pub(super) fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_response(context));
        match &mut self.progress {
            Progress::Receiving(received) if received.is_known => received.poll_piece(context, &self.target),
            _ => Poll::Ready(()),
        }
    }

    /// Ready when the response has begun, or failed.
    pub(super) fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Progress::Sending(sending) = &mut self.progress {
            self.progress = match ready!(Pin::new(sending).poll(context)) {
                Ok(head) => Progress::Receiving(Box::new(Received::new(head))),
                Err(error) => Progress::Failed(failure::of(&error, &self.target)),
            };
        }
        Poll::Ready(())
    }

    /// Ready when a piece of the body is there, or its end.
    pub(super) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_response(context));
        match &mut self.progress {
            Progress::Receiving(received) => received.poll_piece(context, &self.target),
            Progress::Sending(_) | Progress::Failed(_) => Poll::Ready(()),
        }
    }

    /// The response that has begun.
    pub(super) fn response(&mut self) -> Result<wit::Response, Failure> {
        self.received().map(|received| received.response.clone())
    }

    /// What has been read ahead; empty at the end.
    pub(super) fn piece(&mut self) -> Result<Vec<u8>, Failure> {
        let received = self.received()?;
        let piece = std::mem::take(&mut received.piece);
        match &received.failure {
            Some(failure) if piece.is_empty() => Err(failure.clone()),
            _ => Ok(piece),
        }
    }

    fn received(&mut self) -> Result<&mut Received, Failure> {
        match &mut self.progress {
            Progress::Receiving(received) => {
                received.is_known = true;
                Ok(received)
            }
            Progress::Failed(failure) => Err(failure.clone()),
            Progress::Sending(_) => Err(failure::invalid("it has no response yet")),
        }
    }
}

impl Received {
    fn new(head: Head) -> Self {
        let Head { response, connection } = head;
        let (parts, body) = response.into_parts();
        let response = wit::Response { status: parts.status.as_u16(), headers: entries(&parts.headers) };
        let body = Some(OpenBody { body, _connection: connection });
        Self { response, is_known: false, piece: Vec::new(), body, failure: None }
    }

    fn size(&self) -> usize {
        let fields = self.response.headers.iter();
        let fields: usize = fields.map(|(name, value)| FIELD_SIZE + name.len() + value.len()).sum();
        fields + if self.body.is_some() { READ_AHEAD } else { self.piece.capacity() }
    }

    /// Reads ahead what is there. Ready when that is something, or the end.
    fn poll_piece(&mut self, context: &mut Context<'_>, target: &Target) -> Poll<()> {
        while let Some(open) = &mut self.body
            && self.piece.len() < ENOUGH
        {
            match Pin::new(&mut open.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    // Anything else is a trailer, which nobody reads.
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

/// The header fields of a response. Bytes that are no UTF-8 become the characters of Latin-1, as clients in browsers
/// read them.
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
