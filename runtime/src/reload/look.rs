//! Looks into files, a few side by side: reads one, and makes a plugin of it unless it is what is served already.
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

use super::load::{Opened, SIDE_BY_SIDE, load, load_kept, open, unexamined};
use super::refusal::{Again, Refusal};
use super::scan::name_of;
use super::stamp::Sight;
use super::terms::{Permit, Terms};
use crate::catalog::{Catalog, Entry};
use crate::config::PluginConfig;
use crate::plugin::Loader;

/// Files that are looked into at the same time, those apart that have to be compiled.
const QUICK: usize = 4;

/// How looking into a file ended.
#[derive(Debug)]
pub(super) enum Looked {
    New(Box<Entry>),
    /// It is what is served.
    Same,
    /// It was changed while it was read.
    Changed,
    /// It is gone, or cannot be looked at for now.
    Unseen,
    Refused(Refusal),
}

/// A file as it was when it was looked into, and how that ended.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) sight: Sight,
    /// By what it was judged.
    pub(super) terms: Arc<Terms>,
    pub(super) looked: Looked,
}

/// A file, and what holds for it.
type Task = (PathBuf, Sight, Arc<Terms>);

/// A look that is under way: a quick one ends with `None` when the file has to be compiled.
type Looking = JoinSet<(Task, Option<Looked>)>;

/// The looks that are under way and those that wait for a compiler.
pub(super) struct Looks {
    looker: Arc<Looker>,
    quick: Looking,
    compiling: Looking,
    waiting: VecDeque<Task>,
}

struct Looker {
    loader: Arc<Loader>,
    catalog: Arc<Catalog>,
    /// What was tried in vain, and why it was.
    hopeless: Mutex<BTreeMap<PathBuf, (Tried, Refusal)>>,
}

/// Bytes, by their digest, and settings that were tried together.
type Tried = (String, PluginConfig);

impl Looks {
    pub(super) fn new(loader: Arc<Loader>, catalog: Arc<Catalog>) -> Self {
        Self {
            looker: Arc::new(Looker { loader, catalog, hopeless: Mutex::default() }),
            quick: Looking::new(),
            compiling: Looking::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Forgets what was learnt of a file that is gone.
    pub(super) fn forget(&self, path: &Path) {
        self.looker.hopeless().remove(path);
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

    /// Looks into a file as it is at `sight`.
    pub(super) fn begin(&mut self, path: PathBuf, sight: Sight, terms: &Arc<Terms>) {
        let (looker, terms) = (Arc::clone(&self.looker), Arc::clone(terms));
        self.quick.spawn(async move {
            let looked = caught(looker.look_quickly(&terms, &path, sight)).await;
            ((path, sight, terms), looked)
        });
    }

    /// Other terms hold from now on: what waits for a compiler is to be looked into anew. Gives these files.
    pub(super) fn judged_anew(&mut self) -> Vec<PathBuf> {
        self.waiting.drain(..).map(|(path, ..)| path).collect()
    }

    /// The next one that ends, or `None` when one that was quick has to be compiled, so that there is room for another. Can be
    /// dropped. Ends only when one does.
    pub(super) async fn next(&mut self) -> Option<Found> {
        self.compile();
        let ended = tokio::select! {
            Some(ended) = self.quick.join_next() => ended,
            Some(ended) = self.compiling.join_next() => ended,
            else => std::future::pending().await,
        };
        self.settle(ended)
    }

    /// One that has ended already.
    pub(super) fn try_next(&mut self) -> Option<Found> {
        while let Some(ended) = self.quick.try_join_next().or_else(|| self.compiling.try_join_next()) {
            if let Some(found) = self.settle(ended) {
                return Some(found);
            }
        }
        None
    }

    /// Ends: nothing is looked into any more. What is being compiled goes on without this server and is kept.
    pub(super) async fn end(&mut self) {
        self.quick.shutdown().await;
        self.compiling.shutdown().await;
    }

    fn settle(&mut self, ended: Result<(Task, Option<Looked>), JoinError>) -> Option<Found> {
        // What a look could fail of is caught in it, so this is the end of the program.
        let (task, looked) = ended.ok()?;
        let Some(looked) = looked else {
            let size = |(_, sight, _): &Task| sight.size();
            let at = self.waiting.partition_point(|waiting| size(waiting) <= size(&task));
            self.waiting.insert(at, task);
            self.compile();
            return None;
        };
        let (path, sight, terms) = task;
        Some(Found { path, sight, terms, looked })
    }

    fn compile(&mut self) {
        while self.compiling.len() < SIDE_BY_SIDE
            && let Some((path, sight, terms)) = self.waiting.pop_front()
        {
            let looker = Arc::clone(&self.looker);
            self.compiling.spawn(async move {
                let looked = caught(looker.look(&terms, &path, sight)).await;
                ((path, sight, terms), looked)
            });
        }
    }
}

/// A look that fails in itself refuses the file.
async fn caught(looking: impl Future<Output = Option<Looked>>) -> Option<Looked> {
    let looked = AssertUnwindSafe(looking).catch_unwind().await;
    looked.unwrap_or_else(|_| Some(Looked::Refused(unexamined())))
}

impl Looker {
    /// Without compiling.
    async fn look_quickly(&self, terms: &Arc<Terms>, path: &Path, sight: Sight) -> Option<Looked> {
        let opened = match self.open(terms, path, sight).await {
            Ok(opened) => opened,
            Err(looked) => return Some(looked),
        };
        let (name, tried) = (opened.name.clone(), tried(&opened));
        match load_kept(&self.loader, opened).await {
            Ok(Some(entry)) => Some(self.found(path, entry)),
            Ok(None) => None,
            Err(refusal) => Some(self.learn(terms, path, (name, tried), refusal).await),
        }
    }

    async fn look(&self, terms: &Arc<Terms>, path: &Path, sight: Sight) -> Option<Looked> {
        let opened = match self.open(terms, path, sight).await {
            Ok(opened) => opened,
            Err(looked) => return Some(looked),
        };
        let (name, tried) = (opened.name.clone(), tried(&opened));
        Some(match load(&self.loader, opened).await {
            Ok(entry) => self.found(path, entry),
            Err(refusal) => self.learn(terms, path, (name, tried), refusal).await,
        })
    }

    fn found(&self, path: &Path, entry: Entry) -> Looked {
        self.hopeless().remove(path);
        Looked::New(Box::new(entry))
    }

    /// Remembers what nothing but a change can help.
    async fn learn(
        &self,
        terms: &Arc<Terms>,
        path: &Path,
        (name, tried): (String, Tried),
        refusal: Refusal,
    ) -> Looked {
        if refusal.again == Again::Changed {
            self.hopeless().insert(path.to_owned(), (tried, refusal.clone()));
        }
        let ends = self.ends(terms, path, name).await;
        Looked::Refused(Refusal { ends, ..refusal })
    }

    /// Whether what is served under this name may not go on.
    async fn ends(&self, terms: &Arc<Terms>, path: &Path, name: String) -> bool {
        let (catalog, terms, path) = (Arc::clone(&self.catalog), Arc::clone(terms), path.to_owned());
        let judging = spawn_blocking(move || {
            let current = catalog.current();
            current.entry(&name).is_some_and(|known| terms.permits(known, &path) != Permit::Yes)
        });
        judging.await.unwrap_or_default()
    }

    /// Reads it, unless there is nothing to load.
    async fn open(&self, terms: &Arc<Terms>, path: &Path, sight: Sight) -> Result<Opened, Looked> {
        let (held, from) = (Arc::clone(terms), path.to_owned());
        let opening = spawn_blocking(move || {
            let opened = open(&held, &from);
            (opened, Sight::of(&from))
        });
        let opened = match opening.await {
            Ok((opened, Ok(Some(now)))) if now == sight => opened,
            Ok((_, Ok(Some(_)))) => return Err(Looked::Changed),
            Ok((_, Ok(None) | Err(_))) => return Err(Looked::Unseen),
            Err(_) => Err(unexamined()),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(refusal) => {
                let name = name_of(path).unwrap_or_default();
                let ends = self.ends(terms, path, name).await;
                return Err(Looked::Refused(Refusal { ends, ..refusal }));
            }
        };
        let current = self.catalog.current();
        if current.entry(&opened.name).is_some_and(|known| terms.is_served(known, &opened)) {
            return Err(Looked::Same);
        }
        let hopeless = self.hopeless().get(path).filter(|(known, _)| *known == tried(&opened)).cloned();
        match hopeless {
            Some((_, refusal)) => {
                let ends = self.ends(terms, path, opened.name).await;
                Err(Looked::Refused(Refusal { ends, ..refusal }))
            }
            None => Ok(opened),
        }
    }

    fn hopeless(&self) -> MutexGuard<'_, BTreeMap<PathBuf, (Tried, Refusal)>> {
        self.hopeless.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tried(opened: &Opened) -> Tried {
    (opened.artifact.digest.clone(), opened.settings.clone())
}
