//! All tasks: the unfinished ones in memory, and the records of all in the key-value database.
//!
//! A record is on the disk before a client learns its id, and a result before anybody sees that the task has
//! completed. The database is opened with the first task, when somebody asks for one, and at the start of the server if
//! there is one. Records are only read to find a task, so on a disk that takes no writes all tasks are found.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::found_task::{EndedTask, FoundTask, TaskError};
use super::live_task::LiveTask;
use super::task_counts::{TaskBounds, TaskCounts, TaskOwner};
use super::task_id::{TaskGeneration, TaskKey};
use super::task_record::{RecordHead, millis};
use super::task_view::TaskView;
use crate::call_env::Caller;
use crate::mcp::buffer_budget::BufferBudget;
use crate::mcp::random_tokens;
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
    /// Counts results until they are on the disk.
    pub(in crate::mcp) buffers: Arc<BufferBudget>,
    /// Runs the task drivers.
    pub(in crate::mcp) tracker: TaskTracker,
    /// Cancelled when the server begins to stop.
    pub(in crate::mcp) stopping: CancellationToken,
}

/// All tasks.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(super) settings: TaskSettings,
    table: RecordTable,
    key: OnceCell<TaskKey>,
    live: Mutex<HashMap<RecordId, Arc<LiveTask>>>,
    counts: Mutex<TaskCounts>,
    changes: broadcast::Sender<RecordId>,
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
        let new_key = [random_tokens::bits()?, random_tokens::bits()?].concat().try_into().ok()?;
        let key = self.key(Some(new_key)).await.ok()?;
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
    ) -> Result<FoundTask, TaskError> {
        let id = self.id_of(text, generation, caller).await?;
        if let Some(live) = self.live.lock().get(&id) {
            return Ok(FoundTask::Live(Arc::clone(live)));
        }
        let head = self.blocking(move |table| table.head(&id)).await?;
        let head = head.and_then(|head| RecordHead::read(&head)).ok_or(TaskError::Unknown)?;
        if head.expires() <= millis(SystemTime::now()) {
            return Err(TaskError::Unknown);
        }
        Ok(FoundTask::Ended(Box::new(EndedTask::new(id, text, generation, head))))
    }

    /// Reads the result of a task that has ended. The caller has made room for it.
    ///
    /// # Errors
    /// When the database cannot be read, or the task has expired meanwhile.
    pub(in crate::mcp) async fn read(&self, ended: EndedTask) -> Result<TaskView, TaskError> {
        let Some(id) = ended.unread() else { return Ok(ended.into_view(None)) };
        let outcome = self.blocking(move |table| table.body(&id)).await?.ok_or(TaskError::Unknown)?;
        Ok(ended.into_view(Some(outcome.into())))
    }

    /// The id in this text.
    ///
    /// # Errors
    /// When it is none of the caller's, or the database cannot be read.
    pub(in crate::mcp) async fn id_of(
        &self,
        text: &str,
        generation: TaskGeneration,
        caller: &Caller,
    ) -> Result<RecordId, TaskError> {
        let key = self.key(None).await?;
        key.verify(text, generation, caller.principal_id().map(|id| &**id)).ok_or(TaskError::Unknown)
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

    /// Learns which records an earlier server has left, so that they count and expire.
    pub(in crate::mcp) async fn load(&self) {
        if self.table.exists() {
            // The database logs its errors. The next use tries again.
            let _ = self.key(None).await;
        }
    }

    /// Deletes the records that have expired. What cannot be deleted now is tried again.
    pub(in crate::mcp) async fn sweep(&self) {
        let expired = self.counts.lock().expired(millis(SystemTime::now()));
        if expired.is_empty() {
            return;
        }
        let ids: Vec<RecordId> = expired.iter().map(|(_, id)| *id).collect();
        if self.blocking(move |table| table.delete(&ids)).await.is_ok() {
            self.counts.lock().deleted(&expired);
        }
    }

    pub(super) fn insert(&self, live: &Arc<LiveTask>) {
        self.live.lock().insert(live.id, Arc::clone(live));
    }

    /// Counts the result of a task, if it can be stored.
    pub(super) fn add_result(&self, owner: &TaskOwner, bytes: usize) -> bool {
        self.counts.lock().add_result(owner, bytes as u64)
    }

    /// A task has ended, and its record is written, with a counted result of `bytes`.
    pub(super) fn ended(&self, live: &LiveTask, bytes: usize) {
        let mut counts = self.counts.lock();
        counts.keep(&live.owner, (live.head.expires(), live.id), bytes as u64);
        counts.end(&live.owner);
        drop(counts);
        self.live.lock().remove(&live.id);
        self.changed(live);
    }

    /// A task has ended, or was never answered, and nothing of it stays. Its record is deleted with others that have
    /// expired; until then it counts as unfinished, so that nobody makes more work for the disk than it can do.
    pub(super) async fn removed(&self, owner: &TaskOwner, record: Option<RecordId>, bytes: usize) {
        let Some(id) = record else { return self.counts.lock().end_without_record(owner) };
        self.live.lock().remove(&id);
        self.counts.lock().keep(owner, (0, id), bytes as u64);
        self.sweep().await;
        self.counts.lock().end(owner);
        // Whoever waits for the task is told; an error means that nobody does.
        let _ = self.changes.send(id);
    }

    /// Stores a record, or replaces it.
    pub(super) async fn write(
        &self,
        id: RecordId,
        head: &RecordHead,
        outcome: Option<Bytes>,
    ) -> Result<(), TaskError> {
        let head = head.write();
        self.blocking(move |table| table.put(&id, &head, outcome.as_deref())).await
    }

    /// The key of ids. The first use opens the database and counts what is stored there; if there is no key yet, `new`
    /// becomes it.
    async fn key(&self, new: Option<[u8; 32]>) -> Result<&TaskKey, TaskError> {
        let open = || async {
            let read = move |table: &RecordTable| -> Result<_, KvError> {
                let key = match (table.key()?, new) {
                    (None, Some(new)) => Some(table.make_key(new)?),
                    (stored, _) => stored,
                };
                let heads = table.read_heads(|id, head| Some((id, RecordHead::read(head)?)))?;
                Ok((key, heads))
            };
            let (key, heads) = self.blocking(read).await?;
            // Without a key no id was answered.
            let key = key.and_then(|key| TaskKey::new(&key)).ok_or(TaskError::Unknown)?;
            let mut counts = self.counts.lock();
            for (id, head) in heads.into_iter().flatten() {
                counts.load(head.caller.as_str().into(), (head.expires(), id), head.bytes as u64);
            }
            Ok(key)
        };
        self.key.get_or_try_init(open).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&RecordTable) -> Result<T, KvError> + Send + 'static,
    ) -> Result<T, TaskError> {
        let table = self.table.clone();
        match tokio::task::spawn_blocking(move || work(&table)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(KvError::Nowhere)) => Err(TaskError::Unknown),
            // A panic is no success.
            Ok(Err(_)) | Err(_) => Err(TaskError::Unreadable),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::task_record::TaskStatus;
    use super::super::task_record::tests::head;
    use super::*;

    const EXTENSION: TaskGeneration = TaskGeneration::Extension;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A caller may store 1 MiB.
    pub(in super::super) fn tasks(database: Arc<KvDatabase>, ttl: Duration) -> Arc<Tasks> {
        let (bounds, max_wait) = (TaskBounds { tasks: 9, bytes: 8 << 20 }, MINUTE);
        let (tracker, stopping, buffers) =
            (TaskTracker::new(), CancellationToken::new(), BufferBudget::new(64 << 20));
        Tasks::new(database, TaskSettings { bounds, ttl, max_wait, buffers, tracker, stopping })
    }

    fn stored(status: TaskStatus, bytes: usize) -> RecordHead {
        RecordHead { created: millis(SystemTime::now()), bytes, ..head(status) }
    }

    #[tokio::test]
    async fn a_result_is_read_after_its_head_and_what_was_interrupted_has_failed() {
        let dir = tempfile::tempdir().unwrap();
        let database = || KvDatabase::new(dir.path().to_owned());
        let before = tasks(database(), MINUTE);
        let (id, text) = before.new_id(EXTENSION, &Caller::Stdio).await.unwrap();
        let (running, running_text) = before.new_id(EXTENSION, &Caller::Stdio).await.unwrap();
        let outcome = Bytes::from_static(b"{\"x\":\"\n\"}");
        before.write(id, &stored(TaskStatus::Completed, outcome.len()), Some(outcome.clone())).await.unwrap();
        before.write(running, &stored(TaskStatus::Working, 0), None).await.unwrap();
        drop(before);
        let after = tasks(database(), MINUTE);
        after.load().await;
        assert_eq!(after.totals(), (0, 2), "records of an earlier server count without a request");
        let read = async |text: &str| match after.find(text, EXTENSION, &Caller::Stdio).await {
            Ok(FoundTask::Ended(ended)) => after.read(*ended).await.unwrap(),
            found => panic!("{found:?}"),
        };
        let view = read(&text).await;
        assert_eq!((view.status(), view.outcome()), (TaskStatus::Completed, Some(&outcome)));
        let view = read(&running_text).await;
        assert!(view.status() == TaskStatus::Failed && view.outcome().is_some());
        let foreign = after.find(&text, TaskGeneration::Experimental, &Caller::Stdio).await;
        assert!(matches!(foreign, Err(TaskError::Unknown)));
    }

    #[tokio::test]
    async fn without_a_database_no_task_is_known_and_with_a_broken_one_no_task_can_be_read() {
        let any = "A".repeat(43);
        let find = async |tasks: Arc<Tasks>| tasks.find(&any, EXTENSION, &Caller::Stdio).await;
        assert!(matches!(find(tasks(KvDatabase::of_state(None), MINUTE)).await, Err(TaskError::Unknown)));
        let dir = tempfile::tempdir().unwrap();
        let new = KvDatabase::new(dir.path().to_owned());
        assert!(matches!(find(tasks(new, MINUTE)).await, Err(TaskError::Unknown)));
        let file = dir.path().join("file");
        std::fs::write(&file, "no folder").unwrap();
        assert!(matches!(find(tasks(KvDatabase::new(file), MINUTE)).await, Err(TaskError::Unreadable)));
    }

    #[tokio::test]
    async fn a_task_is_unknown_when_its_time_is_over_although_its_record_is_still_there() {
        let dir = tempfile::tempdir().unwrap();
        let tasks = tasks(KvDatabase::new(dir.path().to_owned()), MINUTE);
        let (id, text) = tasks.new_id(EXTENSION, &Caller::Stdio).await.unwrap();
        let find = async || tasks.find(&text, EXTENSION, &Caller::Stdio).await;
        let head = stored(TaskStatus::Completed, 0);
        tasks.write(id, &head, None).await.unwrap();
        assert!(matches!(find().await, Ok(FoundTask::Ended(_))));
        let expired = RecordHead { created: head.created - head.ttl_ms, ..head };
        tasks.write(id, &expired, None).await.unwrap();
        assert!(matches!(find().await, Err(TaskError::Unknown)));
        assert!(tasks.table.head(&id).unwrap().is_some());
    }

    #[tokio::test]
    async fn a_record_counts_until_it_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        let tasks = tasks(KvDatabase::new(folder.clone()), MINUTE);
        let owner = TaskOwner { caller: "stdio".into(), plugin: "p".into() };
        assert!(tasks.admit(&owner, 1));
        let (id, _) = tasks.new_id(EXTENSION, &Caller::Stdio).await.unwrap();
        tasks.write(id, &stored(TaskStatus::Working, 0), None).await.unwrap();
        // The database closes when it is idle, and then cannot be opened any more.
        let moved = dir.path().join("moved");
        std::fs::rename(&folder, &moved).unwrap();
        std::fs::write(&folder, "no folder").unwrap();
        while tasks.table.head(&id).is_ok() {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        tasks.removed(&owner, Some(id), 0).await;
        assert_eq!(tasks.totals(), (0, 1), "deleting failed");
        std::fs::remove_file(&folder).unwrap();
        std::fs::rename(&moved, &folder).unwrap();
        tasks.sweep().await;
        assert_eq!(tasks.totals(), (0, 0));
        assert_eq!(tasks.table.head(&id).unwrap(), None);
    }
}
