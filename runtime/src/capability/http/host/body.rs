//! The bodies of requests and responses. Each body counts its bytes as they pass.
//!
//! Nothing is decoded or buffered here: bytes that the guest does not read stay in the socket. Empty frames are
//! skipped, because a sender could send them for free and keep the receiver busy.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::budget::{HttpBudget, RequestPermit};
use super::error_codes;

/// The body of a request, which comes from the guest.
pub(super) struct RequestBody {
    pub(super) body: WasiBody,
    pub(super) budget: Arc<HttpBudget>,
    /// Set when the body exceeds its limit, because the error of the connection does not say so.
    pub(super) too_long: Arc<AtomicBool>,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            let length = frame.data_ref().map(Bytes::len);
            if length == Some(0) {
                continue;
            }
            if let Err(error) = self.budget.send(length.unwrap_or_default()) {
                self.too_long.store(true, Ordering::Relaxed);
                return Poll::Ready(Some(Err(error)));
            }
            return Poll::Ready(Some(Ok(frame)));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response, which comes from the host.
pub(super) struct ResponseBody {
    /// `None` when the body has ended or failed.
    body: Option<Incoming>,
    budget: Arc<HttpBudget>,
    /// Released when the body has ended or failed.
    permit: Option<RequestPermit>,
    deadline: Instant,
    /// The guest's time-out for the next frame.
    idle: Option<Duration>,
    clock: Pin<Box<Sleep>>,
}

impl ResponseBody {
    pub(super) fn new(
        body: Incoming,
        budget: Arc<HttpBudget>,
        permit: RequestPermit,
        deadline: Instant,
        idle: Option<Duration>,
    ) -> Self {
        let clock = Box::pin(tokio::time::sleep_until(next_deadline(deadline, idle)));
        Self { body: Some(body), budget, permit: Some(permit), deadline, idle, clock }
    }

    fn end(&mut self) {
        self.body = None;
        self.permit = None;
    }

    fn timeout_error(&self) -> Error {
        if Instant::now() >= self.deadline {
            self.budget.limit_reached("http_ms", Error::HttpResponseTimeout)
        } else {
            Error::ConnectionReadTimeout
        }
    }

    /// Counts a received frame, and restarts the time-out for the next frame.
    fn count(&mut self, frame: &Frame<Bytes>) -> Result<(), Error> {
        if let Some(idle) = self.idle {
            let next = next_deadline(self.deadline, Some(idle));
            self.clock.as_mut().reset(next);
        }
        self.budget.receive(frame.data_ref().map_or(0, Bytes::len))
    }
}

fn next_deadline(deadline: Instant, idle: Option<Duration>) -> Instant {
    idle.and_then(|idle| Instant::now().checked_add(idle)).map_or(deadline, |next| next.min(deadline))
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            let Some(body) = &mut self.body else { return Poll::Ready(None) };
            let end = match Pin::new(body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) if frame.data_ref().is_some_and(Bytes::is_empty) => continue,
                Poll::Ready(Some(Ok(frame))) => match self.count(&frame) {
                    Ok(()) => return Poll::Ready(Some(Ok(frame))),
                    Err(error) => Some(Err(error)),
                },
                Poll::Ready(Some(Err(error))) => {
                    let is_late = Instant::now() >= self.deadline;
                    Some(Err(if is_late { self.timeout_error() } else { error_codes::body_error(&error) }))
                }
                Poll::Ready(None) => None,
                Poll::Pending => {
                    ready!(self.clock.as_mut().poll(context));
                    Some(Err(self.timeout_error()))
                }
            };
            self.end();
            return Poll::Ready(end);
        }
    }
}
