//! Follows the plugin folder while the server serves: what is new or different is loaded beside what is served, and takes
//! its place in one step when it has been seen to work.
//!
//! Events of the file system are a hint to look sooner; looking is what finds changes, every few seconds also when nobody
//! hints, so that lost events and file systems without any cost time and nothing else. A file that cannot be used leaves
//! what was served in its place. Calls keep the version with which they began.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::eyes::{Eyes, Seen, Watched};
use super::hints::Hints;
use super::ledger::{Ledger, Step};
use super::load::beyond;
use super::look::{Found, Looked, Looks};
use super::refusal::Again;
use super::settings::{Reread, Restart, Settings};
use super::settling::SETTLE;
use super::shelf::{Event, Say, Shelf};
use super::stamp::Sight;
use super::standing::{Kind, Standing};
use super::terms::{Permit, Terms};
use super::unapproved::hide_unapproved;
use crate::catalog::{Begun, Catalog, Entry};
use crate::config::Pin;
use crate::plugin::Loader;

/// How often the folder is looked at when nothing is known to have happened.
const PERIOD: Duration = Duration::from_secs(2);

/// Shortest time between two looks: whoever writes into the folder without end is no reason to do nothing else.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a plugin that is ready waits for others that are being looked into, to be published with them.
const GATHER: Duration = Duration::from_millis(100);

/// When a file that this machine failed to load is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// For how long a plugin that has something which was taken from it may go on until its file was looked into again.
const DOUBT: Duration = Duration::from_secs(2);

/// Follows one folder.
pub struct Folder {
    eyes: Eyes,
    hints: Hints,
    settings: Settings,
    ledger: Ledger,
    looks: Looks,
    shelf: Shelf,
    /// Whether the folder could be read; that it cannot is told once.
    readable: bool,
    /// When the folder was last looked at.
    looked: Instant,
    /// Since when something waits for being published.
    ready: Option<Instant>,
    /// Whether the folder has been looked at.
    seen: bool,
    /// Whether all that was compiled before has been looked into, and it is known how much has to be compiled.
    sorted: bool,
    /// What was there at the start, as it was, and has not been looked into.
    initial: BTreeMap<PathBuf, Sight>,
    /// How many those were.
    of: usize,
    /// When to take away what may not go on by then, whatever came of looking for what takes its place.
    doubt: Option<Instant>,
    standing: Arc<Standing>,
    catalog: Arc<Catalog>,
    /// Somebody wants everything to be looked at again.
    again: Arc<Notify>,
}

impl Folder {
    /// Follows the folder of `terms`, publishing to `catalog`. `config` is where the configuration is, or would be.
    #[must_use]
    pub fn new(
        loader: Arc<Loader>,
        terms: Terms,
        config: PathBuf,
        catalog: Arc<Catalog>,
        standing: Arc<Standing>,
        say: Say,
    ) -> Self {
        let watched =
            Watched { folder: terms.config.folder.clone(), config, lock: terms.config.lock.clone() };
        let (terms, audit) = (Arc::new(terms), loader.audit().clone());
        Self {
            hints: Hints::open(&watched),
            settings: Settings::new(terms, &watched, Instant::now()),
            eyes: Eyes::open(watched),
            ledger: Ledger::default(),
            looks: Looks::new(loader, Arc::clone(&catalog)),
            shelf: Shelf::new(Arc::clone(&catalog), audit, Arc::clone(&standing), say),
            catalog,
            readable: true,
            looked: Instant::now(),
            ready: None,
            seen: false,
            sorted: false,
            initial: BTreeMap::new(),
            of: 0,
            doubt: None,
            standing,
            again: Arc::default(),
        }
    }

    /// For whoever wants the folder and what decides about it to be looked at again, although nothing may have changed.
    #[must_use]
    pub fn again(&self) -> Arc<Notify> {
        Arc::clone(&self.again)
    }

    /// Follows it until told to stop. What is there at the beginning is loaded meanwhile, and lists wait for it.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut look_at = Some(Instant::now());
        loop {
            self.act();
            self.publish_in_time();
            let drained = self.standing.retire(self.settings.terms().config.server.drain);
            let wake = self.wake(Instant::now(), drained.map(Instant::from_std));
            tokio::select! {
                () = stop.cancelled() => return self.looks.end().await,
                () = self.again.notified() => {
                    self.shelf.say(Event::Again);
                    self.settings.again();
                    self.ledger.revisit();
                    look_at = Some(self.looked + PAUSE);
                }
                // A file system may keep whoever looks waiting for ever, and all else goes on.
                seen = seen_at(look_at, &mut self.eyes) => {
                    look_at = None;
                    self.see(seen).await;
                }
                () = self.hints.come(), if look_at.is_none() => {
                    look_at = Some(self.looked + PAUSE);
                }
                found = self.looks.next() => self.take(found),
                () = at(self.doubt) => self.resolve_doubt().await,
                () = tokio::time::sleep_until(wake) => {
                    look_at.get_or_insert_with(Instant::now);
                }
            }
        }
    }

    /// Publishes what is ready, unless more will be in a moment.
    fn publish_in_time(&mut self) {
        let all = self.looks.is_idle() && self.ledger.is_settled();
        if self.ready.is_some_and(|ready| all || ready + GATHER <= Instant::now()) {
            self.publish();
        }
        if self.shelf.is_loaded() || !self.seen {
            return;
        }
        if !self.sorted && !self.looks.is_quick() {
            self.sorted = true;
            self.publish();
            if !self.initial.is_empty() {
                self.shelf.say(Event::Compiling(self.initial.len()));
            }
        }
        self.catalog.begun(Some(Begun { left: self.initial.len(), of: self.of, compiling: self.sorted }));
        if self.initial.is_empty() {
            self.publish();
            self.shelf.loaded();
            self.catalog.begun(None);
        }
    }

    /// Takes in how the folder looks, and what decides about it.
    async fn see(&mut self, seen: Option<Seen>) {
        let now = Instant::now();
        self.looked = now;
        let Some(seen) = seen else { return self.seen = true };
        self.hints.follow(seen.place);
        self.settings.see(&seen, now);
        match seen.files {
            Ok(found) => {
                match self.seen {
                    true => self.ledger.look(&found, now),
                    false => self.see_first(&found, now),
                }
                // What went before it was begun is no longer waited for.
                self.initial.retain(|path, _| found.contains_key(path));
                self.readable = true;
                self.standing.solved(Kind::Folder);
            }
            Err(error) => {
                self.standing.problem(Kind::Folder, error.to_string());
                if std::mem::replace(&mut self.readable, false) {
                    self.shelf.say(Event::Unreadable(&error));
                }
            }
        }
        self.reread().await;
    }

    /// Notes what was there at the start.
    fn see_first(&mut self, files: &BTreeMap<PathBuf, Option<Sight>>, now: Instant) {
        self.seen = true;
        // Nobody is copying what was there before.
        self.ledger.look(files, now.checked_sub(SETTLE).unwrap_or(now));
        self.initial = files.iter().filter_map(|(path, sight)| Some((path.clone(), (*sight)?))).collect();
        self.of = self.initial.len();
    }

    /// Reads what decides about plugins, if that has changed.
    async fn reread(&mut self) {
        let was_strict = self.settings.terms().pins.mode() == Pin::Strict;
        let Reread { changed, config, lock } = self.settings.reread(Instant::now()).await;
        self.note(
            Kind::Configuration,
            config.as_ref().map(|read| read.as_ref().err().map(ToString::to_string)),
        );
        self.note(Kind::Lock, lock.as_ref().map(|read| read.as_ref().err().map(ToString::to_string)));
        match &config {
            Some(Ok(Restart::Same)) | None => {}
            Some(Ok(restart)) => {
                self.shelf.say(Event::Reconfigured { restart: *restart == Restart::Partly });
            }
            Some(Err(error)) => self.shelf.say(Event::Misconfigured(error)),
        }
        if let Some(Err(error)) = &lock {
            self.shelf.say(Event::Mislocked(error));
        }
        if !changed {
            return;
        }
        let pins = &self.settings.terms().pins;
        if !was_strict && pins.mode() == Pin::Strict {
            // Nobody sees for another moment what was never compared.
            let hidden = hide_unapproved(Arc::clone(&self.catalog), pins.clone()).await;
            self.shelf.hidden(&hidden);
        }
        self.shelf.judged_anew(&self.settings.terms().pins);
        self.assign_names();
        for path in self.looks.judged_anew() {
            self.ledger.again(&path);
        }
        self.ledger.revisit();
        self.doubt = Some(Instant::now() + DOUBT);
    }

    /// Notes what is wrong with what was read, if anything was.
    fn note(&self, kind: Kind, read: Option<Option<String>>) {
        match read {
            None => {}
            Some(None) => self.standing.solved(kind),
            Some(Some(why)) => self.standing.problem(kind, why),
        }
    }

    /// Does what it is time to do.
    fn act(&mut self) {
        let most = self.settings.terms().config.server.plugins;
        for step in self.ledger.due(Instant::now(), self.looks.room(), most) {
            match step {
                Step::Refuse(path) => {
                    self.initial.remove(&path);
                    self.shelf.take(&path, Err(beyond(most)));
                }
                Step::Remove(path) => {
                    self.initial.remove(&path);
                    self.looks.forget(&path);
                    self.shelf.remove(&path);
                    self.ready.get_or_insert_with(Instant::now);
                }
                Step::Load(path, sight) => self.looks.begin(path, sight, self.settings.terms()),
            }
        }
        if self.ledger.has_moved() {
            self.assign_names();
        }
    }

    /// Says to whom names belong now. It holds before anything is published that was looked into since.
    fn assign_names(&mut self) {
        self.shelf.belong(self.settings.terms().owners(self.ledger.files()));
        self.ready.get_or_insert_with(Instant::now);
    }

    /// Takes what was found, with all that was found at the same time.
    fn take(&mut self, found: Option<Found>) {
        let mut next = found.or_else(|| self.looks.try_next());
        while let Some(found) = next {
            self.settle(found);
            next = self.looks.try_next();
        }
    }

    fn settle(&mut self, Found { path, sight, terms, looked }: Found) {
        if !Arc::ptr_eq(&terms, self.settings.terms()) {
            return self.ledger.again(&path);
        }
        let now = Instant::now();
        // One that is still being copied is waited for, as long as anything is waited for.
        if !matches!(looked, Looked::Changed) {
            self.initial.remove(&path);
        }
        match &looked {
            Looked::Changed => return self.ledger.changed(&path, now),
            Looked::Unseen => return self.ledger.later(&path, sight, now + RETRY),
            // It was taken away while it was compared.
            Looked::Same if !self.shelf.has(&path) => return self.ledger.again(&path),
            Looked::Refused(refusal) if refusal.again == Again::Soon => {
                self.ledger.later(&path, sight, now + RETRY);
            }
            _ => self.ledger.handled(&path, sight),
        }
        match looked {
            Looked::Same => self.shelf.same(&path),
            Looked::New(entry) => self.shelf.take(&path, Ok(*entry)),
            Looked::Refused(refusal) => self.shelf.take(&path, Err(refusal)),
            Looked::Changed | Looked::Unseen => {}
        }
        if self.shelf.has_fresh() {
            self.ready.get_or_insert(now);
        }
    }

    /// Takes away what may not go on, once what takes its place had its time.
    async fn resolve_doubt(&mut self) {
        self.doubt = None;
        let (catalog, terms) = (Arc::clone(&self.catalog), Arc::clone(self.settings.terms()));
        let judging = tokio::task::spawn_blocking(move || {
            let current = catalog.current();
            let file = |entry: &Arc<Entry>| terms.config.folder.join(format!("{}.wasm", entry.plugin.name()));
            let files = current.entries().iter().map(|entry| (file(entry), entry));
            let ending = files.filter(|(path, entry)| terms.permits(entry, path) == Permit::No);
            ending.map(|(path, _)| path).collect::<Vec<_>>()
        });
        let ending = judging.await.unwrap_or_default();
        ending.iter().for_each(|path| self.shelf.withdraw(path));
        if !ending.is_empty() {
            self.publish();
        }
    }

    fn publish(&mut self) {
        self.ready = None;
        self.shelf.publish();
    }

    /// When to go on although nothing happens.
    fn wake(&self, now: Instant, drained: Option<Instant>) -> Instant {
        // While no more can be looked into, the end of a look is what to wait for.
        let next = self.ledger.next().filter(|_| self.looks.room() > 0);
        let ready = self.ready.map(|ready| ready + GATHER);
        let times = [next, self.settings.next(), ready, drained];
        let wake = times.into_iter().flatten().min().unwrap_or(now + PERIOD);
        wake.min(now + PERIOD).max(now + PAUSE)
    }
}

/// How the folder looks, asked for at this time; never, without one.
async fn seen_at(time: Option<Instant>, eyes: &mut Eyes) -> Option<Seen> {
    at(time).await;
    eyes.look().await
}

/// Waits for this time; for ever, without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
