//! An unfinished task, as its keeper and other requests share it: its status, and the client requests that it waits
//! for.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::time::Instant;

use super::task_counts::TaskOwner;
use super::task_id::TaskGeneration;
use super::task_record::{RecordHead, TaskRecord, TaskStatus, millis};
use super::task_view::{OpenRequest, TaskView};
use crate::json::RawObject;
use crate::mcp::client_requests::pending_input::PendingInput;
use crate::mcp::error::RpcError;
use crate::mcp::promotion::Promotion;
use crate::mcp::request_context::RequestContext;
use crate::sandbox::RecordId;

/// Maximum number of messages that wait for a client: more than a call may have open client requests.
const MAX_MESSAGES: usize = 64;

/// An unfinished task.
#[derive(Debug)]
pub(in crate::mcp) struct LiveTask {
    pub(super) id: RecordId,
    /// The id as clients have it.
    pub(super) text: String,
    pub(super) generation: TaskGeneration,
    pub(super) owner: TaskOwner,
    pub(super) head: RecordHead,
    /// The request that became the task.
    pub(in crate::mcp) context: Arc<RequestContext>,
    state: Mutex<LiveState>,
    /// Client requests to a session, for the request that waits for the result.
    messages: Mutex<VecDeque<Bytes>>,
    added: Notify,
}

#[derive(Debug, Default)]
struct LiveState {
    waiting: Option<Waiting>,
    /// When the status changed last.
    updated: Option<SystemTime>,
    /// Keys of client requests so far. Each is used once in the life of a task.
    used_keys: HashSet<String>,
}

/// The client requests for which the guest waits.
#[derive(Debug)]
struct Waiting {
    input: PendingInput,
    until: Instant,
}

impl LiveTask {
    pub(super) fn new(
        (id, text, generation): (RecordId, String, TaskGeneration),
        owner: TaskOwner,
        head: RecordHead,
        context: Arc<RequestContext>,
    ) -> Self {
        let (state, messages, added) = (Mutex::default(), Mutex::default(), Notify::new());
        Self { id, text, generation, owner, head, context, state, messages, added }
    }

    /// Waits until the status of this task changes. `changes` may have missed some.
    pub(in crate::mcp) async fn changed(&self, changes: &mut Receiver<RecordId>) {
        while changes.recv().await.is_ok_and(|changed| changed != self.id) {}
    }

    /// Keeps a client request to a session.
    pub(super) fn push_message(&self, message: Bytes) {
        let mut messages = self.messages.lock();
        if messages.len() < MAX_MESSAGES {
            messages.push_back(message);
            self.added.notify_one();
        }
    }

    /// Waits for the next client request to a session. Cancel-safe.
    pub(in crate::mcp) async fn next_message(&self) -> Bytes {
        loop {
            if let Some(message) = self.messages.lock().pop_front() {
                return message;
            }
            self.added.notified().await;
        }
    }

    /// The task now.
    pub(in crate::mcp) fn view(&self) -> TaskView {
        let state = self.state.lock();
        let mut head = self.head.clone();
        head.updated = state.updated.map_or(head.updated, millis);
        let promotion = self.context.promotion.as_ref();
        head.message = promotion.and_then(Promotion::message);
        if promotion.is_some_and(Promotion::waits_for_client) {
            head.status = TaskStatus::InputRequired;
        }
        let mut open = Vec::new();
        if let Some(Waiting { input, .. }) = &state.waiting {
            head.status = TaskStatus::InputRequired;
            open.extend(input.open.iter().map(|(_, request)| OpenRequest {
                key: request.key.clone(),
                method: request.method,
                params: request.params.clone(),
            }));
        }
        let record = TaskRecord { head, outcome: None };
        TaskView { id: self.text.clone(), generation: self.generation, record, open }
    }

    /// The guest waits for its client from now on, for at most `max_wait`.
    pub(super) fn wait_for(&self, mut input: PendingInput, max_wait: Duration) {
        let mut state = self.state.lock();
        for (_, request) in &mut input.open {
            let (name, mut number) = (request.key.clone(), 1_u32);
            while !state.used_keys.insert(request.key.clone()) {
                number = number.saturating_add(1);
                request.key = format!("{name}-{number}");
            }
        }
        state.waiting = Some(Waiting { input, until: Instant::now() + max_wait });
        state.updated = Some(SystemTime::now());
    }

    /// Until when the guest waits for its client; `None` if it does not.
    pub(super) fn waits_until(&self) -> Option<Instant> {
        self.state.lock().waiting.as_ref().map(|waiting| waiting.until)
    }

    /// Gives responses to the guest once all have come. Keys that are not open are ignored. Whether the status has
    /// changed.
    ///
    /// # Errors
    /// When a response does not fit its client request. Then nothing has changed.
    pub(in crate::mcp) fn accept(&self, responses: &RawObject) -> Result<bool, RpcError> {
        let mut state = self.state.lock();
        let Some(Waiting { input, .. }) = &mut state.waiting else { return Ok(false) };
        let read = input.read(responses)?;
        input.keep(read);
        if !input.open.is_empty() {
            return Ok(false);
        }
        self.resume(&mut state);
        Ok(true)
    }

    /// Lets the guest go on with the responses so far, if it has waited for too long. Whether the status has changed.
    pub(super) fn stop_waiting(&self) -> bool {
        let mut state = self.state.lock();
        let is_over = state.waiting.as_ref().is_some_and(|waiting| waiting.until <= Instant::now());
        if is_over {
            self.resume(&mut state);
        }
        is_over
    }

    fn resume(&self, state: &mut LiveState) {
        if let Some(Waiting { input: PendingInput { resume, responses, .. }, .. }) = state.waiting.take() {
            // If the receiver is gone, the guest no longer waits, and the task ends by itself.
            let _ = resume.send(responses);
            state.updated = Some(SystemTime::now());
        }
    }
}
