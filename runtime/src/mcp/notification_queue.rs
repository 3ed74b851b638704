//! The queue of messages for the client of a running request.
//!
//! The queue is bounded in messages and in bytes. Sending a notification never waits, because a client that does not
//! read must not block a guest, a session or another request: a notification that does not fit is dropped and counted.
//! Only a client request waits for space, because its guest has to wait anyway. Queued messages count against the
//! caller's [buffer budget](super::buffer_budget).
//!
//! The queue is a list and not a tokio channel: every request has a queue, most queues stay empty, and a tokio channel
//! starts with room for 32 messages. The queue is a part of its owner, such as the context of a request, and the
//! receiver holds the owner.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::task::coop::cooperative;

use super::buffer_budget::{BufferBudget, BufferReservation, BufferShare};
use super::client_requests::pending_input::PendingInput;
use crate::call_env::Caller;

/// Maximum number of messages in one queue.
const CAPACITY: usize = 256;

/// Maximum number of bytes in one queue. A longer message fits only into an empty queue.
const CAPACITY_BYTES: u32 = 64 << 10;

/// The memory of a queued message besides its text, in bytes.
const ENTRY_OVERHEAD: usize = 64;

/// A message of a running request, before the response.
#[derive(Debug)]
pub(crate) enum OutgoingMessage {
    /// A message that the transport writes.
    Message(Bytes),
    /// The call waits for responses, which only another request can bring.
    InputRequired(PendingInput),
    /// The call asks whether it can become a task now.
    Detach(oneshot::Sender<bool>),
}

/// An object that has a queue.
type QueueOwner = dyn AsRef<NotificationQueue> + Send + Sync;

/// The only receiver of a queue.
pub(crate) struct NotificationReceiver {
    owner: Arc<QueueOwner>,
}

#[derive(Debug)]
struct QueueEntry {
    outgoing: OutgoingMessage,
    /// Permits of `NotificationQueue::free_bytes`.
    permits: u32,
    _reservation: Option<BufferReservation>,
}

/// The queue. Every part of the server that has a reference to its owner may send.
#[derive(Debug)]
pub(crate) struct NotificationQueue {
    /// `None` once the receiver is gone.
    entries: Mutex<Option<VecDeque<QueueEntry>>>,
    /// Woken when an entry was added.
    receiver: AtomicWaker,
    free_entries: Semaphore,
    free_bytes: Semaphore,
    dropped: AtomicU64,
    buffers: Arc<BufferBudget>,
    caller: Caller,
    /// Looked up when the first message is sent, because most requests send none.
    share: OnceLock<BufferShare>,
}

/// The receiver is gone, or the caller's share of the buffer budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueClosed;

impl NotificationQueue {
    pub(crate) fn new(buffers: &Arc<BufferBudget>, caller: &Caller) -> Self {
        Self {
            entries: Mutex::new(Some(VecDeque::new())),
            receiver: AtomicWaker::new(),
            free_entries: Semaphore::new(CAPACITY),
            free_bytes: Semaphore::new(CAPACITY_BYTES as usize),
            dropped: AtomicU64::new(0),
            buffers: Arc::clone(buffers),
            caller: caller.clone(),
            share: OnceLock::new(),
        }
    }

    /// Sends a notification, or drops it if the queue is full.
    pub(crate) fn send(&self, message: Bytes) {
        if self.try_send(message).is_none() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn try_send(&self, message: Bytes) -> Option<()> {
        let permits = permits_for(message.len());
        let bytes = self.free_bytes.try_acquire_many(permits).ok()?;
        let reservation = Some(self.reserve(message.len())?);
        let entry = self.free_entries.try_acquire().ok()?;
        let outgoing = OutgoingMessage::Message(message);
        self.push(QueueEntry { outgoing, permits, _reservation: reservation }, [bytes, entry]).ok()
    }

    /// Sends a message that must not be dropped. Waits while the queue is full.
    pub(crate) async fn deliver(&self, outgoing: OutgoingMessage) -> Result<(), QueueClosed> {
        let (permits, reservation) = match &outgoing {
            OutgoingMessage::Message(message) => {
                (permits_for(message.len()), Some(self.reserve(message.len()).ok_or(QueueClosed)?))
            }
            OutgoingMessage::InputRequired(_) | OutgoingMessage::Detach(_) => (0, None),
        };
        let bytes = self.free_bytes.acquire_many(permits).await.map_err(|_| QueueClosed)?;
        let entry = self.free_entries.acquire().await.map_err(|_| QueueClosed)?;
        self.push(QueueEntry { outgoing, permits, _reservation: reservation }, [bytes, entry])
    }

    /// Whether nobody receives any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.entries.lock().is_none()
    }

    /// Adds an entry. It keeps `permits` until it is received.
    fn push(&self, entry: QueueEntry, permits: [SemaphorePermit<'_>; 2]) -> Result<(), QueueClosed> {
        self.entries.lock().as_mut().ok_or(QueueClosed)?.push_back(entry);
        permits.into_iter().for_each(SemaphorePermit::forget);
        self.receiver.wake();
        Ok(())
    }

    fn reserve(&self, bytes: usize) -> Option<BufferReservation> {
        self.share.get_or_init(|| self.buffers.share(&self.caller)).reserve(bytes + ENTRY_OVERHEAD)
    }
}

impl AsRef<Self> for NotificationQueue {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Drop for NotificationQueue {
    fn drop(&mut self) {
        let dropped = *self.dropped.get_mut();
        if dropped > 0 {
            tracing::debug!(dropped, "dropped notifications to a client that does not read");
        }
    }
}

fn permits_for(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(CAPACITY_BYTES).min(CAPACITY_BYTES)
}

impl NotificationReceiver {
    /// Makes the receiver of the owner's queue. A queue must have only one.
    pub(crate) fn of(owner: Arc<QueueOwner>) -> Self {
        Self { owner }
    }

    fn queue(&self) -> &NotificationQueue {
        (*self.owner).as_ref()
    }

    /// Waits for the next message. Cancel-safe.
    pub(crate) async fn recv(&mut self) -> OutgoingMessage {
        // As with a tokio channel, a task that receives many messages lets other tasks run in between.
        cooperative(poll_fn(|context| {
            if let Some(outgoing) = self.try_recv() {
                return Poll::Ready(outgoing);
            }
            self.queue().receiver.register(context.waker());
            // A message may have been added after the first attempt and before the waker was registered.
            self.try_recv().map_or(Poll::Pending, Poll::Ready)
        }))
        .await
    }

    /// Returns the next message if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<OutgoingMessage> {
        let queue = self.queue();
        let entry = queue.entries.lock().as_mut()?.pop_front()?;
        queue.free_entries.add_permits(1);
        queue.free_bytes.add_permits(entry.permits as usize);
        Some(entry.outgoing)
    }
}

impl Drop for NotificationReceiver {
    fn drop(&mut self) {
        let queue = self.queue();
        queue.free_bytes.close();
        queue.free_entries.close();
        // Queued messages are dropped here, even if senders still have the queue: a guest may wait for a client request
        // in it.
        let entries = queue.entries.lock().take();
        drop(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(budget: usize) -> (Arc<NotificationQueue>, NotificationReceiver, Arc<BufferBudget>) {
        let buffers = BufferBudget::new(budget);
        let queue = Arc::new(NotificationQueue::new(&buffers, &Caller::Stdio));
        let reader = NotificationReceiver::of(queue.clone());
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
        assert!(buffers.used() <= CAPACITY_BYTES as usize + CAPACITY * ENTRY_OVERHEAD);
        assert_eq!(drain(&mut reader), 16);
        queue.send(vec![b'x'; 4 << 20].into());
        queue.send(Bytes::from_static(b"{}"));
        assert_eq!(
            (drain(&mut reader), buffers.used()),
            (1, 0),
            "a message larger than the queue fits only into an empty queue"
        );
    }

    #[test]
    fn a_caller_with_a_used_up_share_gets_no_notification() {
        let (queue, mut reader, buffers) = queue(64 << 10);
        let _reservation = buffers.share(&Caller::Stdio).reserve(32 << 10).unwrap();
        queue.send(vec![b'x'; 24 << 10].into());
        assert_eq!(drain(&mut reader), 0);
    }

    #[tokio::test]
    async fn a_message_wakes_the_receiver_and_none_stays_without_it() {
        let (queue, mut reader, buffers) = queue(8 << 20);
        let sending = async { queue.send(Bytes::from_static(b"{}")) };
        let (received, ()) = tokio::join!(reader.recv(), sending);
        assert!(matches!(received, OutgoingMessage::Message(message) if message == "{}"));
        queue.send(Bytes::from_static(b"{}"));
        drop(reader);
        assert_eq!(buffers.used(), 0);
        queue.send(Bytes::from_static(b"{}"));
        assert_eq!(buffers.used(), 0);
    }

    #[tokio::test]
    async fn a_task_that_receives_many_messages_lets_others_run() {
        let (queue, mut reader, _) = queue(8 << 20);
        let other = tokio::spawn(async {});
        for _ in 0..CAPACITY {
            queue.send(Bytes::from_static(b"{}"));
        }
        for _ in 0..CAPACITY {
            reader.recv().await;
        }
        assert!(other.is_finished());
    }

    #[tokio::test]
    async fn a_waiting_sender_learns_that_the_receiver_is_gone() {
        let (queue, reader, _) = queue(8 << 20);
        queue.send(vec![b'x'; CAPACITY_BYTES as usize].into());
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.deliver(OutgoingMessage::Message(Bytes::from_static(b"{}"))).await }
        });
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        drop(reader);
        assert_eq!(waiting.await.unwrap(), Err(QueueClosed));
    }
}
