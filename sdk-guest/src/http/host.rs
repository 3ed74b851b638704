//! Requests that the host sends.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::time::Duration;

use super::{Body, Failure, Request, ResponseHead};
use crate::bindings::http::http_client::{self, SentRequest};
use crate::executor::{self, Slot, Source};

/// The maximum of one write, bytes.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Sent(Rc<SentRequest>);

/// A request whose news a task awaits.
struct Waiter {
    request: Weak<SentRequest>,
    slot: Weak<Slot<()>>,
}

thread_local! {
    static WAITERS: RefCell<Vec<Waiter>> = const { RefCell::new(Vec::new()) };
}

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
    sent.map(|sent| Sent(Rc::new(sent)))
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

    pub(super) fn head(&mut self) -> Result<ResponseHead, Failure> {
        let http_client::Response { status, headers } = self.0.response()?;
        Ok(ResponseHead { status, headers })
    }

    /// The next piece of the body; empty at the end.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, Failure> {
        self.0.read()
    }

    /// Waits until `head` or `read` returns at once.
    pub(super) async fn news(&self) {
        executor::register(Source::Http, wait);
        let slot = Slot::new();
        let waiter = Waiter { request: Rc::downgrade(&self.0), slot: Rc::downgrade(&slot) };
        WAITERS.with_borrow_mut(|all| all.push(waiter));
        slot.filled().await;
    }
}

/// Waits for news of any request that is awaited.
fn wait() -> bool {
    // Those that were dropped are not kept alive here, since dropping cancels them.
    let both = |waiter: Waiter| waiter.request.upgrade().zip(waiter.slot.upgrade());
    let waiting: Vec<_> = WAITERS.take().into_iter().filter_map(both).collect();
    if waiting.is_empty() {
        return false;
    }
    let requests: Vec<&SentRequest> = waiting.iter().map(|(request, _)| request.as_ref()).collect();
    let news = http_client::wait(&requests, None);
    for (position, (request, slot)) in (0..).zip(&waiting) {
        match news.contains(&position) {
            true => slot.fill(()),
            false => WAITERS.with_borrow_mut(|all| {
                all.push(Waiter { request: Rc::downgrade(request), slot: Rc::downgrade(slot) });
            }),
        }
    }
    true
}
