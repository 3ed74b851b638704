//! All tasks: the unfinished ones in memory, and the records of all in the key-value database.
//!
//! A record is on the disk before a client learns its id, and a result before anybody sees that the task has
//! completed. The database is opened with the first task, or when somebody asks for one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::live_task::LiveTask;
use super::task_counts::{TaskBounds, TaskCounts, TaskOwner};
use super::task_id::{TaskGeneration, TaskKey};
use super::task_record::{RecordHead, TaskRecord, TaskStatus, millis};
use super::task_view::TaskView;
use crate::call_env::Caller;
use crate::mcp::error::RpcError;
use crate::mcp::random_tokens;
use crate::mcp::revision::Revision;
use crate::sandbox::{KvDatabase, KvError, RecordId, RecordTable};

/// How many changes a listener may be behind. One that is further behind is told of all its tasks.
const CHANGES: usize = 256;

/// What the server sets for its tasks.
#[derive(Debug)]
pub(in crate::mcp) struct TaskSettings {
    pub(in crate::mcp) bounds: TaskBounds,
    pub(in crate::mcp) ttl: Duration,
    /// How long a task waits for a response of its client.
    pub(in crate::mcp) max_wait: Duration,
    /// Runs the keepers.
    pub(in crate::mcp) tracker: TaskTracker,
    /// Cancelled when the server begins to stop.
    pub(in crate::mcp) stopping: CancellationToken,
}

/// All tasks.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(super) table: RecordTable,
    pub(super) settings: TaskSettings,
    key: OnceCell<TaskKey>,
    live: Mutex<HashMap<RecordId, Arc<LiveTask>>>,
    counts: Mutex<TaskCounts>,
    changes: broadcast::Sender<RecordId>,
}

/// A task that a client asked for.
#[derive(Debug)]
pub(in crate::mcp) enum FoundTask {
    Live(Arc<LiveTask>),
    Ended(Box<TaskView>),
}

impl FoundTask {
    pub(in crate::mcp) fn view(self) -> TaskView {
        match self {
            Self::Live(live) => live.view(),
            Self::Ended(view) => *view,
        }
    }
}

impl Tasks {
    pub(in crate::mcp) fn new(database: Arc<KvDatabase>, settings: TaskSettings) -> Arc<Self> {
        Arc::new(Self {
            table: RecordTable::new(database),
            counts: Mutex::new(TaskCounts::new(settings.bounds)),
            settings,
            key: OnceCell::new(),
            live: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES),
        })
    }

    /// Counts a new task, if there is room for it.
    pub(super) fn admit(&self, owner: &TaskOwner, max_tasks: usize) -> bool {
        self.counts.lock().admit(owner, max_tasks)
    }

    /// A new id of this caller, and its text. `None` where there is no disk or no randomness.
    pub(super) async fn new_id(
        &self,
        generation: TaskGeneration,
        caller: &Caller,
    ) -> Option<(RecordId, String)> {
        let key = self.key().await.ok()?;
        let id = random_tokens::bits()?;
        let text = key.sign(&id, generation, caller.principal_id().map(|id| &**id));
        Some((id, text))
    }

    /// Finds the task with this id of the caller.
    ///
    /// # Errors
    /// When there is none, or the database cannot be read.
    pub(in crate::mcp) async fn find(
        &self,
        text: &str,
        generation: TaskGeneration,
        caller: &Caller,
    ) -> Result<FoundTask, RpcError> {
        let key = self.key().await.map_err(|_| unknown())?;
        let principal = caller.principal_id().map(|id| &**id);
        let id = key.verify(text, generation, principal).ok_or_else(unknown)?;
        if let Some(live) = self.live.lock().get(&id) {
            return Ok(FoundTask::Live(Arc::clone(live)));
        }
        let table = self.table.clone();
        let read = tokio::task::spawn_blocking(move || table.get(&id)).await;
        let read = read.map_err(|_| unreadable())?.map_err(|_| unreadable())?;
        let record = read.and_then(TaskRecord::read).ok_or_else(unknown)?;
        if record.head.expires() <= millis(SystemTime::now()) {
            return Err(unknown());
        }
        let record = if record.head.status.is_final() { record } else { interrupted(record) };
        let view = TaskView { id: text.to_owned(), generation, record, open: Vec::new() };
        Ok(FoundTask::Ended(Box::new(view)))
    }

    /// Finds the task with this id that a tool of `plugin` became for a client without tasks.
    ///
    /// # Errors
    /// As [`Tasks::find`].
    pub(in crate::mcp) async fn find_bridged(
        &self,
        text: &str,
        (revision, caller): (Revision, &Caller),
        plugin: &str,
    ) -> Result<FoundTask, RpcError> {
        let found = self.find(text, TaskGeneration::Bridge(revision), caller).await?;
        let head = match &found {
            FoundTask::Live(live) => &live.head,
            FoundTask::Ended(view) => &view.record.head,
        };
        if head.plugin == plugin { Ok(found) } else { Err(unknown()) }
    }

    /// The id in this text; `None` unless it is one of the caller's.
    pub(in crate::mcp) async fn id_of(&self, text: &str, caller: &Caller) -> Option<RecordId> {
        let principal = caller.principal_id().map(|id| &**id);
        self.key().await.ok()?.verify(text, TaskGeneration::Extension, principal)
    }

    /// Receives the ids of tasks whose status changes from now on.
    pub(in crate::mcp) fn changes(&self) -> broadcast::Receiver<RecordId> {
        self.changes.subscribe()
    }

    /// Tells listeners that the status of a task has changed.
    pub(in crate::mcp) fn changed(&self, live: &LiveTask) {
        // An error means that nobody listens.
        let _ = self.changes.send(live.id);
    }

    /// Unfinished tasks, and records of finished ones.
    pub(in crate::mcp) fn totals(&self) -> (usize, usize) {
        self.counts.lock().totals()
    }

    /// Deletes the records that have expired.
    pub(in crate::mcp) async fn sweep(&self) {
        let expired = self.counts.lock().take_expired(millis(SystemTime::now()));
        if !expired.is_empty() {
            self.delete(expired).await;
        }
    }

    pub(super) fn insert(&self, live: &Arc<LiveTask>) {
        self.live.lock().insert(live.id, Arc::clone(live));
    }

    /// Whether a record of this size can be stored.
    pub(super) fn fits(&self, owner: &TaskOwner, bytes: usize) -> bool {
        self.counts.lock().fits(owner, bytes as u64)
    }

    /// A task has ended, and its record is written.
    pub(super) fn ended(&self, live: &LiveTask, bytes: usize) {
        let mut counts = self.counts.lock();
        counts.end(&live.owner);
        counts.store(Arc::clone(&live.owner.caller), live.id, live.head.expires(), bytes as u64);
        drop(counts);
        self.live.lock().remove(&live.id);
        self.changed(live);
    }

    /// A task has ended, or was never answered, and nothing of it stays.
    pub(super) async fn removed(&self, owner: &TaskOwner, id: Option<RecordId>) {
        self.counts.lock().end(owner);
        if let Some(id) = id {
            self.live.lock().remove(&id);
            self.delete(vec![id]).await;
        }
    }

    pub(super) async fn write(&self, id: RecordId, record: &TaskRecord) -> Result<(), KvError> {
        let (table, bytes) = (self.table.clone(), record.write());
        let written = tokio::task::spawn_blocking(move || table.put(&id, &bytes)).await;
        // A panic is no success.
        written.unwrap_or(Err(KvError::Nowhere))
    }

    async fn delete(&self, ids: Vec<RecordId>) {
        let table = self.table.clone();
        // What cannot be deleted now has expired all the same, and is found when the server starts again.
        let deleted = tokio::task::spawn_blocking(move || table.delete(&ids)).await;
        if let Ok(Err(error)) = deleted {
            tracing::debug!(%error, "expired tasks stay on the disk for now");
        }
    }

    /// The key of ids. The first use opens the database and counts what is stored there.
    async fn key(&self) -> Result<&TaskKey, KvError> {
        let open = || async {
            let halves = [random_tokens::bits(), random_tokens::bits()].map(Option::unwrap_or_default);
            let new: [u8; 32] = halves.concat().try_into().unwrap_or_default();
            let table = self.table.clone();
            let read = move || -> Result<_, KvError> {
                let key = table.key(new)?;
                let sized = |id, record: &[u8]| Some((id, RecordHead::read(record)?, record.len()));
                Ok((key, table.read_all(sized)?))
            };
            let read = tokio::task::spawn_blocking(read).await.unwrap_or(Err(KvError::Nowhere));
            let (key, records) = read?;
            let mut counts = self.counts.lock();
            for (id, head, bytes) in records.into_iter().flatten() {
                counts.store(head.caller.as_str().into(), id, head.expires(), bytes as u64);
            }
            drop(counts);
            TaskKey::new(&key).ok_or(KvError::Nowhere)
        };
        self.key.get_or_try_init(open).await
    }
}

/// A record of a task that ran when the server ended.
fn interrupted(mut record: TaskRecord) -> TaskRecord {
    let error = RpcError::internal("the server restarted before the task had ended; call again");
    record.head.status = TaskStatus::Failed;
    record.head.message = Some(error.message.clone());
    record.outcome = serde_json::to_vec(&error).ok().map(Into::into);
    record
}

/// The error for an id of no task, which is the same whatever the reason.
fn unknown() -> RpcError {
    RpcError::invalid_params("there is no task with this `taskId`; it may have expired")
}

fn unreadable() -> RpcError {
    RpcError::internal("the task cannot be read now; try again")
}
