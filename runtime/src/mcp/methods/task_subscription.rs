//! The tasks of one `subscriptions/listen`: their client is told when their status changes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::super::error::RpcError;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use super::super::tasks::{FoundTask, TaskGeneration, TaskView, Tasks};
use super::tasks::check_declared;
use crate::call_env::Caller;
use crate::sandbox::RecordId;

/// Maximum number of tasks in one subscription: more than a caller may have unfinished.
const MAX_TASKS: usize = 256;

/// The tasks to which one request has subscribed.
pub(super) struct TaskSubscription {
    tasks: Arc<Tasks>,
    caller: Caller,
    /// The accepted tasks, with the ids as the client wrote them.
    ids: HashMap<RecordId, String>,
    changes: broadcast::Receiver<RecordId>,
    /// Tasks of which the client has to be told.
    changed: VecDeque<RecordId>,
}

impl TaskSubscription {
    /// Subscribes to the tasks that exist for this caller; `None` if the request names none.
    ///
    /// # Errors
    /// When the client has not declared the extension, or names too many tasks.
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
        let (tasks, caller) = (Arc::clone(&server.call_tasks), context.caller.clone());
        // Before the tasks are looked up, so that no change is missed in between.
        let changes = tasks.changes();
        let (mut ids, mut changed) = (HashMap::new(), VecDeque::new());
        for text in texts {
            let Some(id) = tasks.id_of(&text, &caller).await else { continue };
            // A result is read once, however often its task is named.
            if ids.contains_key(&id) {
                continue;
            }
            let Ok(found) = tasks.find(&text, TaskGeneration::Extension, &caller).await else { continue };
            // A task that has ended already will not change any more.
            if found.view().status().is_final() {
                changed.push_back(id);
            }
            ids.insert(id, text);
        }
        Ok(Some(Self { tasks, caller, ids, changes, changed }))
    }

    /// The accepted ids.
    pub(super) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.ids.values().map(String::as_str).collect();
        ids.sort_unstable();
        ids
    }

    /// Waits for the next task of which the client has to be told. Cancel-safe.
    pub(super) async fn next(&mut self) -> TaskView {
        loop {
            while let Some(id) = self.changed.front().copied() {
                let found = match self.ids.get(&id) {
                    Some(text) => self.tasks.find(text, TaskGeneration::Extension, &self.caller).await.ok(),
                    None => None,
                };
                self.changed.pop_front();
                // A task that has expired meanwhile is gone without a notification.
                let Some(view) = found.map(FoundTask::view) else { continue };
                if view.status().is_final() {
                    // It will not change any more, and its result is sent once.
                    self.ids.remove(&id);
                }
                return view;
            }
            match self.changes.recv().await {
                Ok(id) => self.changed.extend(self.ids.contains_key(&id).then_some(id)),
                Err(RecvError::Lagged(_)) => self.changed = self.ids.keys().copied().collect(),
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}
