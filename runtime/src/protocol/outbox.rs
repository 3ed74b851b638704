//! Messages on their way to the client while its request is being served.
//!
//! Bounded, and never waited for: a client that does not read must not hold a guest, a session or another request.
//! What does not fit is dropped and counted.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

/// Messages that may wait for a slow reader.
const CAPACITY: usize = 256;

/// Where a request's own messages go in.
#[derive(Debug)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<Bytes>,
    dropped: AtomicU64,
}

/// Where they come out, in order.
pub(crate) type OutboxReader = mpsc::Receiver<Bytes>;

impl Outbox {
    pub(crate) fn new() -> (Self, OutboxReader) {
        let (sender, reader) = mpsc::channel(CAPACITY);
        (Self { sender, dropped: AtomicU64::new(0) }, reader)
    }

    pub(crate) fn send(&self, message: Bytes) {
        if self.sender.try_send(message).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        let dropped = *self.dropped.get_mut();
        if dropped > 0 {
            tracing::debug!(dropped, "messages to a client that does not read were dropped");
        }
    }
}
