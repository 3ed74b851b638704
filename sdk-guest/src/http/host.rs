//! Requests that the host sends.

use std::time::Duration;

use super::{Body, Failure, Head, Request};
use crate::bindings::http::http_client::{self, SentRequest};

/// The maximum of one write, bytes.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Sent(SentRequest);

pub(super) fn send(request: &Request, body: Body) -> Result<Sent, Failure> {
    let body = match body {
        Body::Whole => http_client::Body::Bytes(request.body.clone()),
        Body::Pieces(length) => http_client::Body::Pieces(length),
    };
    let ms = |step: Duration| u32::try_from(step.as_millis()).unwrap_or(u32::MAX).max(1);
    let sent = http_client::send(&http_client::Request {
        method: request.method.clone(),
        url: request.url.clone(),
        headers: request.headers.clone(),
        body,
        timeout_ms: request.timeout.map(ms),
    });
    sent.map(Sent)
}

impl Sent {
    /// How many of the bytes the host took; 0: it takes no more.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        Ok(if self.0.write(piece)? { piece.len() } else { 0 })
    }

    pub(super) fn finish(&mut self) {
        self.0.finish();
    }

    pub(super) fn head(&mut self) -> Result<Head, Failure> {
        let http_client::Response { status, headers } = self.0.response()?;
        Ok(Head { status, headers })
    }

    /// The next piece of the body; empty at the end.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, Failure> {
        self.0.read()
    }
}
