//! An unfinished task, as its driver and other requests share it: its status, and the client requests that it waits
//! for.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::{broadcast, oneshot};
use tokio::time::Instant;

use super::task_counts::TaskOwner;
use super::task_id::TaskGeneration;
use super::task_record::{RecordHead, TaskStatus, millis};
use super::task_view::TaskView;
use crate::json::RawObject;
use crate::mcp::buffer_budget::BufferReservation;
use crate::mcp::client_requests::input_request::InputRequest;
use crate::mcp::client_requests::pending_input::{PendingInput, read_response};
use crate::mcp::error::RpcError;
use crate::mcp::request_context::RequestContext;
use crate::mcp::sessions::session::Session;
use crate::mcp::task_promotion::{OpenRequests, Promotion};
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
    /// Held for moments only: every request about the task needs it.
    state: Mutex<LiveState>,
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
    /// Requests without a response, by their index among the guest's requests.
    open: Vec<(usize, Arc<InputRequest>)>,
    responses: Vec<(usize, String)>,
    resume: oneshot::Sender<Vec<(usize, String)>>,
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

    /// The client requests for a stream of `session`. Those of another session are not among them: only the client of
    /// the session in which the task began can respond, as ids of client requests have a meaning in one session.
    pub(in crate::mcp) fn client_requests(&self, session: Option<&Arc<Session>>) -> OpenRequests {
        let own = self.context.session.as_ref();
        let own = own.filter(|own| session.is_some_and(|session| Arc::ptr_eq(session, own)));
        let promotion = self.context.promotion.as_ref();
        let requests =
            own.zip(promotion).map(|(own, promotion)| promotion.client_requests(&own.task_requests));
        requests.unwrap_or_default()
    }

    /// Waits until this task may have changed, or changes were missed. Cancel-safe.
    pub(in crate::mcp) async fn may_have_changed(&self, changes: &mut broadcast::Receiver<RecordId>) {
        while changes.recv().await.is_ok_and(|id| id != self.id) {}
    }

    /// The task now.
    pub(in crate::mcp) fn view(&self) -> TaskView {
        let mut head = self.head.clone();
        let promotion = self.context.promotion.as_ref();
        head.message = promotion.and_then(Promotion::message);
        let state = self.state.lock();
        // The call may have waited for its client before it was a task.
        let updated = state.updated.max(promotion.and_then(Promotion::waiting_changed));
        head.updated = updated.map_or(head.updated, |updated| head.updated.max(millis(updated)));
        if state.waiting.is_some() || promotion.is_some_and(Promotion::waits_for_client) {
            head.status = TaskStatus::InputRequired;
        }
        let open = state.open().map(|(_, request)| Arc::clone(request)).collect();
        TaskView { id: self.text.clone(), generation: self.generation, head, open, outcome: None }
    }

    /// The guest waits for its client from now on, for at most `max_wait`.
    pub(super) fn wait_for(&self, input: PendingInput, max_wait: Duration) {
        let PendingInput { open: requests, responses, resume, .. } = input;
        let mut state = self.state.lock();
        let mut open = Vec::new();
        for (at, mut request) in requests {
            let (name, mut number) = (request.key.clone(), 1_u32);
            while !state.used_keys.insert(request.key.clone()) {
                number = number.saturating_add(1);
                request.key = format!("{name}-{number}");
            }
            open.push((at, Arc::new(request)));
        }
        state.waiting = Some(Waiting { open, responses, resume, until: Instant::now() + max_wait });
        state.updated = Some(SystemTime::now());
    }

    /// Until when the guest waits for its client; `None` if it does not.
    pub(super) fn waits_until(&self) -> Option<Instant> {
        self.state.lock().waiting.as_ref().map(|waiting| waiting.until)
    }

    /// Gives responses to the guest once all have come, and keeps `reservation`, which counts them, until the guest has
    /// ended. Keys that are not open are ignored. Whether the status has changed.
    ///
    /// # Errors
    /// When a response does not fit its client request. Then nothing has changed.
    pub(in crate::mcp) fn accept(
        &self,
        responses: &RawObject,
        reservation: Option<Arc<BufferReservation>>,
    ) -> Result<bool, RpcError> {
        let open: Vec<_> = self.state.lock().open().cloned().collect();
        // Reading takes long for large responses.
        let mut read = Vec::new();
        for (at, request) in open {
            if let Some(response) = read_response(&request, responses)? {
                read.push((at, request, response));
            }
        }
        let mut state = self.state.lock();
        let Some(Waiting { open, responses, .. }) = &mut state.waiting else { return Ok(false) };
        let before = open.len();
        for (at, request, response) in read {
            // Another request may have brought a response meanwhile.
            if let Some(found) = open.iter().position(|(_, open)| Arc::ptr_eq(open, &request)) {
                open.remove(found);
                responses.push((at, response));
            }
        }
        if open.len() < before {
            self.context.keep_reservation(reservation);
        }
        let is_complete = open.is_empty();
        if is_complete {
            state.resume();
        }
        Ok(is_complete)
    }

    /// Lets the guest go on with the responses so far, if it has waited for too long. Whether the status has changed.
    pub(super) fn stop_waiting(&self) -> bool {
        let mut state = self.state.lock();
        let is_over = state.waiting.as_ref().is_some_and(|waiting| waiting.until <= Instant::now());
        if is_over {
            state.resume();
        }
        is_over
    }
}

impl LiveState {
    fn open(&self) -> impl Iterator<Item = &(usize, Arc<InputRequest>)> {
        self.waiting.iter().flat_map(|waiting| &waiting.open)
    }

    fn resume(&mut self) {
        if let Some(Waiting { responses, resume, .. }) = self.waiting.take() {
            // If the receiver is gone, the guest no longer waits, and the task ends by itself.
            let _ = resume.send(responses);
            self.updated = Some(SystemTime::now());
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use futures_util::FutureExt as _;

    use super::super::task_record::tests::head;
    use super::*;
    use crate::call_env::{ClientRequest, ClientRequestBody};
    use crate::mcp::buffer_budget::BufferBudget;
    use crate::mcp::client_requests::client_capabilities::ClientCapabilities;
    use crate::mcp::client_requests::input_request::prepare;
    use crate::mcp::revision::Revision;

    pub(in super::super) fn live(buffers: &Arc<BufferBudget>, session: Option<Arc<Session>>) -> LiveTask {
        let owner = TaskOwner { caller: "stdio".into(), plugin: "p".into() };
        let id = ([1; 16], "x".to_owned(), TaskGeneration::Extension);
        LiveTask::new(id, owner, head(TaskStatus::Working), RequestContext::for_tests(buffers, session))
    }

    /// Client requests with these keys, and what the guest gets.
    pub(in super::super) fn input(keys: &[&str]) -> (PendingInput, oneshot::Receiver<Vec<(usize, String)>>) {
        let asked = |key: &&str| {
            let request = ClientRequest { key: Some((*key).to_owned()), body: ClientRequestBody::ListRoots };
            prepare(request, 1, Revision::V2026_07_28, ClientCapabilities::ALL).unwrap()
        };
        let (resume, resumed) = oneshot::channel();
        let (plugin, open) = ("p".into(), keys.iter().map(asked).enumerate().collect());
        let (request_digest, responses) = ([0; 32], Vec::new());
        let input = PendingInput { plugin, max_suspended: 9, request_digest, open, responses, resume };
        (input, resumed)
    }

    fn responses(keys: &[&str]) -> RawObject {
        let fields: Vec<String> = keys.iter().map(|key| format!(r#""{key}":{{"roots":[]}}"#)).collect();
        RawObject::parse(&format!("{{{}}}", fields.join(","))).unwrap()
    }

    #[test]
    fn every_response_that_is_kept_counts_until_the_guest_has_ended() {
        let buffers = BufferBudget::new(8 << 20);
        let live = live(&buffers, None);
        let (asked, mut resumed) = input(&["a", "b"]);
        live.wait_for(asked, Duration::from_secs(60));
        let accept = |keys: &[&str]| {
            let reservation = buffers.share(&crate::call_env::Caller::Stdio).reserve(1 << 10).map(Arc::new);
            live.accept(&responses(keys), reservation)
        };
        assert!(!accept(&["other"]).unwrap() && buffers.used() == 0);
        assert!(!accept(&["a"]).unwrap() && buffers.used() == 1 << 10);
        assert!(!accept(&["a"]).unwrap() && buffers.used() == 1 << 10, "it has a response already");
        let unfit = RawObject::parse(r#"{"b":5}"#).unwrap();
        assert!(live.accept(&unfit, None).is_err() && resumed.try_recv().is_err());
        assert!(accept(&["b", "a"]).unwrap() && buffers.used() == 2 << 10);
        assert_eq!(resumed.try_recv().unwrap().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 1]);
        drop(live);
        assert_eq!(buffers.used(), 0);
    }

    #[test]
    fn a_key_is_used_once_in_the_life_of_a_task() {
        let live = live(&BufferBudget::new(8 << 20), None);
        let keys = || live.view().open.iter().map(|request| request.key.clone()).collect::<Vec<_>>();
        for expected in [["a", "b"], ["a-2", "b-2"], ["a-3", "b-3"]] {
            let (asked, _resumed) = input(&["a", "b"]);
            live.wait_for(asked, Duration::ZERO);
            assert_eq!(keys(), expected);
            assert!(live.stop_waiting() && keys().is_empty());
        }
    }

    #[test]
    fn client_requests_of_a_session_are_for_streams_of_that_session() {
        let (own, other) = (Session::for_tests(), Session::for_tests());
        let live = live(&BufferBudget::new(8 << 20), Some(Arc::clone(&own)));
        let promotion = live.context.promotion.as_ref().unwrap();
        let _open = promotion.open_request(&own.task_requests, 1, "asked".into());
        assert!(live.view().status() == TaskStatus::InputRequired);
        assert_eq!(live.client_requests(Some(&own)).next().now_or_never().unwrap(), "asked");
        for session in [Some(&other), None] {
            assert!(live.client_requests(session).next().now_or_never().is_none());
        }
    }

    #[test]
    fn what_the_client_of_a_session_is_asked_and_answers_is_an_update() {
        let session = Session::for_tests();
        let live = live(&BufferBudget::new(8 << 20), Some(Arc::clone(&session)));
        let promotion = live.context.promotion.as_ref().unwrap();
        let updated = || live.view().head.updated;
        let begun = updated();
        let first = promotion.open_request(&session.task_requests, 1, "first".into());
        let asked = updated();
        assert!(asked > begun);
        std::thread::sleep(Duration::from_millis(5));
        let second = promotion.open_request(&session.task_requests, 2, "second".into());
        first.responded();
        assert_eq!(updated(), asked, "it still waits for its client");
        second.responded();
        assert!(updated() > asked && live.view().status() == TaskStatus::Working);
    }
}
