//! Follows the plugin folder while the server serves, and drives the one way into the catalog: file system events and
//! polls, file tracker, load queue, publisher. A new version takes the served one's place when it has been listed.
//!
//! One task owns all of it, so that there is one pace and nothing is published twice. Events of the file system only
//! bring the next poll forward; polls are what finds changes, every few seconds also without events, so that lost
//! events and file systems without any cost time and nothing else. A file that cannot be used leaves what was served in
//! its place. Calls keep the version with which they began. No guest is called here and no file is read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::config_watcher::{ConfigWatcher, RereadResult, RestartNeeded};
use super::file_stat::PluginStat;
use super::file_tracker::{FileTracker, TrackerAction};
use super::folder_poller::{FolderPoller, PollResult, WatchedPaths};
use super::fs_events::FsEvents;
use super::hide_unapproved::hide_unapproved;
use super::list_refresh::ListRefresher;
use super::load_failure::RetryPolicy;
use super::load_policy::{LoadPolicy, ServeDecision};
use super::load_queue::{FinishedLoad, LoadOutcome, LoadQueue};
use super::load_status::{LoadStatus, ProblemSource};
use super::plugin_loader::too_many_plugins;
use super::publisher::{EventSink, FolderEvent, Publisher};
use crate::catalog::{Catalog, LoadProgress, PluginEntry};
use crate::config::ApprovalMode;
use crate::plugin::Loader;

/// How often the folder is polled when nothing is known to have happened.
const PERIOD: Duration = Duration::from_secs(2);

/// Shortest time between two polls: whoever writes into the folder without end is no reason to do nothing else.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a plugin that is ready waits for others that are being loaded, to be published with them.
const GATHER: Duration = Duration::from_millis(100);

/// When a file that this machine failed to load is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// For how long a plugin that has something which was taken from it may go on until its file was loaded again.
const REVOKE_AFTER: Duration = Duration::from_secs(2);

/// New lists of plugins that wait to be taken; those who list wait when there are more.
const LISTS: usize = 16;

/// Follows one folder.
pub struct FolderWatcher {
    poller: FolderPoller,
    fs_events: FsEvents,
    config_watcher: ConfigWatcher,
    tracker: FileTracker,
    loads: LoadQueue,
    publisher: Publisher,
    /// New lists of plugins that are served, from the refresher.
    lists: (mpsc::Sender<PluginEntry>, mpsc::Receiver<PluginEntry>),
    /// Whether the folder could be read; that it cannot is told once.
    readable: bool,
    /// When the folder was last polled.
    last_poll: Instant,
    /// Since when something waits for being published.
    ready: Option<Instant>,
    /// Whether the folder has been polled.
    polled: bool,
    /// Whether all that was compiled before has been loaded, and it is known how much has to be compiled.
    cached_done: bool,
    /// What was there at the start, as it was, and has not been loaded.
    initial: BTreeMap<PathBuf, PluginStat>,
    /// How many those were.
    initial_count: usize,
    /// When to take away what may not go on by then, whatever came of looking for what takes its place.
    revoke_at: Option<Instant>,
    status: Arc<LoadStatus>,
    catalog: Arc<Catalog>,
    /// Somebody wants everything to be loaded again.
    rescan: Arc<Notify>,
}

impl FolderWatcher {
    /// Follows the folder of `policy`, publishing to `catalog`. `config` is where the configuration is, or would be.
    #[must_use]
    pub fn new(
        loader: Arc<Loader>,
        policy: LoadPolicy,
        config: PathBuf,
        catalog: Arc<Catalog>,
        status: Arc<LoadStatus>,
        events: EventSink,
    ) -> Self {
        let watched =
            WatchedPaths { folder: policy.config.folder.clone(), config, lock: policy.config.lock.clone() };
        let policy = Arc::new(policy);
        Self {
            fs_events: FsEvents::open(&watched),
            config_watcher: ConfigWatcher::new(policy, &watched, Instant::now()),
            poller: FolderPoller::open(watched),
            tracker: FileTracker::default(),
            publisher: Publisher::new(Arc::clone(&catalog), &loader, Arc::clone(&status), events),
            loads: LoadQueue::new(loader, Arc::clone(&catalog)),
            lists: mpsc::channel(LISTS),
            catalog,
            readable: true,
            last_poll: Instant::now(),
            ready: None,
            polled: false,
            cached_done: false,
            initial: BTreeMap::new(),
            initial_count: 0,
            revoke_at: None,
            status,
            rescan: Arc::default(),
        }
    }

    /// For whoever wants the folder and what decides about it to be looked at again, although nothing may have changed.
    #[must_use]
    pub fn rescan_signal(&self) -> Arc<Notify> {
        Arc::clone(&self.rescan)
    }

    /// Lists plugins again when they say that something changed. It has to be run beside this.
    #[must_use]
    pub fn list_refresher(&self) -> ListRefresher {
        self.publisher.list_refresher(self.lists.0.clone())
    }

    /// Follows it until told to stop. What is there at the beginning is loaded meanwhile, and lists wait for it.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut poll_at = Some(Instant::now());
        loop {
            self.run_actions();
            self.publish_in_time().await;
            let drained = self.status.retire(self.config_watcher.policy().config.server.drain);
            let wake = self.wake(Instant::now(), drained.map(Instant::from_std));
            tokio::select! {
                () = stop.cancelled() => return self.loads.shut_down().await,
                () = self.rescan.notified() => {
                    self.publisher.emit(FolderEvent::Rescan);
                    self.config_watcher.force_reread();
                    self.tracker.mark_all_stale();
                    poll_at = Some(self.last_poll + PAUSE);
                }
                // A file system may keep whoever looks waiting for ever, and all else goes on.
                seen = polled_at(poll_at, &mut self.poller) => {
                    poll_at = None;
                    self.apply_poll(seen).await;
                }
                () = self.fs_events.wait(), if poll_at.is_none() => {
                    poll_at = Some(self.last_poll + PAUSE);
                }
                found = self.loads.next() => self.accept_loads(found),
                Some(entry) = self.lists.1.recv() => {
                    self.publisher.add_refreshed(entry);
                    self.ready.get_or_insert_with(Instant::now);
                }
                () = at(self.revoke_at) => self.revoke().await,
                () = tokio::time::sleep_until(wake) => {
                    poll_at.get_or_insert_with(Instant::now);
                }
            }
        }
    }

    /// Publishes what is ready, unless more will be in a moment.
    async fn publish_in_time(&mut self) {
        let all = self.loads.is_idle() && self.tracker.is_settled();
        if self.ready.is_some_and(|ready| all || ready + GATHER <= Instant::now()) {
            self.publish().await;
        }
        if self.publisher.is_initial_load_done() || !self.polled {
            return;
        }
        if !self.cached_done && !self.loads.is_quick() {
            self.cached_done = true;
            self.publish().await;
            if !self.initial.is_empty() {
                self.publisher.emit(FolderEvent::Compiling(self.initial.len()));
            }
        }
        self.catalog.set_load_progress(Some(LoadProgress {
            remaining: self.initial.len(),
            total: self.initial_count,
            compiling: self.cached_done,
        }));
        if self.initial.is_empty() {
            self.publish().await;
            self.publisher.finish_initial_load();
            self.catalog.set_load_progress(None);
        }
    }

    /// Takes in how the folder looks, and what decides about it.
    async fn apply_poll(&mut self, seen: Option<PollResult>) {
        let now = Instant::now();
        self.last_poll = now;
        let Some(seen) = seen else { return self.polled = true };
        self.fs_events.rewatch_if_replaced(seen.place);
        self.config_watcher.observe(&seen, now);
        match seen.files {
            Ok(found) => {
                match self.polled {
                    true => self.tracker.update(&found, now),
                    false => self.apply_first_poll(&found, now),
                }
                // What went before it was begun is no longer waited for.
                self.initial.retain(|path, _| found.contains_key(path));
                self.readable = true;
                self.status.clear_problem(ProblemSource::Folder);
            }
            Err(error) => {
                self.status.set_problem(ProblemSource::Folder, error.to_string());
                if std::mem::replace(&mut self.readable, false) {
                    self.publisher.emit(FolderEvent::Unreadable(&error));
                }
            }
        }
        self.reread().await;
    }

    /// Notes what was there at the start.
    fn apply_first_poll(&mut self, files: &BTreeMap<PathBuf, Option<PluginStat>>, now: Instant) {
        self.polled = true;
        self.tracker = FileTracker::of_settled(files, now);
        self.initial = files.iter().filter_map(|(path, stat)| Some((path.clone(), (*stat)?))).collect();
        self.initial_count = self.initial.len();
    }

    /// Reads what decides about plugins, if that has changed.
    async fn reread(&mut self) {
        let was_strict = self.config_watcher.policy().approval.mode() == ApprovalMode::Strict;
        let RereadResult { changed, config, lock } = self.config_watcher.reread(Instant::now()).await;
        self.set_problem(
            ProblemSource::Configuration,
            config.as_ref().map(|read| read.as_ref().err().map(ToString::to_string)),
        );
        self.set_problem(
            ProblemSource::Lock,
            lock.as_ref().map(|read| read.as_ref().err().map(ToString::to_string)),
        );
        match &config {
            Some(Ok(RestartNeeded::Same)) | None => {}
            Some(Ok(restart)) => {
                self.publisher.emit(FolderEvent::Reconfigured { restart: *restart == RestartNeeded::Partly });
            }
            Some(Err(error)) => self.publisher.emit(FolderEvent::ConfigInvalid(error)),
        }
        if let Some(Err(error)) = &lock {
            self.publisher.emit(FolderEvent::LockfileInvalid(error));
        }
        if !changed {
            return;
        }
        let approval = &self.config_watcher.policy().approval;
        if !was_strict && approval.mode() == ApprovalMode::Strict {
            // Nobody sees for another moment what was never compared.
            if let Some(hidden) = hide_unapproved(self.catalog.current(), approval.clone()).await {
                self.publisher.hide(hidden);
            }
        }
        self.publisher.policy_changed(&self.config_watcher.policy().approval);
        self.assign_names();
        for path in self.loads.cancel_waiting() {
            self.tracker.mark_stale(&path);
        }
        self.tracker.mark_all_stale();
        self.revoke_at = Some(Instant::now() + REVOKE_AFTER);
    }

    /// Notes what is wrong with what was read, if anything was.
    fn set_problem(&self, kind: ProblemSource, read: Option<Option<String>>) {
        match read {
            None => {}
            Some(None) => self.status.clear_problem(kind),
            Some(Some(why)) => self.status.set_problem(kind, why),
        }
    }

    /// Does what it is time to do.
    fn run_actions(&mut self) {
        let most = self.config_watcher.policy().config.server.max_plugins;
        for action in self.tracker.due_actions(Instant::now(), self.loads.room(), most) {
            match action {
                TrackerAction::Reject(path) => {
                    self.initial.remove(&path);
                    self.publisher.add_result(&path, Err(too_many_plugins(most)));
                }
                TrackerAction::Remove(path) => {
                    self.initial.remove(&path);
                    self.loads.forget(&path);
                    self.publisher.remove(&path);
                    self.ready.get_or_insert_with(Instant::now);
                }
                TrackerAction::Load(path, stat) => self.loads.start(path, stat, self.config_watcher.policy()),
            }
        }
        if self.tracker.has_moved() {
            self.assign_names();
        }
    }

    /// Says to whom names belong now. It holds before anything is published that was loaded since.
    fn assign_names(&mut self) {
        self.publisher.set_owners(self.config_watcher.policy().owners(self.tracker.files()));
        self.ready.get_or_insert_with(Instant::now);
    }

    /// Takes what was found, with all that was found at the same time.
    fn accept_loads(&mut self, found: Option<FinishedLoad>) {
        let mut next = found.or_else(|| self.loads.try_next());
        while let Some(found) = next {
            self.finish_load(found);
            next = self.loads.try_next();
        }
    }

    fn finish_load(&mut self, FinishedLoad { path, stat, policy, outcome }: FinishedLoad) {
        if !Arc::ptr_eq(&policy, self.config_watcher.policy()) {
            return self.tracker.mark_stale(&path);
        }
        let now = Instant::now();
        // One that is still being copied is waited for, as long as anything is waited for.
        if !matches!(outcome, LoadOutcome::Changed) {
            self.initial.remove(&path);
        }
        match &outcome {
            LoadOutcome::Changed => return self.tracker.mark_changed(&path, now),
            LoadOutcome::Unavailable => return self.tracker.mark_retry(&path, stat, now + RETRY),
            // It was replaced or taken away while it was compared.
            LoadOutcome::Same(known) if !self.publisher.is_served(known) => {
                return self.tracker.mark_stale(&path);
            }
            LoadOutcome::Rejected(failure) if failure.retry == RetryPolicy::Soon => {
                self.tracker.mark_retry(&path, stat, now + RETRY);
            }
            _ => self.tracker.mark_loaded(&path, stat),
        }
        match outcome {
            LoadOutcome::New(entry) => self.publisher.add_result(&path, Ok(*entry)),
            LoadOutcome::Rejected(failure) => self.publisher.add_result(&path, Err(failure)),
            _ => self.publisher.unchanged(&path),
        }
        if self.publisher.has_pending() {
            self.ready.get_or_insert(now);
        }
    }

    /// Takes away what may not go on, once what takes its place had its time.
    async fn revoke(&mut self) {
        self.revoke_at = None;
        // What takes the place of a plugin may be loaded already.
        self.accept_loads(None);
        self.publish().await;
        let (catalog, policy) = (Arc::clone(&self.catalog), Arc::clone(self.config_watcher.policy()));
        let deciding = tokio::task::spawn_blocking(move || {
            let (current, folder) = (catalog.current(), &policy.config.folder);
            let file = |entry: &Arc<PluginEntry>| folder.join(format!("{}.wasm", entry.plugin.name()));
            let files = current.entries().iter().map(|entry| (file(entry), entry));
            let ending = files.filter(|(path, entry)| policy.decide(entry, path) == ServeDecision::No);
            ending.map(|(path, _)| path).collect::<Vec<_>>()
        });
        let ending = deciding.await.unwrap_or_default();
        ending.iter().for_each(|path| self.publisher.withdraw(path));
        self.publish().await;
    }

    async fn publish(&mut self) {
        self.ready = None;
        self.publisher.publish().await;
    }

    /// When to go on although nothing happens.
    fn wake(&self, now: Instant, drained: Option<Instant>) -> Instant {
        // While no more can be loaded, the end of a load is what to wait for.
        let next = self.tracker.next().filter(|_| self.loads.room() > 0);
        let ready = self.ready.map(|ready| ready + GATHER);
        let times = [next, self.config_watcher.next(), ready, drained];
        let wake = times.into_iter().flatten().min().unwrap_or(now + PERIOD);
        wake.min(now + PERIOD).max(now + PAUSE)
    }
}

/// How the folder looks, asked for at this time; never, without one.
async fn polled_at(time: Option<Instant>, poller: &mut FolderPoller) -> Option<PollResult> {
    at(time).await;
    poller.poll().await
}

/// Waits for this time; for ever, without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
