//! Messages on their way to the client while its request is being served.
//!
//! Bounded in number and in bytes, and notifications never wait: a client that does not read must not hold a guest, a
//! session or another request. What does not fit is dropped and counted. Only a question waits, since its guest waits anyway.
//! What waits is part of what is [kept for the caller](super::buffers).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};

use super::asking::parked::Asking;
use super::buffers::{Buffers, Held, Share};
use crate::host::Caller;

/// Messages that may wait for a slow reader.
const CAPACITY: usize = 256;

/// Bytes of them. One that is longer waits alone.
const BYTES: u32 = 64 << 10;

/// What a message takes beside its text.
const BESIDE: usize = 64;

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
    sender: mpsc::Sender<Waiting>,
    room: Arc<Room>,
}

/// Where they come out, in order.
#[derive(Debug)]
pub(crate) struct OutboxReader {
    receiver: mpsc::Receiver<Waiting>,
    room: Arc<Room>,
}

#[derive(Debug)]
struct Waiting {
    outgoing: Outgoing,
    /// Of the room.
    bytes: u32,
    _held: Option<Held>,
}

#[derive(Debug)]
struct Room {
    free: Semaphore,
    dropped: AtomicU64,
    buffers: Arc<Buffers>,
    caller: Caller,
    /// Found when there is something to say, which most requests have not.
    share: OnceLock<Share>,
}

/// Nobody reads any more, or so much is kept for this caller that nothing more can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

impl Outbox {
    pub(crate) fn new(buffers: &Arc<Buffers>, caller: &Caller) -> (Self, OutboxReader) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let room = Arc::new(Room {
            free: Semaphore::new(BYTES as usize),
            dropped: AtomicU64::new(0),
            buffers: Arc::clone(buffers),
            caller: caller.clone(),
            share: OnceLock::new(),
        });
        (Self { sender, room: Arc::clone(&room) }, OutboxReader { receiver, room })
    }

    /// Sends a notification if there is room.
    pub(crate) fn send(&self, message: Bytes) {
        if self.try_send(message).is_none() {
            self.room.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn try_send(&self, message: Bytes) -> Option<()> {
        let bytes = weight(message.len());
        let taken = self.room.free.try_acquire_many(bytes).ok()?;
        let held = Some(self.room.hold(message.len())?);
        self.sender.try_send(Waiting { outgoing: Outgoing::Message(message), bytes, _held: held }).ok()?;
        taken.forget();
        Some(())
    }

    /// Sends what must arrive, waiting for room.
    pub(crate) async fn deliver(&self, outgoing: Outgoing) -> Result<(), Closed> {
        let (bytes, held) = match &outgoing {
            Outgoing::Message(message) => {
                (weight(message.len()), Some(self.room.hold(message.len()).ok_or(Closed)?))
            }
            Outgoing::Ask(_) => (0, None),
        };
        let taken = self.room.free.acquire_many(bytes).await.map_err(|_| Closed)?;
        self.sender.send(Waiting { outgoing, bytes, _held: held }).await.map_err(|_| Closed)?;
        taken.forget();
        Ok(())
    }
}

fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(BYTES).min(BYTES)
}

impl OutboxReader {
    pub(crate) async fn recv(&mut self) -> Option<Outgoing> {
        let waiting = self.receiver.recv().await?;
        Some(self.take(waiting))
    }

    /// What waits already.
    pub(crate) fn try_recv(&mut self) -> Option<Outgoing> {
        let waiting = self.receiver.try_recv().ok()?;
        Some(self.take(waiting))
    }

    fn take(&self, waiting: Waiting) -> Outgoing {
        self.room.free.add_permits(waiting.bytes as usize);
        waiting.outgoing
    }
}

impl Drop for OutboxReader {
    fn drop(&mut self) {
        self.room.free.close();
    }
}

impl Room {
    fn hold(&self, bytes: usize) -> Option<Held> {
        self.share.get_or_init(|| self.buffers.share(&self.caller)).hold(bytes + BESIDE)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let dropped = *self.dropped.get_mut();
        if dropped > 0 {
            tracing::debug!(dropped, "messages to a client that does not read were dropped");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(most: usize) -> (Outbox, OutboxReader, Arc<Buffers>) {
        let buffers = Buffers::new(most);
        let (outbox, reader) = Outbox::new(&buffers, &Caller::Stdio);
        (outbox, reader, buffers)
    }

    fn drain(reader: &mut OutboxReader) -> usize {
        std::iter::from_fn(|| reader.try_recv()).count()
    }

    #[test]
    fn what_waits_is_bounded_in_number_and_in_bytes() {
        let (outbox, mut reader, buffers) = outbox(8 << 20);
        (0..2 * CAPACITY).for_each(|_| outbox.send(Bytes::from_static(b"{}")));
        assert_eq!(drain(&mut reader), CAPACITY);
        (0..2 * CAPACITY).for_each(|_| outbox.send(vec![b'x'; 4 << 10].into()));
        assert!(buffers.used() <= BYTES as usize + CAPACITY * BESIDE);
        assert_eq!(drain(&mut reader), 16);
        outbox.send(vec![b'x'; 4 << 20].into());
        outbox.send(Bytes::from_static(b"{}"));
        assert_eq!((drain(&mut reader), buffers.used()), (1, 0), "what is larger than the room waits alone");
    }

    #[test]
    fn a_caller_for_whom_enough_is_kept_is_told_nothing_more() {
        let (outbox, mut reader, buffers) = outbox(64 << 10);
        let _held = buffers.share(&Caller::Stdio).hold(32 << 10).unwrap();
        outbox.send(vec![b'x'; 24 << 10].into());
        assert_eq!(drain(&mut reader), 0);
    }

    #[tokio::test]
    async fn whoever_waits_for_room_hears_that_nobody_reads() {
        let (outbox, reader, _) = outbox(8 << 20);
        outbox.send(vec![b'x'; BYTES as usize].into());
        let waiting = tokio::spawn({
            let outbox = outbox.clone();
            async move { outbox.deliver(Outgoing::Message(Bytes::from_static(b"{}"))).await }
        });
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        drop(reader);
        assert_eq!(waiting.await.unwrap(), Err(Closed));
    }
}
