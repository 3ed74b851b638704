//! The tasks of one `subscriptions/listen`: their client is told when their status changes.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::super::error::RpcError;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use super::super::tasks::{FoundTask, TaskError, TaskGeneration};
use super::task_access::{self, ReadTask};
use super::tasks::check_declared;
use crate::sandbox::RecordId;

/// Maximum number of tasks in one subscription: more than a caller may have unfinished.
const MAX_TASKS: usize = 256;

/// How long to wait before one of the tasks is read again that could not be read.
const RETRY: Duration = Duration::from_secs(1);

/// The tasks to which one request has subscribed.
pub(super) struct TaskSubscription {
    /// The accepted tasks of which the client has not been told a final status, with the ids as the client wrote them.
    ids: HashMap<RecordId, String>,
    changes: broadcast::Receiver<RecordId>,
    /// Tasks of which the client has to be told.
    changed: VecDeque<RecordId>,
    /// Tasks that could not be read. They are tried again one by one, so that many of them cost no more than one.
    unread: VecDeque<RecordId>,
    /// When the next of those is tried.
    retry_at: Instant,
}

impl TaskSubscription {
    /// Subscribes to the tasks that exist for this caller; `None` if the request names none.
    ///
    /// # Errors
    /// When the client has not declared the extension, names too many tasks, or lacks scopes for one of them, or the
    /// ids cannot be checked now.
    pub(super) async fn open(
        server: &Server,
        context: &RequestContext,
        ids: Option<Vec<String>>,
    ) -> Result<Option<Self>, RpcError> {
        let Some(texts) = ids else { return Ok(None) };
        check_declared(context)?;
        if texts.len() > MAX_TASKS {
            let why = format!("`params.notifications.taskIds` has more than {MAX_TASKS} tasks");
            return Err(RpcError::invalid_params(&why));
        }
        let tasks = &server.call_tasks;
        // Before the tasks are looked up, so that no change is missed in between.
        let changes = tasks.changes();
        let (mut ids, mut changed) = (HashMap::new(), VecDeque::new());
        for text in texts {
            let id = match tasks.id_of(&text, TaskGeneration::Extension, &context.caller).await {
                Ok(id) => id,
                Err(TaskError::Unknown) => continue,
                Err(error) => return Err(error.into()),
            };
            if ids.contains_key(&id) {
                continue;
            }
            match task_access::find(server, context, &text, TaskGeneration::Extension).await {
                Ok(FoundTask::Live(_)) => {}
                // A task that has ended will not change any more, and one that cannot be read now may have ended.
                Ok(FoundTask::Ended(_)) | Err(TaskError::Unreadable) => changed.push_back(id),
                Err(TaskError::Unknown) => continue,
                Err(error @ TaskError::Rejected(_)) => return Err(error.into()),
            }
            ids.insert(id, text);
        }
        Ok(Some(Self { ids, changes, changed, unread: VecDeque::new(), retry_at: Instant::now() }))
    }

    /// The accepted ids.
    pub(super) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.ids.values().map(String::as_str).collect();
        ids.sort_unstable();
        ids
    }

    /// Waits for the next task of which the client has to be told. Cancel-safe.
    ///
    /// # Errors
    /// When the client cannot be told, because memory or scopes are missing.
    pub(super) async fn next(
        &mut self,
        server: &Server,
        context: &RequestContext,
    ) -> Result<ReadTask, RpcError> {
        loop {
            while let Some(id) = self.changed.front().copied() {
                let read = self.read(server, context, &id).await;
                self.changed.pop_front();
                match read {
                    Ok(read) => {
                        if read.0.status().is_final() {
                            self.ids.remove(&id);
                        }
                        self.is_readable(id);
                        return Ok(read);
                    }
                    Err(TaskError::Unreadable) => self.try_again(id),
                    // A task that has expired meanwhile is gone without a notification.
                    Err(TaskError::Unknown) => {
                        self.ids.remove(&id);
                        self.is_readable(id);
                    }
                    Err(error @ TaskError::Rejected(_)) => return Err(error.into()),
                }
            }
            self.wait_for_change().await;
        }
    }

    /// The others can be read too, in all probability.
    fn is_readable(&mut self, id: RecordId) {
        self.unread.retain(|unread| *unread != id);
        self.retry_at = Instant::now();
    }

    fn try_again(&mut self, id: RecordId) {
        if !self.unread.contains(&id) {
            self.unread.push_back(id);
        }
        self.retry_at = Instant::now() + RETRY;
    }

    async fn wait_for_change(&mut self) {
        tokio::select! {
            change = self.changes.recv() => match change {
                Ok(id) => self.changed.extend(self.ids.contains_key(&id).then_some(id)),
                Err(RecvError::Lagged(_)) => self.changed = self.ids.keys().copied().collect(),
                Err(RecvError::Closed) => std::future::pending().await,
            },
            () = tokio::time::sleep_until(self.retry_at), if !self.unread.is_empty() => {
                self.changed.extend(self.unread.pop_front());
            }
        }
    }

    async fn read(
        &self,
        server: &Server,
        context: &RequestContext,
        id: &RecordId,
    ) -> Result<ReadTask, TaskError> {
        let text = self.ids.get(id).ok_or(TaskError::Unknown)?;
        let found = task_access::find(server, context, text, TaskGeneration::Extension).await?;
        task_access::read(server, context, found).await
    }
}
