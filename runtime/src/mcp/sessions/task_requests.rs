//! Client requests of a session's tasks that no stream has passed on.
//!
//! A task has no response stream. What it asks goes to the requests that wait for its result, or to the stream for
//! server notifications: clients differ in which of the two they read. The stream for notifications can be resumed, so
//! what it has passed on is not asked again elsewhere, and a person is not asked twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A client request of a task.
#[derive(Debug, Clone)]
pub(crate) struct TaskRequest {
    message: Bytes,
    /// Whether the stream for server notifications has passed it on.
    is_notified: Arc<AtomicBool>,
}

/// The requests of one session, by their ids.
#[derive(Debug, Default)]
pub(crate) struct TaskRequests {
    waiting: Mutex<BTreeMap<i64, TaskRequest>>,
    added: Notify,
}

impl TaskRequest {
    pub(crate) fn new(message: Bytes) -> Self {
        Self { message, is_notified: Arc::default() }
    }
}

impl TaskRequests {
    pub(crate) fn push(&self, id: i64, request: TaskRequest) {
        self.waiting.lock().insert(id, request);
        self.added.notify_waiters();
    }

    /// Nobody waits for the response any more.
    pub(crate) fn withdraw(&self, id: i64) {
        self.waiting.lock().remove(&id);
    }

    /// The message, for a stream that waits for the result; `None` if the stream for notifications has passed it on.
    pub(crate) fn claim(&self, id: i64, request: TaskRequest) -> Option<Bytes> {
        let mut waiting = self.waiting.lock();
        waiting.remove(&id);
        (!request.is_notified.load(Ordering::Relaxed)).then_some(request.message)
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
        let mut waiting = self.waiting.lock();
        let (_, request) = waiting.pop_first()?;
        request.is_notified.store(true, Ordering::Relaxed);
        Some(request.message)
    }
}
