//! An unfinished task, as its keeper and other requests share it: its status, and the client requests that it waits
//! for.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use parking_lot::Mutex;
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
use crate::mcp::sessions::session::Session;
use crate::sandbox::RecordId;

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
}

/// What a task has taken of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Accepted {
    Nothing,
    /// It keeps them, and waits for others.
    Part,
    /// It goes on, and its status has changed.
    All,
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
        Self { id, text, generation, owner, head, context, state: Mutex::default() }
    }

    /// Gives a client request to the session of the task. Without memory for it, the guest waits in vain.
    pub(super) fn push_request(&self, message: Bytes) {
        if let Some(session) = &self.context.session
            && let Some(reservation) = session.share.reserve(message.len())
        {
            session.task_requests.push(self.id, reservation.hold(message));
        }
    }

    /// Waits for the next client request of the task; for ever if this is not its session. Cancel-safe.
    pub(in crate::mcp) async fn next_request(&self, session: Option<&Arc<Session>>) -> Bytes {
        match &self.context.session {
            Some(own) if session.is_some_and(|session| Arc::ptr_eq(session, own)) => {
                own.task_requests.next(Some(&self.id)).await
            }
            _ => std::future::pending().await,
        }
    }

    /// The task has ended, and nobody waits for its client requests.
    pub(super) fn forget_requests(&self) {
        if let Some(session) = &self.context.session {
            session.task_requests.forget(&self.id);
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

    /// Gives responses to the guest once all have come. Keys that are not open are ignored.
    ///
    /// # Errors
    /// When a response does not fit its client request. Then nothing has changed.
    pub(in crate::mcp) fn accept(&self, responses: &RawObject) -> Result<Accepted, RpcError> {
        let mut state = self.state.lock();
        let Some(Waiting { input, .. }) = &mut state.waiting else { return Ok(Accepted::Nothing) };
        let read = input.read(responses)?;
        if read.iter().all(Option::is_none) {
            return Ok(Accepted::Nothing);
        }
        input.keep(read);
        if !input.open.is_empty() {
            return Ok(Accepted::Part);
        }
        self.resume(&mut state);
        Ok(Accepted::All)
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
