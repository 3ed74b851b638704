//! Looks into files, a few side by side: reads one, and makes a plugin of it unless it is what is served already.
//!
//! What was compiled before takes milliseconds, and what was not may take a minute; so files of the first kind go first and
//! never wait for the second.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use tokio::task::{JoinSet, spawn_blocking};

use super::load::{Opened, SIDE_BY_SIDE, load, load_kept, open, unexamined};
use super::refusal::{Again, Refusal};
use super::stamp::Sight;
use super::terms::Terms;
use crate::catalog::{Catalog, Entry};
use crate::config::PluginConfig;
use crate::plugin::Loader;

/// Files that are looked into at the same time, those apart that have to be compiled.
const QUICK: usize = 4;

/// How looking into a file ended.
#[derive(Debug)]
pub(super) enum Looked {
    New(Box<Entry>),
    Same,
    /// It was changed while it was read.
    Changed,
    Refused(Refusal),
}

/// A file as it was when it was looked into, and how that ended.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) sight: Sight,
    pub(super) looked: Looked,
}

/// A look that is under way: a quick one ends with `None` when the file has to be compiled.
type Looking = JoinSet<(PathBuf, Sight, Option<Looked>)>;

/// The looks that are under way and those that wait for a compiler.
pub(super) struct Looks {
    looker: Arc<Looker>,
    quick: Looking,
    compiling: Looking,
    waiting: VecDeque<(PathBuf, Sight, Arc<Terms>)>,
    /// What held when the quick looks began.
    terms: Arc<Terms>,
}

struct Looker {
    loader: Arc<Loader>,
    catalog: Arc<Catalog>,
    /// Bytes, by their digest, and settings that were tried together in vain.
    hopeless: Mutex<BTreeMap<PathBuf, (String, PluginConfig)>>,
}

impl Looks {
    pub(super) fn new(loader: Arc<Loader>, catalog: Arc<Catalog>, terms: Arc<Terms>) -> Self {
        Self {
            looker: Arc::new(Looker { loader, catalog, hopeless: Mutex::default() }),
            quick: Looking::new(),
            compiling: Looking::new(),
            waiting: VecDeque::new(),
            terms,
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
        self.terms = Arc::clone(terms);
        let (looker, terms) = (Arc::clone(&self.looker), Arc::clone(terms));
        self.quick.spawn(async move {
            let looked = caught(looker.look_quickly(&terms, &path, sight)).await;
            (path, sight, looked)
        });
    }

    /// The next one that ends. Can be dropped. Ends only when one does.
    pub(super) async fn next(&mut self) -> Found {
        loop {
            self.compile();
            let ended = tokio::select! {
                Some(ended) = self.quick.join_next() => ended,
                Some(ended) = self.compiling.join_next() => ended,
                else => std::future::pending().await,
            };
            if let Some(found) = self.settle(ended) {
                return found;
            }
        }
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

    fn settle(
        &mut self,
        ended: Result<(PathBuf, Sight, Option<Looked>), tokio::task::JoinError>,
    ) -> Option<Found> {
        // What a look could fail of is caught in it, so this is the end of the program.
        let (path, sight, looked) = ended.ok()?;
        match looked {
            Some(looked) => Some(Found { path, sight, looked }),
            None => {
                self.waiting.push_back((path, sight, Arc::clone(&self.terms)));
                None
            }
        }
    }

    fn compile(&mut self) {
        while self.compiling.len() < SIDE_BY_SIDE
            && let Some((path, sight, terms)) = self.waiting.pop_front()
        {
            let looker = Arc::clone(&self.looker);
            self.compiling.spawn(async move {
                let looked = caught(looker.look(&terms, &path, sight)).await;
                (path, sight, looked)
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
        let tried = (opened.artifact.digest.clone(), opened.settings.clone());
        match load_kept(&self.loader, opened).await {
            Ok(Some(entry)) => Some(self.learn(path, tried, Ok(entry))),
            Ok(None) => None,
            Err(refusal) => Some(self.learn(path, tried, Err(refusal))),
        }
    }

    async fn look(&self, terms: &Arc<Terms>, path: &Path, sight: Sight) -> Option<Looked> {
        let opened = match self.open(terms, path, sight).await {
            Ok(opened) => opened,
            Err(looked) => return Some(looked),
        };
        let tried = (opened.artifact.digest.clone(), opened.settings.clone());
        Some(self.learn(path, tried, load(&self.loader, opened).await))
    }

    /// Remembers what nothing but a change can help.
    fn learn(&self, path: &Path, tried: (String, PluginConfig), loaded: Result<Entry, Refusal>) -> Looked {
        let mut hopeless = self.hopeless();
        match loaded {
            Ok(entry) => {
                hopeless.remove(path);
                Looked::New(Box::new(entry))
            }
            Err(refusal) => {
                if refusal.again == Again::Changed {
                    hopeless.insert(path.to_owned(), tried);
                }
                Looked::Refused(refusal)
            }
        }
    }

    fn hopeless(&self) -> MutexGuard<'_, BTreeMap<PathBuf, (String, PluginConfig)>> {
        self.hopeless.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads it, unless there is nothing to load.
    async fn open(&self, terms: &Arc<Terms>, path: &Path, sight: Sight) -> Result<Opened, Looked> {
        let (held, from) = (Arc::clone(terms), path.to_owned());
        let opening = spawn_blocking(move || {
            let opened = open(&held, &from);
            (opened, Sight::of(&from).is_ok_and(|now| now == Some(sight)))
        });
        let opened = match opening.await {
            Ok((_, false)) => return Err(Looked::Changed),
            Ok((opened, true)) => opened.map_err(Looked::Refused)?,
            Err(_) => return Err(Looked::Refused(unexamined())),
        };
        let (current, name) = (self.catalog.current(), &opened.name);
        let served = current.entry(name).is_some_and(|known| terms.is_served(known, &opened));
        let same = served || self.is_hopeless(path, &opened);
        if same { Err(Looked::Same) } else { Ok(opened) }
    }

    fn is_hopeless(&self, path: &Path, opened: &Opened) -> bool {
        let hopeless = self.hopeless();
        hopeless.get(path).is_some_and(|(digest, settings)| {
            *digest == opened.artifact.digest && *settings == opened.settings
        })
    }
}
