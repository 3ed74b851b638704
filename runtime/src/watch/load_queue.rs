//! The queue of loads, a few side by side: each reads a file, and makes a plugin of it unless that is served already.
//!
//! What was compiled before takes milliseconds, and what was not may take a minute; so all files pass through the first
//! half of [the loader](super::plugin_loader), and those that have to be compiled wait here for a permit and never hold
//! up the others. The smallest goes first, so that one that takes for ever holds up none of the rest; a large one at
//! the end has all processors to itself. The queue owns the order and what was tried in vain; how many files are
//! compiled at a time is up to the compiler, and what becomes of a plugin to the publisher.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use tokio::task::{JoinError, JoinSet, spawn_blocking};

use super::file_stat::PluginStat;
use super::folder_scan::name_of;
use super::load_failure::{LoadFailure, RetryPolicy};
use super::load_policy::{LoadPolicy, ServeDecision};
use super::plugin_loader::{
    CachedEntry, OpenedFile, UncompiledPlugin, compile, internal_failure, load_cached, open,
};
use crate::catalog::{Catalog, PluginEntry};
use crate::config::PluginConfig;
use crate::plugin::{CompilePermit, Loader, Plugin};

/// Files that are loaded at the same time, those apart that have to be compiled.
const QUICK: usize = 4;

/// Bytes of files that wait for a compiler and are kept for it. What waits beyond that is read once more: a folder of a
/// thousand new files must not take the memory of a thousand files.
const HELD: u64 = 64 << 20;

/// How loading a file ended.
#[derive(Debug)]
pub(super) enum LoadOutcome {
    New(Box<PluginEntry>),
    /// It is this version, which is served.
    Same(Arc<Plugin>),
    /// It was changed while it was read.
    Changed,
    /// It is gone, or cannot be looked at for now.
    Unavailable,
    Rejected(LoadFailure),
}

/// A file as it was when it was loaded, and how that ended.
#[derive(Debug)]
pub(super) struct FinishedLoad {
    pub(super) path: PathBuf,
    pub(super) stat: PluginStat,
    /// The policy that held.
    pub(super) policy: Arc<LoadPolicy>,
    pub(super) outcome: LoadOutcome,
}

/// A file, and what holds for it.
#[derive(Debug, Clone)]
struct LoadTask {
    path: PathBuf,
    stat: PluginStat,
    policy: Arc<LoadPolicy>,
}

/// How far a load came.
enum LoadStep {
    Finished(LoadOutcome),
    /// It goes on when there is a permit to compile.
    Uncompiled(Box<ReadFile>),
}

/// What was read of a file that has to be compiled.
struct ReadFile {
    plugin: UncompiledPlugin,
    name: String,
    tried: TriedKey,
}

/// Files that wait for a compiler, the smallest first: each with its bytes, and with what was read of it, if that is
/// kept.
struct WaitingFiles<T, R>(VecDeque<(u64, T, Option<R>)>);

/// Loads that are under way.
type LoadSet = JoinSet<(LoadTask, LoadStep)>;

/// The loads that are under way and those that wait for a compiler.
pub(super) struct LoadQueue {
    worker: Arc<LoadWorker>,
    quick: LoadSet,
    compiling: LoadSet,
    waiting: WaitingFiles<LoadTask, Box<ReadFile>>,
}

struct LoadWorker {
    loader: Arc<Loader>,
    catalog: Arc<Catalog>,
    /// What was tried in vain, and why it was.
    known_failures: Mutex<BTreeMap<PathBuf, (TriedKey, LoadFailure)>>,
}

/// Bytes, by their digest, and settings that were tried together.
type TriedKey = (String, PluginConfig);

impl LoadQueue {
    pub(super) fn new(loader: Arc<Loader>, catalog: Arc<Catalog>) -> Self {
        Self {
            worker: Arc::new(LoadWorker { loader, catalog, known_failures: Mutex::default() }),
            quick: LoadSet::new(),
            compiling: LoadSet::new(),
            waiting: WaitingFiles(VecDeque::new()),
        }
    }

    /// Forgets what was learnt of a file that is gone.
    pub(super) fn forget(&self, path: &Path) {
        self.worker.known_failures().remove(path);
    }

    /// How many more may begin.
    pub(super) fn room(&self) -> usize {
        QUICK.saturating_sub(self.quick.len())
    }

    /// Whether any are under way that do not compile.
    pub(super) fn is_quick(&self) -> bool {
        !self.quick.is_empty()
    }

    /// Whether any are under way or wait.
    pub(super) fn is_idle(&self) -> bool {
        self.quick.is_empty() && self.compiling.is_empty() && self.waiting.0.is_empty()
    }

    /// Loads a file as it is at `stat`.
    pub(super) fn start(&mut self, path: PathBuf, stat: PluginStat, policy: &Arc<LoadPolicy>) {
        let (worker, task) = (Arc::clone(&self.worker), LoadTask { path, stat, policy: Arc::clone(policy) });
        self.quick.spawn(async move {
            let step = caught(worker.load_cached(&task)).await;
            (task, step)
        });
    }

    /// Another policy holds from now on: what waits for a compiler is to be loaded anew. Gives these files.
    pub(super) fn cancel_waiting(&mut self) -> Vec<PathBuf> {
        self.waiting.0.drain(..).map(|(_, task, _)| task.path).collect()
    }

    /// The next one that ends, or `None` when one that was quick has to be compiled, so that there is room for another.
    /// Can be dropped. Ends only when one does.
    pub(super) async fn next(&mut self) -> Option<FinishedLoad> {
        loop {
            let ended = tokio::select! {
                Some(ended) = self.quick.join_next() => ended,
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

    /// One that has ended already.
    pub(super) fn try_next(&mut self) -> Option<FinishedLoad> {
        while let Some(ended) = self.quick.try_join_next().or_else(|| self.compiling.try_join_next()) {
            if let Some(found) = self.finish_task(ended) {
                return Some(found);
            }
        }
        None
    }

    /// Ends: nothing is loaded any more. What is being compiled goes on without this server and is kept.
    pub(super) async fn shut_down(&mut self) {
        self.quick.shutdown().await;
        self.compiling.shutdown().await;
    }

    fn finish_task(&mut self, ended: Result<(LoadTask, LoadStep), JoinError>) -> Option<FinishedLoad> {
        // What a load could fail of is caught in it, so this is the end of the program.
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

    /// Has the smallest of those that wait compiled.
    fn compile_first(&mut self, permit: CompilePermit) {
        let Some((_, task, read)) = self.waiting.0.pop_front() else { return };
        let worker = Arc::clone(&self.worker);
        self.compiling.spawn(async move {
            let compiling = async { LoadStep::Finished(worker.compile(&task, read, &permit).await) };
            let step = caught(compiling).await;
            // Its end makes the queue go on, which must find the permit.
            drop(permit);
            (task, step)
        });
    }
}

impl<T, R> WaitingFiles<T, R> {
    fn add(&mut self, size: u64, task: T, read: R) {
        let held: u64 = self.0.iter().filter(|(.., read)| read.is_some()).map(|(size, ..)| size).sum();
        let read = Some(read).filter(|_| held.saturating_add(size) <= HELD);
        let at = self.0.partition_point(|(waiting, ..)| *waiting <= size);
        self.0.insert(at, (size, task, read));
    }
}

/// A load that fails in itself rejects the file.
async fn caught(load: impl Future<Output = LoadStep>) -> LoadStep {
    let step = AssertUnwindSafe(load).catch_unwind().await;
    step.unwrap_or_else(|_| LoadStep::Finished(LoadOutcome::Rejected(internal_failure())))
}

impl LoadWorker {
    /// The first half of the pass: without compiling.
    async fn load_cached(&self, task: &LoadTask) -> LoadStep {
        let opened = match self.open(task).await {
            Ok(opened) => opened,
            Err(outcome) => return LoadStep::Finished(outcome),
        };
        let (name, tried) = (opened.name.clone(), tried(&opened));
        match load_cached(&self.loader, opened).await {
            Ok(CachedEntry::Loaded(entry)) => LoadStep::Finished(self.loaded(&task.path, entry)),
            Ok(CachedEntry::Uncompiled(plugin)) => {
                LoadStep::Uncompiled(Box::new(ReadFile { plugin, name, tried }))
            }
            Err(failure) => LoadStep::Finished(self.remember_failure(task, name, tried, failure).await),
        }
    }

    /// The second half, of what was read if that was kept and is still what lies there.
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
        let ReadFile { plugin, name, tried } = *read;
        match compile(&self.loader, plugin, permit).await {
            Ok(entry) => self.loaded(&task.path, entry),
            Err(failure) => self.remember_failure(task, name, tried, failure).await,
        }
    }

    fn loaded(&self, path: &Path, entry: PluginEntry) -> LoadOutcome {
        self.known_failures().remove(path);
        LoadOutcome::New(Box::new(entry))
    }

    /// Remembers what nothing but a change can help.
    async fn remember_failure(
        &self,
        task: &LoadTask,
        name: String,
        tried: TriedKey,
        failure: LoadFailure,
    ) -> LoadOutcome {
        if failure.retry == RetryPolicy::Changed {
            self.known_failures().insert(task.path.clone(), (tried, failure.clone()));
        }
        self.rejected(task, name, failure).await
    }

    /// The outcome of a file that cannot be served, which also says whether what is served under its name may go on.
    async fn rejected(&self, task: &LoadTask, name: String, failure: LoadFailure) -> LoadOutcome {
        let (catalog, LoadTask { path, policy, .. }) = (Arc::clone(&self.catalog), task.clone());
        let deciding = spawn_blocking(move || {
            let current = catalog.current();
            current.entry(&name).is_some_and(|known| policy.decide(known, &path) != ServeDecision::Yes)
        });
        let ends_served = deciding.await.unwrap_or_default();
        LoadOutcome::Rejected(LoadFailure { ends_served, ..failure })
    }

    /// Reads it, unless there is nothing to load.
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
        let known = self.known_failures().get(&task.path).cloned();
        match known.filter(|(known, _)| *known == tried(&opened)) {
            Some((_, failure)) => Err(self.rejected(task, opened.name, failure).await),
            None => Ok(opened),
        }
    }

    fn known_failures(&self) -> MutexGuard<'_, BTreeMap<PathBuf, (TriedKey, LoadFailure)>> {
        self.known_failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tried(opened: &OpenedFile) -> TriedKey {
    (opened.artifact.digest.clone(), opened.settings.clone())
}

/// Whether a file still looks as it did when it was read.
async fn is_unchanged(LoadTask { path, stat, .. }: &LoadTask) -> bool {
    let (path, stat) = (path.clone(), *stat);
    let looking = spawn_blocking(move || PluginStat::of(&path).is_ok_and(|now| now == Some(stat)));
    looking.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_file_goes_first_and_only_so_much_is_kept_of_those_that_wait() {
        let mut waiting = WaitingFiles(VecDeque::new());
        for (size, name) in [(HELD / 2, "first"), (HELD, "large"), (1, "small"), (HELD / 2 - 1, "last")] {
            waiting.add(size, name, name);
        }
        let order: Vec<_> = waiting.0.into_iter().map(|(_, name, read)| (name, read.is_some())).collect();
        assert_eq!(order, [("small", true), ("last", true), ("first", true), ("large", false)]);
    }
}
