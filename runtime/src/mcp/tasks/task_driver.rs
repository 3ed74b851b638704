//! Drives the work of one task after its response stream has ended, until its result is on the disk.
//!
//! Notifications that were queued for the response stream are dropped: a task has a status message instead. A client
//! request among them goes to the streams that tasks have. From the end of the work until it is on the disk, a result
//! counts as a buffer of its caller.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::time::Instant;

use super::live_task::LiveTask;
use super::registry::Tasks;
use super::task_record::{RecordHead, TaskStatus, millis};
use crate::mcp::buffer_budget::UNCOUNTED_BYTES;
use crate::mcp::call_task::{CallTask, HandlerOutcome};
use crate::mcp::error::RpcError;
use crate::mcp::notification_queue::{NotificationReceiver, OutgoingMessage};
use crate::mcp::request_context::RequestContext;

/// How often a result is offered to a disk that takes no writes.
const RETRY: Duration = Duration::from_secs(1);

/// How long a result waits until others of its caller have been read or written.
const MAX_WAIT_FOR_MEMORY: Duration = Duration::from_secs(5);

/// How a task ended.
enum Ending {
    Completed(Bytes),
    Failed(RpcError),
    Cancelled,
}

/// Drives one task.
pub(super) struct TaskDriver {
    tasks: Arc<Tasks>,
    live: Arc<LiveTask>,
    task: CallTask,
    queue: NotificationReceiver,
    /// When the task expires, whether or not it has ended.
    expires: Instant,
}

impl Ending {
    fn of(outcome: HandlerOutcome, is_cancelled: bool) -> Self {
        match outcome {
            Some(Ok(result)) => Self::Completed(result.into_json()),
            Some(Err(error)) => Self::Failed(error),
            None if is_cancelled => Self::Cancelled,
            None => Self::Failed(RpcError::internal("the call ended without a result")),
        }
    }

    /// Makes `head` that of the ended task, and returns what is stored besides.
    fn write(self, head: &mut RecordHead) -> Option<Bytes> {
        (head.message, head.updated) = (None, millis(SystemTime::now()));
        match self {
            Self::Completed(result) => {
                (head.status, head.bytes) = (TaskStatus::Completed, result.len());
                Some(result)
            }
            Self::Failed(error) => Some(head.fail(&error).into()),
            Self::Cancelled => {
                head.status = TaskStatus::Cancelled;
                None
            }
        }
    }
}

impl TaskDriver {
    pub(super) fn new(
        tasks: Arc<Tasks>,
        live: Arc<LiveTask>,
        mut task: CallTask,
        queue: NotificationReceiver,
    ) -> Self {
        task.spawn();
        // When the record does.
        let left = live.head.expires().saturating_sub(millis(SystemTime::now()));
        let expires = Instant::now() + Duration::from_millis(left).min(tasks.settings.ttl);
        Self { tasks, live, task, queue, expires }
    }

    pub(super) async fn run(mut self) {
        let ending = self.drive().await;
        let Self { tasks, live, task, queue, expires } = self;
        // The guest and its request are not needed any more, and writing may take long.
        drop((task, queue));
        let Some(ending) = ending else { return tasks.removed(&live.owner, Some(live.id), 0).await };
        let Ended { head, outcome, counted } = Ended::new(&tasks, &live, ending).await;
        while tasks.write(live.id, &head, outcome.clone()).await.is_err() {
            if Instant::now() >= expires {
                return tasks.removed(&live.owner, Some(live.id), counted).await;
            }
            tokio::time::sleep(RETRY).await;
        }
        tasks.ended(&live, counted);
    }

    /// Runs the call until it ends. `None` when the task expires before.
    async fn drive(&mut self) -> Option<Ending> {
        let context = Arc::clone(&self.live.context);
        let (max_wait, stopping) = (self.tasks.settings.max_wait, self.tasks.settings.stopping.clone());
        loop {
            let waits_until = self.live.waits_until();
            let overslept = tokio::time::sleep_until(waits_until.unwrap_or(self.expires).min(self.expires));
            tokio::select! {
                biased;
                outgoing = self.queue.recv() => match outgoing {
                    OutgoingMessage::Message(message) => pass_on(&context, &message),
                    OutgoingMessage::InputRequired(input) => {
                        self.live.wait_for(input, max_wait);
                        self.tasks.changed(&self.live);
                    }
                    OutgoingMessage::Detach(answer) => drop(answer.send(true)),
                },
                outcome = self.task.outcome() => {
                    return Some(Ending::of(outcome, context.cancel.is_cancelled()));
                }
                () = stopping.cancelled(), if waits_until.is_some() => {
                    let error = RpcError::internal("the server stopped while the task waited; call again");
                    return Some(Ending::Failed(error));
                }
                () = overslept => {
                    if Instant::now() >= self.expires {
                        context.cancel.cancel();
                        return None;
                    }
                    if self.live.stop_waiting() {
                        self.tasks.changed(&self.live);
                    }
                }
            }
        }
    }
}

/// The call's own stream has ended before it passed on this message. A client request goes to the streams that tasks
/// have; nobody gets notifications of a task.
fn pass_on(context: &RequestContext, message: &Bytes) {
    if let (Some(promotion), Some(session)) = (&context.promotion, &context.session) {
        promotion.pass_on(&session.task_requests, message);
    }
}

/// What is stored of a task that has ended.
struct Ended {
    head: RecordHead,
    outcome: Option<Bytes>,
    /// How many bytes of `outcome` count as stored.
    counted: usize,
}

impl Ended {
    /// A result for which there is no room is replaced by an error, which is small.
    async fn new(tasks: &Tasks, live: &LiveTask, ending: Ending) -> Self {
        let mut head = live.head.clone();
        let Some(outcome) = ending.write(&mut head) else { return Self { head, outcome: None, counted: 0 } };
        let counted = outcome.len();
        match count(tasks, live, outcome).await {
            Ok(outcome) => Self { head, outcome: Some(outcome), counted },
            Err(error) => Self { outcome: Some(head.fail(&error).into()), head, counted: 0 },
        }
    }
}

/// Counts a result as stored, and as a buffer of its caller until it is dropped.
async fn count(tasks: &Tasks, live: &LiveTask, outcome: Bytes) -> Result<Bytes, RpcError> {
    let (bytes, mut reservation) = (outcome.len(), None);
    if bytes > UNCOUNTED_BYTES {
        let share = tasks.settings.buffers.share(&live.context.caller);
        let reserved = share.reserve_timeout(bytes, MAX_WAIT_FOR_MEMORY).await;
        reservation = Some(reserved.ok_or_else(|| RpcError::overloaded("the result"))?);
    }
    if !tasks.add_result(&live.owner, bytes) {
        let why = "the result does not fit into what is left for results of tasks (setting [server] \
                   `task_store_mib`); let older ones expire, or call without tasks";
        return Err(RpcError::internal(why));
    }
    Ok(match reservation {
        Some(reservation) => reservation.hold(outcome),
        None => outcome,
    })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::super::live_task::tests::{input, live};
    use super::super::registry::tests::tasks;
    use super::super::task_record::tests::head;
    use super::*;
    use crate::sandbox::KvDatabase;

    #[test]
    fn only_errors_of_the_protocol_are_failures() {
        let ended = |outcome, is_cancelled| {
            let mut head = head(TaskStatus::Working);
            let stored = Ending::of(outcome, is_cancelled).write(&mut head);
            assert_eq!(stored.map_or(0, |stored| stored.len()), head.bytes);
            head
        };
        let error = || Some(Err(RpcError::internal("x")));
        assert_eq!(ended(error(), false).status, TaskStatus::Failed);
        assert_eq!(ended(error(), true).status, TaskStatus::Failed);
        assert_eq!(ended(None, true).status, TaskStatus::Cancelled);
        let lost = ended(None, false);
        assert!(lost.status == TaskStatus::Failed && lost.message.is_some() && lost.bytes > 0);
    }

    #[tokio::test]
    async fn a_task_that_waits_for_its_client_is_gone_when_its_time_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let tasks = tasks(KvDatabase::new(dir.path().to_owned()), Duration::from_millis(50));
        let live = Arc::new(live(&tasks.settings.buffers, None));
        assert!(tasks.admit(&live.owner, 9));
        tasks.insert(&live);
        let (asked, _resumed) = input(&["a"]);
        live.wait_for(asked, Duration::from_secs(600));
        let queue = NotificationReceiver::of(live.context.clone());
        let task = CallTask::new(std::future::pending().boxed());
        let running = TaskDriver::new(Arc::clone(&tasks), live, task, queue).run();
        tokio::time::timeout(Duration::from_secs(60), running).await.unwrap();
        assert_eq!(tasks.totals(), (0, 0));
    }

    #[tokio::test]
    async fn a_result_counts_from_the_end_of_its_call_and_one_without_room_is_an_error() {
        let tasks = tasks(KvDatabase::of_state(None), Duration::from_secs(60));
        let buffers = Arc::clone(&tasks.settings.buffers);
        let live = live(&buffers, None);
        let end = async || {
            let result = Bytes::from(vec![b' '; 1 << 20]);
            Ended::new(&tasks, &live, Ending::Completed(result)).await
        };
        let (first, second) = (end().await, end().await);
        assert!(first.head.status == TaskStatus::Completed && first.counted == 1 << 20);
        assert!(second.head.status == TaskStatus::Failed && second.counted == 0, "no room on the disk");
        assert_eq!(second.outcome.map(|outcome| outcome.len()), Some(second.head.bytes));
        assert_eq!(buffers.used(), 1 << 20, "the first is not written yet");
        drop(first);
        assert_eq!(buffers.used(), 0);
    }
}
