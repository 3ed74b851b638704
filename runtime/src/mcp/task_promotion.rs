//! What is known of a call that may become a task, for those that run it.
//!
//! The request's context has it, if the client knows tasks or the call may be bridged. The handler says what the tool
//! allows, the guest says how far it is, and the response stream, which decides, switches the call. This module knows
//! none of them.

mod open_requests;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

pub(crate) use open_requests::OpenRequests;

use super::jsonrpc::notification;
use super::sessions::task_requests::{TaskRequest, TaskRequests};
use crate::call_env::TaskSwitch;

/// The key in `_meta` for the task to which a message of 2025-11-25 belongs.
pub(crate) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Maximum length of a status message, in bytes: a line for people.
const MAX_MESSAGE: usize = 1_024;

/// A call that may become a task.
#[derive(Debug, Default)]
pub(crate) struct Promotion {
    /// The client knows no tasks, and is told of a tool that waits for the result.
    is_bridged: bool,
    switch: Arc<TaskSwitch>,
    terms: OnceLock<TaskTerms>,
    message: Mutex<Option<String>>,
    /// The id of the task, once there is one.
    id: OnceLock<String>,
    /// Client requests of a session that have no response yet, by their ids in the session. Most calls send none, and
    /// need no channel.
    open: OnceLock<watch::Sender<BTreeMap<i64, TaskRequest>>>,
    /// When the first of those was opened, or the last one closed.
    waiting_changed: Mutex<Option<SystemTime>>,
}

/// A client request of a session, which is open until this is dropped. If the client has not responded by then, the
/// streams that passed it on tell the client that it is cancelled.
#[derive(Debug)]
pub(crate) struct OpenRequest<'p> {
    promotion: &'p Promotion,
    task_requests: &'p TaskRequests,
    id: i64,
    request: TaskRequest,
    /// Whether the call was a task when the guest sent the request, so that its own stream does not pass it on.
    is_of_task: bool,
    has_response: bool,
}

/// What the called tool and its plugin say about tasks.
#[derive(Debug, Clone)]
pub(crate) struct TaskTerms {
    pub(crate) plugin: Arc<str>,
    pub(crate) tool: Arc<str>,
    /// Maximum number of unfinished tasks of the plugin.
    pub(crate) max_tasks: usize,
    /// How long the call may take before it becomes a task.
    pub(crate) grace: Duration,
    /// The tool's calls never become tasks.
    pub(crate) is_forbidden: bool,
    /// The name of the tool that waits for the result, if the call is bridged.
    pub(crate) result_tool: Option<Arc<str>>,
}

impl Promotion {
    /// For a call of a client that knows no tasks.
    pub(crate) fn bridged() -> Self {
        Self { is_bridged: true, ..Self::default() }
    }

    /// Whether the client knows no tasks.
    pub(crate) fn is_bridged(&self) -> bool {
        self.is_bridged
    }

    /// Whether the called tool may become a task; `false` until the tool is known.
    pub(crate) fn is_possible(&self) -> bool {
        self.terms.get().is_some_and(|terms| !terms.is_forbidden)
    }

    pub(crate) fn switch(&self) -> &Arc<TaskSwitch> {
        &self.switch
    }

    /// Makes the call a task with this id.
    pub(crate) fn begin_task(&self, id: &str) {
        if !self.is_bridged {
            self.id.get_or_init(|| id.to_owned());
        }
        self.switch.switch();
    }

    /// Whether the call is a task.
    pub(crate) fn is_task(&self) -> bool {
        self.switch.is_task()
    }

    /// The id of the task, once there is one and if its client knows what that is.
    pub(crate) fn task_id(&self) -> Option<&str> {
        self.id.get().map(String::as_str)
    }

    /// A client request of a session waits for its response. If the call is a task, any stream of the session may pass
    /// it on; otherwise the call's own does.
    pub(crate) fn open_request<'p>(
        &'p self,
        task_requests: &'p TaskRequests,
        id: i64,
        message: Bytes,
    ) -> OpenRequest<'p> {
        let request = TaskRequest::new(message);
        let is_of_task = self.is_task();
        // First, so that a stream that finds the request among the open ones can claim it.
        if is_of_task {
            task_requests.push(id, request.clone());
        }
        self.open().send_modify(|open| {
            if open.is_empty() {
                self.note_change();
            }
            open.insert(id, request.clone());
        });
        OpenRequest { promotion: self, task_requests, id, request, is_of_task, has_response: false }
    }

    /// The call became a task before its own stream had passed on this message. If it is an open client request, any
    /// stream of the session may pass it on.
    pub(crate) fn pass_on(&self, task_requests: &TaskRequests, message: &Bytes) {
        let Some(open) = self.open.get() else { return };
        // Nobody closes the request as long as this is borrowed.
        let open = open.borrow();
        if let Some((id, request)) = open.iter().find(|(_, request)| request.is(message)) {
            task_requests.push(*id, request.clone());
        }
    }

    /// Whether a client request of a session has no response yet.
    pub(crate) fn waits_for_client(&self) -> bool {
        self.open.get().is_some_and(|open| !open.borrow().is_empty())
    }

    /// When [`Self::waits_for_client`] changed last; `None` if it never did.
    pub(crate) fn waiting_changed(&self) -> Option<SystemTime> {
        *self.waiting_changed.lock()
    }

    fn note_change(&self) {
        *self.waiting_changed.lock() = Some(SystemTime::now());
    }

    fn open(&self) -> &watch::Sender<BTreeMap<i64, TaskRequest>> {
        self.open.get_or_init(watch::Sender::default)
    }

    /// The client requests of a session that have no response yet, and those that follow.
    pub(crate) fn client_requests(&self, task_requests: &Arc<TaskRequests>) -> OpenRequests {
        OpenRequests::new(self.open().subscribe(), Arc::clone(task_requests))
    }

    /// What the tool says; `None` until the tool is known.
    pub(crate) fn terms(&self) -> Option<&TaskTerms> {
        self.terms.get()
    }

    pub(crate) fn set_terms(&self, terms: TaskTerms) {
        self.terms.get_or_init(|| terms);
    }

    /// What the guest said last about how far it is.
    pub(crate) fn message(&self) -> Option<String> {
        self.message.lock().clone()
    }

    pub(crate) fn set_message(&self, message: &str) {
        let message = message.get(..message.floor_char_boundary(MAX_MESSAGE)).unwrap_or_default();
        *self.message.lock() = Some(message.to_owned());
    }
}

impl OpenRequest<'_> {
    /// Whether the streams that wait for the result pass it on, and not the call's own.
    pub(crate) fn is_of_task(&self) -> bool {
        self.is_of_task
    }

    /// The client has responded.
    pub(crate) fn responded(mut self) {
        self.has_response = true;
    }

    /// Says to the client that the tool no longer waits for the response.
    fn cancelled(&self) -> Bytes {
        let mut params = cancelled_params(self.id);
        if let (Some(task), Some(params)) = (self.promotion.task_id(), params.as_object_mut()) {
            params.insert("_meta".to_owned(), json!({ RELATED_TASK: { "taskId": task } }));
        }
        notification("notifications/cancelled", &params)
    }
}

/// The parameters of `notifications/cancelled` for a client request.
pub(crate) fn cancelled_params(id: i64) -> Value {
    json!({ "requestId": id, "reason": "the tool no longer waits for it" })
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if !self.has_response {
            self.request.cancel(self.cancelled());
        }
        // Last, since it wakes the streams that wait for the result.
        self.promotion.open().send_modify(|open| {
            self.task_requests.close(self.id);
            if open.remove(&self.id).is_some() && open.is_empty() {
                self.promotion.note_change();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn is_cancelled(message: Option<Bytes>, id: i64) -> bool {
        let message: Value = serde_json::from_slice(&message.unwrap()).unwrap();
        let related = &message["params"]["_meta"][RELATED_TASK]["taskId"];
        message["method"] == "notifications/cancelled"
            && message["params"]["requestId"] == id
            && related == "task"
    }

    #[test]
    fn each_stream_gets_the_client_requests_that_are_open() {
        let (promotion, requests) = (Promotion::default(), Arc::default());
        promotion.begin_task("task");
        let mut before = promotion.client_requests(&requests);
        assert!(before.next().now_or_never().is_none());
        let first = promotion.open_request(&requests, 3, Bytes::from_static(b"first"));
        let unseen = promotion.open_request(&requests, 4, Bytes::from_static(b"unseen"));
        assert!(promotion.waits_for_client());
        drop(unseen);
        let last = promotion.open_request(&requests, 5, Bytes::from_static(b"last"));
        let mut after = promotion.client_requests(&requests);
        for stream in [&mut before, &mut after] {
            assert_eq!(stream.next().now_or_never().unwrap(), "first");
            assert_eq!(stream.next().now_or_never().unwrap(), "last");
            assert!(stream.next().now_or_never().is_none());
        }
        assert!(requests.next().now_or_never().is_none(), "both were passed on");
        first.responded();
        let mut late = promotion.client_requests(&requests);
        assert_eq!(late.next().now_or_never().unwrap(), "last");
        assert!(!before.are_answered() && !late.are_answered());
        drop(last);
        for mut stream in [before, late] {
            assert!(is_cancelled(stream.next().now_or_never(), 5));
            assert!(stream.next().now_or_never().is_none() && stream.are_answered());
        }
        let due: Vec<_> = after.due().collect();
        assert!(due.len() == 1 && is_cancelled(due.first().cloned(), 5), "{due:?}");
        assert!(!promotion.waits_for_client());
        assert!(OpenRequests::default().next().now_or_never().is_none());
    }

    #[test]
    fn a_request_whose_call_becomes_a_task_on_its_way_is_passed_on_by_a_stream_of_tasks() {
        let (promotion, requests) = (Promotion::default(), Arc::<TaskRequests>::default());
        let asked = Bytes::from_static(b"asked");
        let open = promotion.open_request(&requests, 1, asked.clone());
        assert!(!open.is_of_task(), "the call's own stream is to pass it on");
        promotion.begin_task("task");
        assert!(requests.next().now_or_never().is_none());
        promotion.pass_on(&requests, &Bytes::from_static(b"a notification"));
        promotion.pass_on(&requests, &asked);
        assert_eq!(requests.next().now_or_never().unwrap(), "asked");
        assert!(requests.next().now_or_never().is_none(), "once");
        drop(open);
        assert!(is_cancelled(requests.next().now_or_never(), 1));
        promotion.pass_on(&requests, &asked);
        assert!(requests.next().now_or_never().is_none(), "it is not open any more");
    }

    #[test]
    fn what_the_stream_of_notifications_has_passed_on_is_not_asked_again() {
        let (promotion, requests) = (Promotion::default(), Arc::default());
        promotion.begin_task("task");
        let open = promotion.open_request(&requests, 2, Bytes::from_static(b"asked"));
        assert_eq!(requests.next().now_or_never().unwrap(), "asked");
        let mut stream = promotion.client_requests(&requests);
        assert!(stream.next().now_or_never().is_none());
        assert!(promotion.waits_for_client());
        requests.repeat();
        assert_eq!(
            requests.next().now_or_never().unwrap(),
            "asked",
            "a new stream got nothing of the old one"
        );
        drop(open);
        assert!(is_cancelled(requests.next().now_or_never(), 2));
        assert!(requests.next().now_or_never().is_none());
        assert!(stream.next().now_or_never().is_none(), "it did not pass the request on");
    }

    #[test]
    fn no_stream_tells_of_a_request_that_the_client_never_got() {
        let (promotion, requests) = (Promotion::default(), Arc::default());
        promotion.begin_task("task");
        drop(promotion.open_request(&requests, 1, Bytes::from_static(b"unseen")));
        let answered = promotion.open_request(&requests, 2, Bytes::from_static(b"answered"));
        assert_eq!(requests.next().now_or_never().unwrap(), "answered");
        answered.responded();
        assert!(requests.next().now_or_never().is_none());
    }
}
