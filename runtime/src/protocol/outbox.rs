//! Messages on their way to the client while its request is being served.
//!
//! Bounded, and notifications never wait: a client that does not read must not hold a guest, a session or another
//! request. What does not fit is dropped and counted. Only a question waits, since its guest waits anyway.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::asking::parked::Asking;

/// Messages that may wait for a slow reader.
const CAPACITY: usize = 256;

/// What a request's work has to say before it ends.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A message to write.
    Message(Bytes),
    /// The call waits for answers that only a retry can bring.
    Ask(Asking),
}

/// Where a request's own messages go in. Clones fill the same one.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<Outgoing>,
    dropped: Arc<Dropped>,
}

/// Where they come out, in order.
pub(crate) type OutboxReader = mpsc::Receiver<Outgoing>;

#[derive(Debug, Default)]
struct Dropped(AtomicU64);

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

impl Outbox {
    pub(crate) fn new() -> (Self, OutboxReader) {
        let (sender, reader) = mpsc::channel(CAPACITY);
        (Self { sender, dropped: Arc::default() }, reader)
    }

    /// Sends a notification if there is room.
    pub(crate) fn send(&self, message: Bytes) {
        if self.sender.try_send(Outgoing::Message(message)).is_err() {
            self.dropped.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends what must arrive, waiting for room.
    pub(crate) async fn deliver(&self, outgoing: Outgoing) -> Result<(), Closed> {
        self.sender.send(outgoing).await.map_err(|_| Closed)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        let dropped = *self.0.get_mut();
        if dropped > 0 {
            tracing::debug!(dropped, "messages to a client that does not read were dropped");
        }
    }
}
