//! Follows the plugin folder while the server serves, and drives the one way into the catalog: file system events and
//! polls, file tracker, load queue, publisher. A new version replaces the served one when it has been listed.
//!
//! One task owns all of it, so that nothing is published twice. File system events only bring the next poll forward;
//! polls find the changes, every few seconds also without events, so lost events cost nothing but time. A file that
//! cannot be used leaves the served version in place. Calls keep the version with which they began. The watcher calls
//! no guest and reads no file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::config_watcher::{ConfigWatcher, RereadResult, RestartNeeded};
use super::file_tracker::{FileTracker, TrackerAction};
use super::folder_poller::{FolderPoller, PollResult, WatchedPaths};
use super::fs_events::FsEvents;
use super::hide_unapproved::hide_unapproved;
use super::list_refresh::ListRefresher;
use super::load_policy::{LoadPolicy, ServeDecision};
use super::load_queue::{FinishedLoad, LoadOutcome, LoadQueue};
use super::load_status::{LoadStatus, ProblemSource};
use super::plugin_file_stats::PluginStat;
use super::plugin_loader::too_many_plugins;
use super::publisher::{EventSink, FolderEvent, Publisher};
use super::rejected_file::RetryPolicy;
use crate::catalog::{Catalog, LoadProgress, PluginEntry};
use crate::config::ApprovalMode;
use crate::plugin::Loader;

/// How often the folder is polled without events.
const PERIOD: Duration = Duration::from_secs(2);

/// Shortest time between two polls; endless writing must leave time for other work.
const PAUSE: Duration = Duration::from_millis(20);

/// After how long a file that this machine failed to load is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// How long a plugin with a revoked grant, approval or signature may go on until its file is loaded.
const REVOKE_AFTER: Duration = Duration::from_secs(2);

/// Maximum number of new lists in the channel to the publisher; when it is full, the list refresher waits.
const MAX_WAITING_LISTS: usize = 16;

/// Follows one folder.
pub struct FolderWatcher {
    poller: FolderPoller,
    fs_events: FsEvents,
    config_watcher: ConfigWatcher,
    tracker: FileTracker,
    loads: LoadQueue,
    publisher: Publisher,
    /// New lists of served plugins, from the refresher.
    lists: (mpsc::Sender<PluginEntry>, mpsc::Receiver<PluginEntry>),
    /// Whether the folder could be read; a failure is reported once.
    readable: bool,
    /// When the folder was last polled.
    last_poll: Instant,
    /// Since when something waits to be published.
    ready: Option<Instant>,
    /// Whether the folder has been polled.
    polled: bool,
    /// Whether all files in the code cache have been loaded, so that the number of files to compile is known.
    cached_done: bool,
    /// Files of the first poll that have not been loaded, with their stats.
    initial: BTreeMap<PathBuf, PluginStat>,
    /// The number of files of the first poll.
    initial_count: usize,
    /// When to remove plugins that must not go on, even if their files are not loaded again.
    revoke_at: Option<Instant>,
    status: Arc<LoadStatus>,
    catalog: Arc<Catalog>,
    /// Notified to have everything loaded again.
    rescan: Arc<Notify>,
}

impl FolderWatcher {
    /// Follows the folder of `policy` and publishes to `catalog`. The configuration may be missing at `config`.
    #[must_use]
    pub fn new(
        loader: Arc<Loader>,
        policy: LoadPolicy,
        config: PathBuf,
        catalog: Arc<Catalog>,
        status: Arc<LoadStatus>,
        events: EventSink,
    ) -> Self {
        let (folder, lockfile) = (policy.config.folder.clone(), policy.config.lock.clone());
        let watched = WatchedPaths { folder, config, lockfile };
        let policy = Arc::new(policy);
        Self {
            fs_events: FsEvents::open(&watched),
            config_watcher: ConfigWatcher::new(policy, &watched, Instant::now()),
            poller: FolderPoller::open(watched),
            tracker: FileTracker::default(),
            publisher: Publisher::new(Arc::clone(&catalog), &loader, Arc::clone(&status), events),
            loads: LoadQueue::new(loader, Arc::clone(&catalog)),
            lists: mpsc::channel(MAX_WAITING_LISTS),
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

    /// Notify this to have the folder, the configuration and the lockfile read again, even if nothing has changed.
    #[must_use]
    pub fn rescan_signal(&self) -> Arc<Notify> {
        Arc::clone(&self.rescan)
    }

    /// Makes the list refresher of these plugins; it has to run beside this.
    #[must_use]
    pub fn list_refresher(&self) -> ListRefresher {
        self.publisher.list_refresher(self.lists.0.clone())
    }

    /// Runs until `stop` is cancelled. Meanwhile the files of the first poll are loaded, and `*/list` requests wait.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut poll_at = Some(Instant::now());
        loop {
            self.run_actions();
            self.publish_in_time().await;
            let drained = self.status.end_drains(self.config_watcher.policy().config.server.drain);
            let wake = self.wake(Instant::now(), drained.map(Instant::from_std));
            tokio::select! {
                () = stop.cancelled() => return self.loads.shut_down().await,
                () = self.rescan.notified() => {
                    self.publisher.emit(FolderEvent::Rescan);
                    self.config_watcher.force_reread();
                    self.tracker.mark_all_stale();
                    poll_at = Some(self.last_poll + PAUSE);
                }
                // A file system may block the poll for ever, and all else goes on.
                poll = poll_at_time(poll_at, &mut self.poller) => {
                    poll_at = None;
                    self.apply_poll(poll).await;
                }
                () = self.fs_events.wait(), if poll_at.is_none() => {
                    poll_at = Some(self.last_poll + PAUSE);
                }
                finished = self.loads.next() => self.accept_loads(finished),
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

    /// Publishes what is ready, unless more will be ready in a moment. Also ends the initial load.
    async fn publish_in_time(&mut self) {
        let idle = self.loads.is_idle() && self.tracker.is_idle();
        let gather = self.publisher.gather_time();
        if self.ready.is_some_and(|ready| idle || ready + gather <= Instant::now()) {
            self.publish().await;
        }
        if self.publisher.is_initial_load_done() || !self.polled {
            return;
        }
        if !self.cached_done && !self.loads.is_loading() {
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

    /// Applies a poll to the file tracker, and reads the configuration and the lockfile if they have changed.
    async fn apply_poll(&mut self, poll: Option<PollResult>) {
        let now = Instant::now();
        self.last_poll = now;
        let Some(poll) = poll else { return self.polled = true };
        self.fs_events.rewatch_if_replaced(poll.folder_id);
        self.config_watcher.observe(&poll, now);
        match poll.files {
            Ok(files) => {
                match self.polled {
                    true => self.tracker.update(&files, now),
                    false => self.apply_first_poll(&files, now),
                }
                // The initial load does not wait for files that are gone.
                self.initial.retain(|path, _| files.contains_key(path));
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

    /// Notes the files of the first poll.
    fn apply_first_poll(&mut self, files: &BTreeMap<PathBuf, Option<PluginStat>>, now: Instant) {
        self.polled = true;
        self.tracker = FileTracker::with_stable_files(files, now);
        self.initial = files.iter().filter_map(|(path, stat)| Some((path.clone(), (*stat)?))).collect();
        self.initial_count = self.initial.len();
    }

    /// Reads the configuration and the lockfile if they have changed.
    async fn reread(&mut self) {
        let was_strict = self.config_watcher.policy().approval.mode() == ApprovalMode::Strict;
        let RereadResult { changed, config, lockfile } = self.config_watcher.reread(Instant::now()).await;
        let problem = config.as_ref().map(|read| read.as_ref().err().map(ToString::to_string));
        self.set_problem(ProblemSource::Configuration, problem);
        let problem = lockfile.as_ref().map(|read| read.as_ref().err().map(ToString::to_string));
        self.set_problem(ProblemSource::Lockfile, problem);
        match &config {
            Some(Ok(RestartNeeded::Same)) | None => {}
            Some(Ok(restart)) => {
                let (config, restart) =
                    (&self.config_watcher.policy().config, *restart == RestartNeeded::Partly);
                self.publisher.emit(FolderEvent::Reconfigured { config, restart });
            }
            Some(Err(error)) => self.publisher.emit(FolderEvent::ConfigInvalid(error)),
        }
        if let Some(Err(error)) = &lockfile {
            self.publisher.emit(FolderEvent::LockfileInvalid(error));
        }
        if !changed {
            return;
        }
        let approval = &self.config_watcher.policy().approval;
        if !was_strict && approval.mode() == ApprovalMode::Strict {
            // Hidden at once: these plugins have never been compared with an approval.
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

    /// Updates a problem after reading its source; `None`: it was not read.
    fn set_problem(&self, kind: ProblemSource, read: Option<Option<String>>) {
        match read {
            None => {}
            Some(None) => self.status.clear_problem(kind),
            Some(Some(why)) => self.status.set_problem(kind, why),
        }
    }

    /// Runs the actions that are due.
    fn run_actions(&mut self) {
        let max_plugins = self.config_watcher.policy().config.server.max_plugins;
        for action in self.tracker.due_actions(Instant::now(), self.loads.free_loads(), max_plugins) {
            match action {
                TrackerAction::Reject(path) => {
                    self.initial.remove(&path);
                    self.publisher.add_result(&path, Err(too_many_plugins(max_plugins)));
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
        if self.tracker.take_paths_changed() {
            self.assign_names();
        }
    }

    /// Decides which plugin owns which names, before anything else is published.
    fn assign_names(&mut self) {
        self.publisher.set_owners(self.config_watcher.policy().owners(self.tracker.files()));
        self.ready.get_or_insert_with(Instant::now);
    }

    /// Takes a finished load, and all others that have finished.
    fn accept_loads(&mut self, finished: Option<FinishedLoad>) {
        let mut next = finished.or_else(|| self.loads.try_next());
        while let Some(finished) = next {
            self.finish_load(finished);
            next = self.loads.try_next();
        }
    }

    fn finish_load(&mut self, FinishedLoad { path, stat, policy, outcome }: FinishedLoad) {
        if !Arc::ptr_eq(&policy, self.config_watcher.policy()) {
            return self.tracker.mark_stale(&path);
        }
        let now = Instant::now();
        // The initial load still waits for a file that is being copied.
        if !matches!(outcome, LoadOutcome::Changed) {
            self.initial.remove(&path);
        }
        match &outcome {
            LoadOutcome::Changed => return self.tracker.mark_changed(&path, now),
            LoadOutcome::Unavailable => return self.tracker.mark_retry(&path, stat, now + RETRY),
            // The served version was replaced or removed while the file was compared.
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

    /// Removes plugins that must not go on, after their files had time to be loaded again.
    async fn revoke(&mut self) {
        self.revoke_at = None;
        // Replacements may have been loaded already.
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

    /// When to go on without an event.
    fn wake(&self, now: Instant, drained: Option<Instant>) -> Instant {
        // While no further load may start, the end of a load wakes the watcher.
        let next = if self.loads.free_loads() > 0 { self.tracker.next() } else { None };
        let ready = self.ready.map(|ready| ready + self.publisher.gather_time());
        let times = [next, self.config_watcher.next(), ready, drained];
        let wake = times.into_iter().flatten().min().unwrap_or(now + PERIOD);
        wake.min(now + PERIOD).max(now + PAUSE)
    }
}

/// Polls at this time; waits for ever without one.
async fn poll_at_time(time: Option<Instant>, poller: &mut FolderPoller) -> Option<PollResult> {
    at(time).await;
    poller.poll().await
}

/// Waits until this time; for ever without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
