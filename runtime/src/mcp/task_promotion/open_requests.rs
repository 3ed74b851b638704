//! The open client requests of a call, as one stream that waits for the result passes them on.
//!
//! Several streams may wait for the result of one task, and the stream for server notifications may have passed on a
//! request before. So each keeps what it has passed on, and says to its client when one of those is taken back.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::mcp::sessions::task_requests::{TaskRequest, TaskRequests};

/// The client requests of a session for one stream that waits for the result, which passes each on once.
#[derive(Debug)]
pub(crate) struct OpenRequests {
    open: watch::Receiver<BTreeMap<i64, TaskRequest>>,
    task_requests: Arc<TaskRequests>,
    /// The last that was passed on. Ids are ascending.
    last: i64,
    /// Those that this stream has passed on and that were open when it last looked.
    passed: BTreeMap<i64, TaskRequest>,
    /// When it last found that one of those was closed.
    closed: Option<Instant>,
}

impl OpenRequests {
    pub(super) fn new(
        open: watch::Receiver<BTreeMap<i64, TaskRequest>>,
        task_requests: Arc<TaskRequests>,
    ) -> Self {
        Self { open, task_requests, last: 0, passed: BTreeMap::new(), closed: None }
    }

    /// Waits for the next client request, or for the cancellation of one that was passed on; for ever if no more can
    /// come. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Bytes {
        loop {
            if let Some(message) = self.now() {
                return message;
            }
            if self.open.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Whether nothing that this stream has passed on was open when it last looked.
    pub(crate) fn are_answered(&self) -> bool {
        self.passed.is_empty()
    }

    /// Passes on no more requests, only that those which were passed on are cancelled.
    pub(crate) fn stop(&mut self) {
        self.last = i64::MAX;
    }

    /// When this stream last found that the client had answered something, or that the guest had taken it back.
    pub(crate) fn last_closed(&self) -> Option<Instant> {
        self.closed
    }

    /// What is there now.
    pub(crate) fn due(&mut self) -> impl Iterator<Item = Bytes> {
        std::iter::from_fn(|| self.now())
    }

    fn now(&mut self) -> Option<Bytes> {
        let open = self.open.borrow_and_update();
        while let Some(id) = self.passed.keys().find(|id| !open.contains_key(id)).copied() {
            self.closed = Some(Instant::now());
            if let Some(cancelled) = self.passed.remove(&id).and_then(|request| request.cancelled()) {
                return Some(cancelled);
            }
        }
        while let Some((id, request)) = first_after(self.last, &open) {
            self.last = id;
            if let Some(message) = self.task_requests.claim(id, &request) {
                self.passed.insert(id, request);
                return Some(message);
            }
        }
        None
    }
}

fn first_after(last: i64, open: &BTreeMap<i64, TaskRequest>) -> Option<(i64, TaskRequest)> {
    let (id, request) = open.range(last.saturating_add(1)..).next()?;
    Some((*id, request.clone()))
}

/// None.
impl Default for OpenRequests {
    fn default() -> Self {
        Self::new(watch::channel(BTreeMap::new()).1, Arc::default())
    }
}
