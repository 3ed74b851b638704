//! Messages on their way to the client while its request is being served.
//!
//! Bounded in number and in bytes, and notifications never wait: a client that does not read must not hold a guest, a
//! session or another request. What does not fit is dropped and counted. Only a client request waits, since its guest
//! waits anyway. What waits is part of what is [kept for the caller](super::buffer_budget).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};

use super::buffer_budget::{BufferBudget, BufferReservation, BufferShare};
use super::client_requests::pending_input::PendingInput;
use crate::host::Caller;

/// Messages that may wait for a slow reader.
const CAPACITY: usize = 256;

/// Bytes of them. One that is longer waits alone.
const BYTES: u32 = 64 << 10;

/// What a message takes beside its text.
const BESIDE: usize = 64;

/// What a request's work has to say before it ends.
#[derive(Debug)]
pub(crate) enum OutgoingMessage {
    /// A message to write.
    Message(Bytes),
    /// The call waits for responses that only another request can bring.
    InputRequired(PendingInput),
}

/// Where a request's own messages go in. Clones fill the same one.
#[derive(Debug, Clone)]
pub(crate) struct NotificationQueue {
    sender: mpsc::Sender<QueueEntry>,
    room: Arc<QueueState>,
}

/// Where they come out, in order.
#[derive(Debug)]
pub(crate) struct NotificationReceiver {
    receiver: mpsc::Receiver<QueueEntry>,
    room: Arc<QueueState>,
}

#[derive(Debug)]
struct QueueEntry {
    outgoing: OutgoingMessage,
    /// Of the room.
    bytes: u32,
    _reservation: Option<BufferReservation>,
}

#[derive(Debug)]
struct QueueState {
    free: Semaphore,
    dropped: AtomicU64,
    buffers: Arc<BufferBudget>,
    caller: Caller,
    /// Found when there is something to say, which most requests have not.
    share: OnceLock<BufferShare>,
}

/// Nobody reads any more, or so much is kept for this caller that nothing more can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueClosed;

impl NotificationQueue {
    pub(crate) fn new(buffers: &Arc<BufferBudget>, caller: &Caller) -> (Self, NotificationReceiver) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let room = Arc::new(QueueState {
            free: Semaphore::new(BYTES as usize),
            dropped: AtomicU64::new(0),
            buffers: Arc::clone(buffers),
            caller: caller.clone(),
            share: OnceLock::new(),
        });
        (Self { sender, room: Arc::clone(&room) }, NotificationReceiver { receiver, room })
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
        let reservation = Some(self.room.reserve(message.len())?);
        self.sender
            .try_send(QueueEntry {
                outgoing: OutgoingMessage::Message(message),
                bytes,
                _reservation: reservation,
            })
            .ok()?;
        taken.forget();
        Some(())
    }

    /// Sends what must arrive, waiting for room.
    pub(crate) async fn deliver(&self, outgoing: OutgoingMessage) -> Result<(), QueueClosed> {
        let (bytes, reservation) = match &outgoing {
            OutgoingMessage::Message(message) => {
                (weight(message.len()), Some(self.room.reserve(message.len()).ok_or(QueueClosed)?))
            }
            OutgoingMessage::InputRequired(_) => (0, None),
        };
        let taken = self.room.free.acquire_many(bytes).await.map_err(|_| QueueClosed)?;
        self.sender
            .send(QueueEntry { outgoing, bytes, _reservation: reservation })
            .await
            .map_err(|_| QueueClosed)?;
        taken.forget();
        Ok(())
    }
}

fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(BYTES).min(BYTES)
}

impl NotificationReceiver {
    pub(crate) async fn recv(&mut self) -> Option<OutgoingMessage> {
        let waiting = self.receiver.recv().await?;
        Some(self.dequeue(waiting))
    }

    /// What waits already.
    pub(crate) fn try_recv(&mut self) -> Option<OutgoingMessage> {
        let waiting = self.receiver.try_recv().ok()?;
        Some(self.dequeue(waiting))
    }

    fn dequeue(&self, waiting: QueueEntry) -> OutgoingMessage {
        self.room.free.add_permits(waiting.bytes as usize);
        waiting.outgoing
    }
}

impl Drop for NotificationReceiver {
    fn drop(&mut self) {
        self.room.free.close();
    }
}

impl QueueState {
    fn reserve(&self, bytes: usize) -> Option<BufferReservation> {
        self.share.get_or_init(|| self.buffers.share(&self.caller)).reserve(bytes + BESIDE)
    }
}

impl Drop for QueueState {
    fn drop(&mut self) {
        let dropped = *self.dropped.get_mut();
        if dropped > 0 {
            tracing::debug!(dropped, "dropped notifications to a client that does not read");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(most: usize) -> (NotificationQueue, NotificationReceiver, Arc<BufferBudget>) {
        let buffers = BufferBudget::new(most);
        let (queue, reader) = NotificationQueue::new(&buffers, &Caller::Stdio);
        (queue, reader, buffers)
    }

    fn drain(reader: &mut NotificationReceiver) -> usize {
        std::iter::from_fn(|| reader.try_recv()).count()
    }

    #[test]
    fn what_waits_is_bounded_in_number_and_in_bytes() {
        let (queue, mut reader, buffers) = queue(8 << 20);
        (0..2 * CAPACITY).for_each(|_| queue.send(Bytes::from_static(b"{}")));
        assert_eq!(drain(&mut reader), CAPACITY);
        (0..2 * CAPACITY).for_each(|_| queue.send(vec![b'x'; 4 << 10].into()));
        assert!(buffers.used() <= BYTES as usize + CAPACITY * BESIDE);
        assert_eq!(drain(&mut reader), 16);
        queue.send(vec![b'x'; 4 << 20].into());
        queue.send(Bytes::from_static(b"{}"));
        assert_eq!((drain(&mut reader), buffers.used()), (1, 0), "what is larger than the room waits alone");
    }

    #[test]
    fn a_caller_for_whom_enough_is_kept_is_told_nothing_more() {
        let (queue, mut reader, buffers) = queue(64 << 10);
        let _reservation = buffers.share(&Caller::Stdio).reserve(32 << 10).unwrap();
        queue.send(vec![b'x'; 24 << 10].into());
        assert_eq!(drain(&mut reader), 0);
    }

    #[tokio::test]
    async fn whoever_waits_for_room_hears_that_nobody_reads() {
        let (queue, reader, _) = queue(8 << 20);
        queue.send(vec![b'x'; BYTES as usize].into());
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.deliver(OutgoingMessage::Message(Bytes::from_static(b"{}"))).await }
        });
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        drop(reader);
        assert_eq!(waiting.await.unwrap(), Err(QueueClosed));
    }
}
