//! Watches the configuration and the lockfile: both are read again when one of the files has changed and has stayed so
//! for a moment, like a plugin's file. One with mistakes changes nothing, and does not keep the other from being read.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::debounce::Debounced;
use super::file_stat::LinkStat;
use super::folder_poller::{PollResult, WatchedPaths};
use super::load_policy::LoadPolicy;
use crate::approval::LockfileError;
use crate::config::{Config, ConfigError};

/// What decides, as it was last read.
pub(super) struct ConfigWatcher {
    file: PathBuf,
    config: Debounced<LinkStat>,
    lock: Debounced<LinkStat>,
    policy: Arc<LoadPolicy>,
}

/// What came of reading it again.
#[derive(Debug, Default)]
pub(super) struct RereadResult {
    /// Whether anything holds now that did not before.
    pub(super) changed: bool,
    /// The configuration, if it was read: whether a part of it holds from the next start on only.
    pub(super) config: Option<Result<RestartNeeded, ConfigError>>,
    /// What was approved, if it was read.
    pub(super) lock: Option<Result<(), LockfileError>>,
}

/// What a changed configuration needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestartNeeded {
    /// It says what it said before.
    Same,
    /// All of it holds now.
    No,
    /// A part holds from the next start on.
    Partly,
}

impl ConfigWatcher {
    /// Nothing has been seen yet, so that a change is not missed that came between reading and following.
    pub(super) fn new(policy: Arc<LoadPolicy>, watched: &WatchedPaths, now: Instant) -> Self {
        let (config, lock) = (Debounced::new(None, now), Debounced::new(None, now));
        Self { file: watched.config.clone(), config, lock, policy }
    }

    /// What holds now.
    pub(super) fn policy(&self) -> &Arc<LoadPolicy> {
        &self.policy
    }

    pub(super) fn observe(&mut self, seen: &PollResult, now: Instant) {
        for (known, seen) in [(&mut self.config, seen.config), (&mut self.lock, seen.lock)] {
            if let Some(seen) = seen {
                known.observe(seen, now);
            }
        }
    }

    /// Reads both again, although they look the same: a secret in another file may have changed.
    pub(super) fn force_reread(&mut self) {
        [&mut self.config, &mut self.lock].into_iter().for_each(|file| file.handled(None));
    }

    /// When it is time to read something again.
    pub(super) fn next(&self) -> Option<Instant> {
        let open = [&self.config, &self.lock].into_iter().filter(|file| !file.is_handled());
        open.map(Debounced::stable_at).min()
    }

    /// Reads what has changed.
    pub(super) async fn reread(&mut self, now: Instant) -> RereadResult {
        let mut reread = RereadResult::default();
        let before = Arc::clone(&self.policy);
        if self.config.is_due(now) {
            self.config.handled(self.config.seen());
            reread.config = self.reread_config().await;
        }
        let stricter = matches!(reread.config, Some(Ok(_))) && !self.policy.has_configured_mode();
        if self.lock.is_due(now) || stricter {
            self.lock.handled(self.lock.seen());
            reread.lock = self.reread_lock().await;
        }
        if self.policy.config == before.config && self.policy.approval == before.approval {
            // What was begun goes on.
            self.policy = before;
        } else {
            reread.changed = true;
        }
        reread
    }

    async fn reread_config(&mut self) -> Option<Result<RestartNeeded, ConfigError>> {
        let (file, folder) = (self.file.clone(), self.policy.config.folder.clone());
        let read = spawn_blocking(move || Config::reload(&file, folder)).await.ok()?;
        Some(read.map(|config| {
            let restart = match &*self.policy.config {
                before if config == *before => return RestartNeeded::Same,
                before if config.needs_no_restart_after(before) => RestartNeeded::No,
                _ => RestartNeeded::Partly,
            };
            self.policy = Arc::new(self.policy.with_config(config));
            restart
        }))
    }

    async fn reread_lock(&mut self) -> Option<Result<(), LockfileError>> {
        let policy = Arc::clone(&self.policy);
        let read = spawn_blocking(move || policy.with_lock()).await.ok()?;
        Some(read.map(|policy| self.policy = Arc::new(policy)))
    }
}
