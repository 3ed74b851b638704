//! The tasks of one `subscriptions/listen`: their client is told when their status changes.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::super::error::RpcError;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use super::super::tasks::{FoundTask, TaskError, TaskGeneration};
use super::task_access::{self, ReadTask};
use super::tasks::check_declared;
use crate::sandbox::RecordId;

/// Maximum number of tasks in one subscription: more than a caller may have unfinished.
const MAX_TASKS: usize = 256;

/// How long to wait before a task is read again that could not be read.
const RETRY: Duration = Duration::from_secs(1);

/// The tasks to which one request has subscribed.
pub(super) struct TaskSubscription {
    /// The accepted tasks of which the client has not been told a final status, with the ids as the client wrote them.
    ids: HashMap<RecordId, String>,
    changes: broadcast::Receiver<RecordId>,
    /// Tasks of which the client has to be told.
    changed: VecDeque<RecordId>,
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
        Ok(Some(Self { ids, changes, changed }))
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
                match self.read(server, context, &id).await {
                    Ok(read) => {
                        self.changed.pop_front();
                        if read.0.status().is_final() {
                            self.ids.remove(&id);
                        }
                        return Ok(read);
                    }
                    Err(TaskError::Unreadable) => tokio::time::sleep(RETRY).await,
                    // A task that has expired meanwhile is gone without a notification.
                    Err(TaskError::Unknown) => {
                        self.changed.pop_front();
                        self.ids.remove(&id);
                    }
                    Err(error @ TaskError::Rejected(_)) => return Err(error.into()),
                }
            }
            match self.changes.recv().await {
                Ok(id) => self.changed.extend(self.ids.contains_key(&id).then_some(id)),
                Err(RecvError::Lagged(_)) => self.changed = self.ids.keys().copied().collect(),
                Err(RecvError::Closed) => std::future::pending().await,
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
