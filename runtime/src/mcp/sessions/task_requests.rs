//! Client requests of the tasks of one session, until a stream takes them.
//!
//! A task has no response stream, so its client requests go to the request that waits for its result, or to the stream
//! for server notifications: clients differ in which of the two they read. Whichever takes one first sends it.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::sandbox::RecordId;

/// Maximum number of requests in one session: those of as many tasks as a caller may have, at once.
const CAPACITY: usize = 1_024;

/// The requests that no stream has taken.
#[derive(Debug, Default)]
pub(crate) struct TaskRequests {
    waiting: Mutex<VecDeque<(RecordId, Bytes)>>,
    added: Notify,
}

impl TaskRequests {
    /// Adds a request of this task. Beyond the capacity it is dropped, and its guest waits in vain.
    pub(crate) fn push(&self, task: RecordId, message: Bytes) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < CAPACITY {
            waiting.push_back((task, message));
            drop(waiting);
            self.added.notify_waiters();
        }
    }

    /// Waits for the next request of this task, or of any. Cancel-safe.
    pub(crate) async fn next(&self, task: Option<&RecordId>) -> Bytes {
        loop {
            // Hears of what is added from here on.
            let added = self.added.notified();
            if let Some(message) = self.take(task) {
                return message;
            }
            added.await;
        }
    }

    /// Drops the requests of a task that has ended.
    pub(crate) fn forget(&self, task: &RecordId) {
        self.waiting.lock().retain(|(of, _)| of != task);
    }

    fn take(&self, task: Option<&RecordId>) -> Option<Bytes> {
        let mut waiting = self.waiting.lock();
        let at = waiting.iter().position(|(of, _)| task.is_none_or(|task| of == task))?;
        waiting.remove(at).map(|(_, message)| message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_goes_to_its_task_or_to_who_takes_all() {
        let requests = TaskRequests::default();
        let [one, other] = [[1; 16], [2; 16]];
        let text = Bytes::from_static;
        let adding = async {
            requests.push(one, text(b"1"));
            requests.push(other, text(b"2"));
        };
        let (taken, ()) = tokio::join!(requests.next(Some(&other)), adding);
        assert_eq!((taken, requests.next(None).await), (text(b"2"), text(b"1")));
        requests.push(one, text(b"3"));
        requests.push(other, text(b"4"));
        requests.forget(&one);
        assert_eq!((requests.next(None).await, requests.take(None)), (text(b"4"), None));
        (0..2 * CAPACITY).for_each(|_| requests.push(one, text(b"5")));
        assert_eq!(std::iter::from_fn(|| requests.take(Some(&one))).count(), CAPACITY);
    }
}
