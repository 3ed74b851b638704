//! Client requests of a session's tasks, for the stream of server notifications.
//!
//! A task has no response stream. What it asks goes to the requests that wait for its result, or to the stream for
//! server notifications: clients differ in which of the two they read. What the stream for notifications has passed on
//! is not asked again elsewhere, since that stream can be resumed, and a person is not asked twice. A client that
//! opens a new one instead may have got nothing of the old one, so it gets what is still open.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A client request of a task.
#[derive(Debug, Clone)]
pub(crate) struct TaskRequest {
    message: Bytes,
    /// `notifications/cancelled` for it, once nobody waits for the response any more and none has come.
    cancelled: Arc<OnceLock<Bytes>>,
}

/// The requests of one session.
#[derive(Debug, Default)]
pub(crate) struct TaskRequests {
    queue: Mutex<RequestQueue>,
    added: Notify,
}

#[derive(Debug, Default)]
struct RequestQueue {
    /// The open requests that no stream has passed on, by their ids.
    waiting: BTreeMap<i64, TaskRequest>,
    /// The open requests that the stream for notifications has passed on.
    notified: BTreeMap<i64, TaskRequest>,
    /// `notifications/cancelled` for requests that were among those. There are no more than were open when that stream
    /// was last read.
    cancelled: VecDeque<Bytes>,
}

impl TaskRequest {
    pub(crate) fn new(message: Bytes) -> Self {
        Self { message, cancelled: Arc::default() }
    }

    /// Whether the request is this message.
    pub(crate) fn is(&self, message: &Bytes) -> bool {
        self.message == *message
    }

    /// Whoever passed on the request passes on this too.
    pub(crate) fn cancel(&self, notification: Bytes) {
        self.cancelled.get_or_init(|| notification);
    }

    /// What [`TaskRequest::cancel`] was called with.
    pub(crate) fn cancelled(&self) -> Option<Bytes> {
        self.cancelled.get().cloned()
    }
}

impl TaskRequests {
    pub(crate) fn push(&self, id: i64, request: TaskRequest) {
        self.queue.lock().waiting.insert(id, request);
        self.added.notify_waiters();
    }

    /// Nobody waits for the response any more.
    pub(crate) fn close(&self, id: i64) {
        let mut queue = self.queue.lock();
        queue.waiting.remove(&id);
        let notified = queue.notified.remove(&id);
        queue.cancelled.extend(notified.and_then(|request| request.cancelled()));
        drop(queue);
        self.added.notify_waiters();
    }

    /// The message, for a stream that waits for the result; `None` if the stream for notifications has passed it on.
    pub(crate) fn claim(&self, id: i64, request: &TaskRequest) -> Option<Bytes> {
        let mut queue = self.queue.lock();
        queue.waiting.remove(&id);
        (!queue.notified.contains_key(&id)).then(|| request.message.clone())
    }

    /// A client has opened a stream for notifications and not resumed one: the stream gets what has no response.
    pub(crate) fn repeat(&self) {
        let mut queue = self.queue.lock();
        let notified = std::mem::take(&mut queue.notified);
        queue.waiting.extend(notified);
        drop(queue);
        self.added.notify_waiters();
    }

    /// Takes back a message that the stream for notifications could not send; `false` if it is no open request.
    pub(crate) fn put_back(&self, message: &Bytes) -> bool {
        let mut queue = self.queue.lock();
        let id = queue.notified.iter().find(|(_, request)| request.message == *message).map(|(id, _)| *id);
        let Some((id, request)) = id.and_then(|id| queue.notified.remove_entry(&id)) else { return false };
        queue.waiting.insert(id, request);
        true
    }

    /// Waits for the next message for the stream of notifications. Cancel-safe.
    pub(crate) async fn next(&self) -> Bytes {
        loop {
            // Hears of what is added from here on.
            let added = self.added.notified();
            if let Some(message) = self.take() {
                return message;
            }
            added.await;
        }
    }

    fn take(&self) -> Option<Bytes> {
        let mut queue = self.queue.lock();
        if let Some(cancelled) = queue.cancelled.pop_front() {
            return Some(cancelled);
        }
        let (id, request) = queue.waiting.pop_first()?;
        let message = request.message.clone();
        queue.notified.insert(id, request);
        Some(message)
    }
}
