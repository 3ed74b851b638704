//! Drives the work of one task after its response stream has ended, until its result is on the disk.
//!
//! Progress and log messages have no stream any more and are dropped: a task has a status message instead.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::time::Instant;

use super::live_task::LiveTask;
use super::registry::Tasks;
use super::task_record::{TaskRecord, TaskStatus, millis};
use crate::mcp::call_task::{CallTask, HandlerOutcome};
use crate::mcp::error::RpcError;
use crate::mcp::jsonrpc::is_request;
use crate::mcp::notification_queue::{NotificationReceiver, OutgoingMessage};

/// How often a result is offered to a disk that takes no writes.
const RETRY: Duration = Duration::from_secs(1);

/// How a task ended.
struct Ending {
    status: TaskStatus,
    message: Option<String>,
    outcome: Option<Bytes>,
}

/// Drives one task.
pub(super) struct Keeper {
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
            Some(Ok(result)) => Self {
                status: TaskStatus::Completed,
                message: None,
                outcome: Some(Bytes::copy_from_slice(result.as_json())),
            },
            Some(Err(error)) => Self::failed(&error),
            None if is_cancelled => Self { status: TaskStatus::Cancelled, message: None, outcome: None },
            None => Self::failed(&RpcError::internal("the call ended without a result")),
        }
    }

    fn failed(error: &RpcError) -> Self {
        let outcome = serde_json::to_vec(error).ok().map(Bytes::from);
        Self { status: TaskStatus::Failed, message: Some(error.message.clone()), outcome }
    }
}

impl Keeper {
    pub(super) fn new(
        tasks: Arc<Tasks>,
        live: Arc<LiveTask>,
        mut task: CallTask,
        queue: NotificationReceiver,
    ) -> Self {
        task.spawn();
        let expires = Instant::now() + tasks.settings.ttl;
        Self { tasks, live, task, queue, expires }
    }

    pub(super) async fn run(mut self) {
        let Some(ending) = self.drive().await else {
            drop(self.task);
            return self.tasks.removed(&self.live.owner, Some(self.live.id)).await;
        };
        let Self { tasks, live, task, queue, expires } = self;
        // The guest and its request are not needed any more, and writing may take long.
        drop((task, queue));
        let record = record(&tasks, &live, ending);
        let size = record.size();
        while tasks.write(live.id, &record).await.is_err() {
            if Instant::now() >= expires {
                return tasks.removed(&live.owner, Some(live.id)).await;
            }
            tokio::time::sleep(RETRY).await;
        }
        tasks.ended(&live, size);
    }

    /// Runs the call until it ends. `None` when the task expires before.
    async fn drive(&mut self) -> Option<Ending> {
        let context = Arc::clone(&self.live.context);
        let (max_wait, stopping) = (self.tasks.settings.max_wait, self.tasks.settings.stopping.clone());
        loop {
            let waits_until = self.live.waits_until();
            let overslept = tokio::time::sleep_until(waits_until.unwrap_or(self.expires));
            tokio::select! {
                biased;
                outgoing = self.queue.recv() => match outgoing {
                    OutgoingMessage::Message(message) if is_request(&message) => {
                        self.live.push_request(message);
                        self.tasks.changed(&self.live);
                    }
                    OutgoingMessage::Message(_) => {}
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
                    return Some(Ending::failed(&error));
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

/// The record of a task that has ended. A result that does not fit any more is replaced by an error.
fn record(tasks: &Tasks, live: &LiveTask, ending: Ending) -> TaskRecord {
    let of = |Ending { status, message, outcome }: Ending| {
        let mut head = live.head.clone();
        (head.status, head.message, head.updated) = (status, message, millis(SystemTime::now()));
        TaskRecord { head, outcome }
    };
    let record = of(ending);
    if record.outcome.is_none() || tasks.fits(&live.owner, record.size()) {
        return record;
    }
    let why = "the result does not fit into what is left for results of tasks (setting [server] `task_store_mib`); \
               let older ones expire, or call without tasks";
    of(Ending::failed(&RpcError::internal(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_the_protocol_are_failures() {
        let status = |outcome, is_cancelled| Ending::of(outcome, is_cancelled).status;
        let error = || Some(Err(RpcError::internal("x")));
        assert_eq!(status(error(), false), TaskStatus::Failed);
        assert_eq!(status(error(), true), TaskStatus::Failed);
        assert_eq!(status(None, true), TaskStatus::Cancelled);
        let lost = Ending::of(None, false);
        assert!(lost.status == TaskStatus::Failed && lost.message.is_some() && lost.outcome.is_some());
    }
}
