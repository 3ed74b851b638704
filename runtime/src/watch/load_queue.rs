//! The queue of loads, a few side by side: each reads a file, and makes a plugin of it unless that is served already.
//!
//! What was compiled before takes milliseconds, and what was not may take a minute; so files of the first kind go first and
//! never wait for the second. Of those that wait for a compiler the smallest goes first, so that one that takes for ever
//! holds up none of the others; a large one at the end has all processors to itself.

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
use super::plugin_loader::{OpenedFile, SIDE_BY_SIDE, internal_failure, load, load_cached, open};
use crate::catalog::{Catalog, PluginEntry};
use crate::config::PluginConfig;
use crate::plugin::Loader;

/// Files that are looked into at the same time, those apart that have to be compiled.
const QUICK: usize = 4;

/// How looking into a file ended.
#[derive(Debug)]
pub(super) enum LoadOutcome {
    New(Box<PluginEntry>),
    /// It is what is served.
    Same,
    /// It was changed while it was read.
    Changed,
    /// It is gone, or cannot be looked at for now.
    Unavailable,
    Rejected(LoadFailure),
}

/// A file as it was when it was looked into, and how that ended.
#[derive(Debug)]
pub(super) struct FinishedLoad {
    pub(super) path: PathBuf,
    pub(super) stat: PluginStat,
    /// By what it was judged.
    pub(super) policy: Arc<LoadPolicy>,
    pub(super) outcome: LoadOutcome,
}

/// A file, and what holds for it.
type LoadTask = (PathBuf, PluginStat, Arc<LoadPolicy>);

/// A look that is under way: a quick one ends with `None` when the file has to be compiled.
type LoadSet = JoinSet<(LoadTask, Option<LoadOutcome>)>;

/// The looks that are under way and those that wait for a compiler.
pub(super) struct LoadQueue {
    worker: Arc<LoadWorker>,
    quick: LoadSet,
    compiling: LoadSet,
    waiting: VecDeque<LoadTask>,
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
            waiting: VecDeque::new(),
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
        self.quick.is_empty() && self.compiling.is_empty() && self.waiting.is_empty()
    }

    /// Looks into a file as it is at `stat`.
    pub(super) fn start(&mut self, path: PathBuf, stat: PluginStat, policy: &Arc<LoadPolicy>) {
        let (worker, policy) = (Arc::clone(&self.worker), Arc::clone(policy));
        self.quick.spawn(async move {
            let outcome = caught(worker.load_if_cached(&policy, &path, stat)).await;
            ((path, stat, policy), outcome)
        });
    }

    /// Another policy holds from now on: what waits for a compiler is to be loaded anew. Gives these files.
    pub(super) fn cancel_waiting(&mut self) -> Vec<PathBuf> {
        self.waiting.drain(..).map(|(path, ..)| path).collect()
    }

    /// The next one that ends, or `None` when one that was quick has to be compiled, so that there is room for another. Can be
    /// dropped. Ends only when one does.
    pub(super) async fn next(&mut self) -> Option<FinishedLoad> {
        self.compile();
        let ended = tokio::select! {
            Some(ended) = self.quick.join_next() => ended,
            Some(ended) = self.compiling.join_next() => ended,
            else => std::future::pending().await,
        };
        self.finish_task(ended)
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

    /// Ends: nothing is looked into any more. What is being compiled goes on without this server and is kept.
    pub(super) async fn shut_down(&mut self) {
        self.quick.shutdown().await;
        self.compiling.shutdown().await;
    }

    fn finish_task(
        &mut self,
        ended: Result<(LoadTask, Option<LoadOutcome>), JoinError>,
    ) -> Option<FinishedLoad> {
        // What a look could fail of is caught in it, so this is the end of the program.
        let (task, outcome) = ended.ok()?;
        let Some(outcome) = outcome else {
            let size = |(_, stat, _): &LoadTask| stat.size();
            let at = self.waiting.partition_point(|waiting| size(waiting) <= size(&task));
            self.waiting.insert(at, task);
            self.compile();
            return None;
        };
        let (path, stat, policy) = task;
        Some(FinishedLoad { path, stat, policy, outcome })
    }

    fn compile(&mut self) {
        while self.compiling.len() < SIDE_BY_SIDE
            && let Some((path, stat, policy)) = self.waiting.pop_front()
        {
            let worker = Arc::clone(&self.worker);
            self.compiling.spawn(async move {
                let outcome = caught(worker.load(&policy, &path, stat)).await;
                ((path, stat, policy), outcome)
            });
        }
    }
}

/// A look that fails in itself refuses the file.
async fn caught(load: impl Future<Output = Option<LoadOutcome>>) -> Option<LoadOutcome> {
    let outcome = AssertUnwindSafe(load).catch_unwind().await;
    outcome.unwrap_or_else(|_| Some(LoadOutcome::Rejected(internal_failure())))
}

impl LoadWorker {
    /// Without compiling.
    async fn load_if_cached(
        &self,
        policy: &Arc<LoadPolicy>,
        path: &Path,
        stat: PluginStat,
    ) -> Option<LoadOutcome> {
        let opened = match self.open(policy, path, stat).await {
            Ok(opened) => opened,
            Err(outcome) => return Some(outcome),
        };
        let (name, tried) = (opened.name.clone(), tried(&opened));
        match load_cached(&self.loader, opened).await {
            Ok(Some(entry)) => Some(self.loaded(path, entry)),
            Ok(None) => None,
            Err(failure) => Some(self.remember_failure(policy, path, (name, tried), failure).await),
        }
    }

    async fn load(&self, policy: &Arc<LoadPolicy>, path: &Path, stat: PluginStat) -> Option<LoadOutcome> {
        let opened = match self.open(policy, path, stat).await {
            Ok(opened) => opened,
            Err(outcome) => return Some(outcome),
        };
        let (name, tried) = (opened.name.clone(), tried(&opened));
        Some(match load(&self.loader, opened).await {
            Ok(entry) => self.loaded(path, entry),
            Err(failure) => self.remember_failure(policy, path, (name, tried), failure).await,
        })
    }

    fn loaded(&self, path: &Path, entry: PluginEntry) -> LoadOutcome {
        self.known_failures().remove(path);
        LoadOutcome::New(Box::new(entry))
    }

    /// Remembers what nothing but a change can help.
    async fn remember_failure(
        &self,
        policy: &Arc<LoadPolicy>,
        path: &Path,
        (name, tried): (String, TriedKey),
        failure: LoadFailure,
    ) -> LoadOutcome {
        if failure.retry == RetryPolicy::Changed {
            self.known_failures().insert(path.to_owned(), (tried, failure.clone()));
        }
        let ends_served = self.ends_served(policy, path, name).await;
        LoadOutcome::Rejected(LoadFailure { ends_served, ..failure })
    }

    /// Whether what is served under this name may not go on.
    async fn ends_served(&self, policy: &Arc<LoadPolicy>, path: &Path, name: String) -> bool {
        let (catalog, policy, path) = (Arc::clone(&self.catalog), Arc::clone(policy), path.to_owned());
        let deciding = spawn_blocking(move || {
            let current = catalog.current();
            current.entry(&name).is_some_and(|known| policy.decide(known, &path) != ServeDecision::Yes)
        });
        deciding.await.unwrap_or_default()
    }

    /// Reads it, unless there is nothing to load.
    async fn open(
        &self,
        policy: &Arc<LoadPolicy>,
        path: &Path,
        stat: PluginStat,
    ) -> Result<OpenedFile, LoadOutcome> {
        let (held, from) = (Arc::clone(policy), path.to_owned());
        let opening = spawn_blocking(move || {
            let opened = open(&held, &from);
            (opened, PluginStat::of(&from))
        });
        let opened = match opening.await {
            Ok((opened, Ok(Some(now)))) if now == stat => opened,
            Ok((_, Ok(Some(_)))) => return Err(LoadOutcome::Changed),
            Ok((_, Ok(None) | Err(_))) => return Err(LoadOutcome::Unavailable),
            Err(_) => Err(internal_failure()),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                let name = name_of(path).unwrap_or_default();
                let ends_served = self.ends_served(policy, path, name).await;
                return Err(LoadOutcome::Rejected(LoadFailure { ends_served, ..failure }));
            }
        };
        let current = self.catalog.current();
        if current
            .entry(&opened.name)
            .is_some_and(|known| policy.is_served(known, &opened.artifact.digest, &opened.settings))
        {
            return Err(LoadOutcome::Same);
        }
        let known = self.known_failures().get(path).filter(|(known, _)| *known == tried(&opened)).cloned();
        match known {
            Some((_, failure)) => {
                let ends_served = self.ends_served(policy, path, opened.name).await;
                Err(LoadOutcome::Rejected(LoadFailure { ends_served, ..failure }))
            }
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
