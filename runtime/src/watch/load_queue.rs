//! The queue of loads, which run a few at a time: each reads a file, and makes a plugin of it unless the same version
//! is served already.
//!
//! Loading a file that was compiled before takes milliseconds; compiling may take a minute. So all files pass through
//! the first half of [the loader](super::plugin_loader), and those that have to be compiled wait here for a permit
//! without delaying the others. The smallest file is compiled first, so that a file that takes very long delays no
//! other, and a large one at the end has all processors. The queue owns the order and the failures that only a change
//! can mend. The compiler decides how many files are compiled at a time; the publisher decides what is published.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet, spawn_blocking};

use super::folder_scan::name_of;
use super::load_policy::{LoadPolicy, ServeDecision};
use super::plugin_file_stats::PluginStat;
use super::plugin_loader::{
    CachedEntry, OpenedFile, UncompiledPlugin, compile, internal_failure, load_cached, open,
};
use super::rejected_file::{LoadFailure, RetryPolicy};
use crate::catalog::{Catalog, PluginEntry};
use crate::config::PluginConfig;
use crate::plugin::{CompilePermit, Loader, Plugin};

/// Loads in their first half, which does not compile, for each processor: while one waits for a disk or another thread,
/// the other computes.
const LOADS_PER_PROCESSOR: usize = 2;

/// The fewest and the most of them.
const MIN_LOADING: usize = 4;
const MAX_LOADING: usize = 16;

/// Maximum MiB of files in their first half. A larger file is loaded alone.
const MAX_LOADING_MIB: u32 = 128;

/// Maximum bytes of files that wait to be compiled and stay in memory. Files beyond that are read again: a folder of a
/// thousand new files must not take the memory of a thousand files.
const MAX_WAITING_BYTES: u64 = 64 << 20;

/// How loading a file ended.
#[derive(Debug)]
pub(super) enum LoadOutcome {
    New(Box<PluginEntry>),
    /// The file is this version, which is served already.
    Same(Arc<Plugin>),
    /// The file changed while it was read.
    Changed,
    /// The file is gone, or cannot be examined for now.
    Unavailable,
    Rejected(LoadFailure),
}

/// The result of loading a file that had this stat.
#[derive(Debug)]
pub(super) struct FinishedLoad {
    pub(super) path: PathBuf,
    pub(super) stat: PluginStat,
    /// The policy under which the file was loaded.
    pub(super) policy: Arc<LoadPolicy>,
    pub(super) outcome: LoadOutcome,
}

/// A file to load, and the policy for it.
#[derive(Debug, Clone)]
struct LoadTask {
    path: PathBuf,
    stat: PluginStat,
    policy: Arc<LoadPolicy>,
}

/// How far a load came.
enum LoadStep {
    Finished(LoadOutcome),
    /// The load goes on when there is a permit to compile.
    Uncompiled(Box<ReadFile>),
}

/// A file that was read and has to be compiled.
struct ReadFile {
    plugin: UncompiledPlugin,
    name: String,
    key: LoadKey,
}

/// Files that wait for a permit to compile, the smallest first: each with its size, and with its contents if these stay
/// in memory.
struct WaitingFiles<T, R>(VecDeque<(u64, T, Option<R>)>);

/// Loads that are under way.
type LoadSet = JoinSet<(LoadTask, LoadStep)>;

/// The loads that are under way and those that wait for a compiler.
pub(super) struct LoadQueue {
    worker: Arc<LoadWorker>,
    loading: LoadSet,
    compiling: LoadSet,
    waiting: WaitingFiles<LoadTask, Box<ReadFile>>,
    /// Maximum number of loads in `loading`.
    max_loading: usize,
}

struct LoadWorker {
    loader: Arc<Loader>,
    catalog: Arc<Catalog>,
    /// A permit for each MiB of files in their first half.
    free_mib: Semaphore,
    /// Failures that only a change of the file or its settings can mend.
    known_failures: Mutex<BTreeMap<PathBuf, (LoadKey, LoadFailure)>>,
}

/// What a load depends on: the file's digest and its settings.
type LoadKey = (String, PluginConfig);

impl LoadQueue {
    pub(super) fn new(loader: Arc<Loader>, catalog: Arc<Catalog>) -> Self {
        let free_mib = Semaphore::new(MAX_LOADING_MIB as usize);
        Self {
            worker: Arc::new(LoadWorker { loader, catalog, free_mib, known_failures: Mutex::default() }),
            loading: LoadSet::new(),
            compiling: LoadSet::new(),
            waiting: WaitingFiles(VecDeque::new()),
            max_loading: max_loading(std::thread::available_parallelism().map_or(1, NonZero::get)),
        }
    }

    /// Forgets the failure of a file that is gone.
    pub(super) fn forget(&self, path: &Path) {
        self.worker.known_failures.lock().remove(path);
    }

    /// How many more loads may start.
    pub(super) fn free_loads(&self) -> usize {
        self.max_loading.saturating_sub(self.loading.len())
    }

    /// Whether any load is in its first half.
    pub(super) fn is_loading(&self) -> bool {
        !self.loading.is_empty()
    }

    /// Whether no load is running or waiting.
    pub(super) fn is_idle(&self) -> bool {
        self.loading.is_empty() && self.compiling.is_empty() && self.waiting.0.is_empty()
    }

    /// Starts to load a file that has this `stat`.
    pub(super) fn start(&mut self, path: PathBuf, stat: PluginStat, policy: &Arc<LoadPolicy>) {
        let (worker, task) = (Arc::clone(&self.worker), LoadTask { path, stat, policy: Arc::clone(policy) });
        self.loading.spawn(async move {
            let step = catch_panic(worker.load_cached(&task)).await;
            (task, step)
        });
    }

    /// Removes the loads that wait to be compiled, since the policy has changed, and returns their files.
    pub(super) fn cancel_waiting(&mut self) -> Vec<PathBuf> {
        self.waiting.0.drain(..).map(|(_, task, _)| task.path).collect()
    }

    /// The next load that ends; `None` if its first half ended and it has to be compiled, so that another load may
    /// start. Can be dropped. Waits for ever while nothing is loaded.
    pub(super) async fn next(&mut self) -> Option<FinishedLoad> {
        loop {
            let ended = tokio::select! {
                Some(ended) = self.loading.join_next() => ended,
                Some(ended) = self.compiling.join_next() => ended,
                Some(permit) = self.worker.loader.compile_permit(), if !self.waiting.0.is_empty() => {
                    self.compile_first(permit);
                    continue;
                }
                else => std::future::pending().await,
            };
            return self.finish_task(ended);
        }
    }

    /// A load that has ended already.
    pub(super) fn try_next(&mut self) -> Option<FinishedLoad> {
        while let Some(ended) = self.loading.try_join_next().or_else(|| self.compiling.try_join_next()) {
            if let Some(finished) = self.finish_task(ended) {
                return Some(finished);
            }
        }
        None
    }

    /// Stops all loads. Compiler processes finish on their own, and their results go into the code cache.
    pub(super) async fn shut_down(&mut self) {
        self.loading.shutdown().await;
        self.compiling.shutdown().await;
    }

    fn finish_task(&mut self, ended: Result<(LoadTask, LoadStep), JoinError>) -> Option<FinishedLoad> {
        // `catch_panic` catches panics of a load, so an error here means that the server is stopping.
        let (task, step) = ended.ok()?;
        match step {
            LoadStep::Finished(outcome) => {
                let LoadTask { path, stat, policy } = task;
                Some(FinishedLoad { path, stat, policy, outcome })
            }
            LoadStep::Uncompiled(read) => {
                self.waiting.add(task.stat.size(), task, read);
                None
            }
        }
    }

    /// Starts to compile the smallest file that waits.
    fn compile_first(&mut self, permit: CompilePermit) {
        let Some((_, task, read)) = self.waiting.0.pop_front() else { return };
        let worker = Arc::clone(&self.worker);
        self.compiling.spawn(async move {
            let compiling = async { LoadStep::Finished(worker.compile(&task, read, &permit).await) };
            let step = catch_panic(compiling).await;
            // Released before the task ends: the end wakes the queue, which must find the permit free.
            drop(permit);
            (task, step)
        });
    }
}

impl<T, R> WaitingFiles<T, R> {
    fn add(&mut self, size: u64, task: T, read: R) {
        let held_bytes: u64 = self.0.iter().filter(|(.., read)| read.is_some()).map(|(size, ..)| size).sum();
        let read = Some(read).filter(|_| held_bytes.saturating_add(size) <= MAX_WAITING_BYTES);
        let index = self.0.partition_point(|(waiting, ..)| *waiting <= size);
        self.0.insert(index, (size, task, read));
    }
}

/// Turns a panic of a load into a rejected file.
async fn catch_panic(load: impl Future<Output = LoadStep>) -> LoadStep {
    let step = AssertUnwindSafe(load).catch_unwind().await;
    step.unwrap_or_else(|_| LoadStep::Finished(LoadOutcome::Rejected(internal_failure())))
}

impl LoadWorker {
    /// The first half of a load, which does not compile.
    async fn load_cached(&self, task: &LoadTask) -> LoadStep {
        // The semaphore is never closed; a closed one would let all loads pass.
        let _memory = self.free_mib.acquire_many(file_permits(task.stat.size())).await;
        let opened = match self.open(task).await {
            Ok(opened) => opened,
            Err(outcome) => return LoadStep::Finished(outcome),
        };
        let (name, key) = (opened.name.clone(), load_key(&opened));
        match load_cached(&self.loader, opened).await {
            Ok(CachedEntry::Loaded(entry)) => LoadStep::Finished(self.loaded(&task.path, entry)),
            Ok(CachedEntry::Uncompiled(plugin)) => {
                LoadStep::Uncompiled(Box::new(ReadFile { plugin, name, key }))
            }
            Err(failure) => LoadStep::Finished(self.remember_failure(task, name, key, failure).await),
        }
    }

    /// The second half: compiles the file, which is read again unless it is still in memory and unchanged.
    async fn compile(
        &self,
        task: &LoadTask,
        read: Option<Box<ReadFile>>,
        permit: &CompilePermit,
    ) -> LoadOutcome {
        let read = match read {
            Some(read) if is_unchanged(task).await => read,
            _ => match self.load_cached(task).await {
                LoadStep::Uncompiled(read) => read,
                LoadStep::Finished(outcome) => return outcome,
            },
        };
        let ReadFile { plugin, name, key } = *read;
        match compile(&self.loader, plugin, permit).await {
            Ok(entry) => self.loaded(&task.path, entry),
            Err(failure) => self.remember_failure(task, name, key, failure).await,
        }
    }

    fn loaded(&self, path: &Path, entry: PluginEntry) -> LoadOutcome {
        self.known_failures.lock().remove(path);
        LoadOutcome::New(Box::new(entry))
    }

    /// Remembers a failure that only a change can mend.
    async fn remember_failure(
        &self,
        task: &LoadTask,
        name: String,
        key: LoadKey,
        failure: LoadFailure,
    ) -> LoadOutcome {
        if failure.retry == RetryPolicy::Changed {
            self.known_failures.lock().insert(task.path.clone(), (key, failure.clone()));
        }
        self.rejected(task, name, failure).await
    }

    /// The outcome for a file that cannot be served; also decides whether the served version of that name may go on.
    async fn rejected(&self, task: &LoadTask, name: String, failure: LoadFailure) -> LoadOutcome {
        let (catalog, LoadTask { path, policy, .. }) = (Arc::clone(&self.catalog), task.clone());
        let deciding = spawn_blocking(move || {
            let current = catalog.current();
            current.entry(&name).is_some_and(|known| policy.decide(known, &path) != ServeDecision::Yes)
        });
        let ends_served = deciding.await.unwrap_or_default();
        LoadOutcome::Rejected(LoadFailure { ends_served, ..failure })
    }

    /// Reads the file, unless there is nothing to load.
    async fn open(&self, task: &LoadTask) -> Result<OpenedFile, LoadOutcome> {
        let LoadTask { path, stat, policy } = task.clone();
        let opening = spawn_blocking(move || (open(&policy, &path), PluginStat::of(&path)));
        let opened = match opening.await {
            Ok((opened, Ok(Some(now)))) if now == stat => opened,
            Ok((_, Ok(Some(_)))) => return Err(LoadOutcome::Changed),
            Ok((_, Ok(None) | Err(_))) => return Err(LoadOutcome::Unavailable),
            Err(_) => Err(internal_failure()),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                return Err(self.rejected(task, name_of(&task.path).unwrap_or_default(), failure).await);
            }
        };
        let (digest, settings) = (&opened.artifact.digest, &opened.settings);
        let current = self.catalog.current();
        let known = current.entry(&opened.name);
        if let Some(same) = known.filter(|known| task.policy.is_served(known, digest, settings)) {
            return Err(LoadOutcome::Same(Arc::clone(&same.plugin)));
        }
        let known = self.known_failures.lock().get(&task.path).cloned();
        match known.filter(|(known, _)| *known == load_key(&opened)) {
            Some((_, failure)) => Err(self.rejected(task, opened.name, failure).await),
            None => Ok(opened),
        }
    }
}

/// Maximum number of loads in their first half on so many processors.
fn max_loading(processors: usize) -> usize {
    processors.saturating_mul(LOADS_PER_PROCESSOR).clamp(MIN_LOADING, MAX_LOADING)
}

/// The permits for a file of this size.
fn file_permits(size: u64) -> u32 {
    u32::try_from(size.div_ceil(1 << 20)).unwrap_or(u32::MAX).clamp(1, MAX_LOADING_MIB)
}

fn load_key(opened: &OpenedFile) -> LoadKey {
    (opened.artifact.digest.clone(), opened.settings.clone())
}

/// Whether a file's stat is the same as when the file was read.
async fn is_unchanged(LoadTask { path, stat, .. }: &LoadTask) -> bool {
    let (path, stat) = (path.clone(), *stat);
    let comparing = spawn_blocking(move || PluginStat::of(&path).is_ok_and(|now| now == Some(stat)));
    comparing.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_file_goes_first_and_only_so_much_is_kept_of_those_that_wait() {
        let mut waiting = WaitingFiles(VecDeque::new());
        for (size, name) in [
            (MAX_WAITING_BYTES / 2, "first"),
            (MAX_WAITING_BYTES, "large"),
            (1, "small"),
            (MAX_WAITING_BYTES / 2 - 1, "last"),
        ] {
            waiting.add(size, name, name);
        }
        let order: Vec<_> = waiting.0.into_iter().map(|(_, name, read)| (name, read.is_some())).collect();
        assert_eq!(order, [("small", true), ("last", true), ("first", true), ("large", false)]);
    }

    #[test]
    fn more_processors_load_more_files_and_no_more_bytes() {
        assert_eq!([1, 2, 4, 8, 64].map(max_loading), [4, 4, 8, 16, 16]);
        let sizes = [0, 1, (1 << 20) + 1, 32 << 20, 1 << 30];
        assert_eq!(sizes.map(file_permits), [1, 1, 2, 32, MAX_LOADING_MIB]);
    }
}
