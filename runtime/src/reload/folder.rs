//! Follows the plugin folder while the server serves: what is new or different is loaded beside what is served, and takes
//! its place in one step when it has been seen to work.
//!
//! Events of the file system are a hint to look sooner; looking is what finds changes, every few seconds also when nobody
//! hints, so that lost events and file systems without any cost time and nothing else. A file that cannot be used leaves
//! what was served in its place. Calls keep the version with which they began.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::eyes::Eyes;
use super::ledger::{Ledger, Step};
use super::load::{Refusal, SIDE_BY_SIDE, Skipped, examine, note, read};
use super::scan::{Candidate, ScanError};
use super::stamp::Stamp;
use crate::catalog::{Catalog, Entry, Snapshot};
use crate::config::Config;
use crate::plugin::Loader;

/// How often the folder is looked at when nothing is known to have happened.
const PERIOD: Duration = Duration::from_secs(2);

/// Shortest time between two looks: whoever writes into the folder without end is no reason to do nothing else.
const PAUSE: Duration = Duration::from_millis(20);

/// Follows one folder.
pub struct Folder {
    eyes: Eyes,
    hinted: mpsc::Receiver<()>,
    _watching: Option<RecommendedWatcher>,
    loader: Arc<Loader>,
    config: Arc<Config>,
    catalog: Arc<Catalog>,
    say: Say,
}

/// Tells the operator what happened.
pub type Say = Box<dyn Fn(Event<'_>) + Send + Sync>;

/// What happened in the folder.
#[derive(Debug)]
pub enum Event<'e> {
    /// A plugin is served now, or another version of it.
    Published(&'e Snapshot, &'e Entry),
    /// A file cannot be served; what was served under its name still is.
    Refused(&'e Skipped),
    /// The file of this plugin is gone, and so is the plugin.
    Removed(&'e str),
    /// The folder cannot be read, and everything stays as it is.
    Unreadable(&'e ScanError),
}

/// How looking into a file ended.
enum Looked {
    New(Box<Entry>),
    Same,
    /// It was changed while it was read.
    Changed,
    Refused(Refusal),
}

type Looks = JoinSet<(PathBuf, Stamp, Looked)>;

impl Folder {
    /// Follows the folder of `config`, publishing to `catalog`.
    #[must_use]
    pub fn new(loader: Arc<Loader>, config: Arc<Config>, catalog: Arc<Catalog>, say: Say) -> Self {
        let (hint, hinted) = mpsc::channel(1);
        let _watching = watch(&config.folder, hint);
        let eyes = Eyes::open(config.folder.clone());
        Self { eyes, hinted, _watching, loader, config, catalog, say }
    }

    /// Follows it until told to stop. `known` is what was loaded, or refused, already.
    pub async fn run(mut self, known: BTreeMap<PathBuf, Stamp>, stop: CancellationToken) {
        let mut ledger = Ledger::knowing(known, Instant::now());
        let mut looks = Looks::new();
        let mut readable = true;
        loop {
            readable = self.look(&mut ledger, readable).await;
            self.act(&mut ledger, &mut looks);
            let now = Instant::now();
            // While no more can be loaded, the end of a load is what to wait for.
            let next = ledger.next().filter(|_| looks.len() < SIDE_BY_SIDE);
            let wake = next.unwrap_or(now + PERIOD).max(now + PAUSE);
            tokio::select! {
                () = stop.cancelled() => return,
                Some(()) = self.hinted.recv() => tokio::time::sleep(PAUSE).await,
                Some(looked) = looks.join_next() => match looked {
                    Ok((path, stamp, looked)) => self.settle(&mut ledger, &path, stamp, looked),
                    Err(error) => tracing::error!(%error, "a file could not be looked into"),
                },
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    /// Looks at the folder; whether it can be read. That it cannot is told once.
    async fn look(&mut self, ledger: &mut Ledger, readable: bool) -> bool {
        match self.eyes.look().await {
            Some(Ok(found)) => ledger.look(&found, Instant::now()),
            Some(Err(error)) => {
                if readable {
                    (self.say)(Event::Unreadable(&error));
                }
                return false;
            }
            None => {}
        }
        true
    }

    /// Does what it is time to do.
    fn act(&self, ledger: &mut Ledger, looks: &mut Looks) {
        let room = SIDE_BY_SIDE.saturating_sub(looks.len());
        for step in ledger.due(Instant::now(), room) {
            match step {
                Step::Remove(path) => self.remove(&path),
                Step::Load(path, stamp) => {
                    let (loader, config) = (Arc::clone(&self.loader), Arc::clone(&self.config));
                    let served = self.catalog.current();
                    looks.spawn(async move {
                        let looked = look_into(&loader, &config, &served, &path, stamp).await;
                        (path, stamp, looked)
                    });
                }
            }
        }
    }

    fn remove(&self, path: &Path) {
        let Candidate { name: Ok(name), .. } = Candidate::at(path.to_owned()) else { return };
        let mut removed = false;
        self.catalog.update(|current| {
            removed = current.entry(&name).is_some();
            removed.then(|| current.without(&name))
        });
        if removed {
            (self.say)(Event::Removed(&name));
        }
    }

    fn settle(&self, ledger: &mut Ledger, path: &Path, stamp: Stamp, looked: Looked) {
        let loaded = match looked {
            Looked::Changed => return ledger.changed(path, Instant::now()),
            Looked::Same => return ledger.handled(path, stamp),
            Looked::New(entry) => self.admit(*entry),
            Looked::Refused(refusal) => Err(refusal),
        };
        ledger.handled(path, stamp);
        note(&self.loader, path, &loaded);
        match loaded {
            Ok(entry) => {
                let entry = self.publish(entry);
                (self.say)(Event::Published(&self.catalog.current(), &entry));
            }
            Err(Refusal { why, unlisted, .. }) => {
                (self.say)(Event::Refused(&Skipped { path: path.to_owned(), why, unlisted }));
            }
        }
    }

    /// Refuses a plugin that would be one too many.
    fn admit(&self, entry: Entry) -> Result<Entry, Refusal> {
        let (current, most) = (self.catalog.current(), self.config.server.plugins);
        let name = entry.plugin.name();
        if current.entries().len() < most || current.entry(name).is_some() {
            return Ok(entry);
        }
        Err(Refusal::new(format!(
            "comes after {most} others (limit [server] `plugins`); remove some, or raise the limit"
        )))
    }

    fn publish(&self, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        self.catalog.update(|current| Some(current.with(Arc::clone(&entry))));
        entry
    }
}

/// Reads a file as it was seen, and loads it when it is not what is served already.
async fn look_into(loader: &Loader, config: &Config, served: &Snapshot, path: &Path, stamp: Stamp) -> Looked {
    let name = match Candidate::at(path.to_owned()).name {
        Ok(name) => name,
        Err(why) => return Looked::Refused(Refusal::new(why)),
    };
    let settings = config.plugin(&name);
    let (from, most) = (path.to_owned(), settings.limits.wasm_mib);
    let reading = spawn_blocking(move || {
        let artifact = read(&from, most);
        (artifact, Stamp::of(&from) == Some(stamp))
    });
    let artifact = match reading.await {
        Ok((_, false)) => return Looked::Changed,
        Ok((Ok(artifact), true)) => artifact,
        Ok((Err(refusal), true)) => return Looked::Refused(refusal),
        Err(_) => return Looked::Refused(Refusal::new("could not be read; please report it".to_owned())),
    };
    let same =
        |known: &Arc<Entry>| known.plugin.digest() == artifact.digest && *known.plugin.config() == settings;
    if served.entry(&name).is_some_and(same) {
        return Looked::Same;
    }
    match examine(loader, &name, artifact, settings).await {
        Ok(entry) => Looked::New(Box::new(entry)),
        Err(refusal) => Looked::Refused(refusal),
    }
}

/// Hints whenever something happens in the folder. Without it changes are found too, only later.
fn watch(folder: &Path, hint: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let watcher = notify::recommended_watcher(move |_| {
        // One hint that waits is as good as many.
        let _ = hint.try_send(());
    });
    let watching = watcher.and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    watching.map_err(|error| tracing::info!(%error, "changes of the folder are found by looking only")).ok()
}
