//! Watches the configuration and the lockfile. Each is read again when it has changed and has then stayed the same for
//! a moment, like a plugin's file. A file with mistakes changes nothing, and the other file is read all the same.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::debounce::Debounced;
use super::folder_poller::{PollResult, WatchedPaths};
use super::load_policy::LoadPolicy;
use super::plugin_file_stats::LinkStat;
use crate::approval::LockfileError;
use crate::config::{Config, ConfigError};

/// The configuration and the lockfile as they were last read, as one policy.
pub(super) struct ConfigWatcher {
    file: PathBuf,
    config: Debounced<LinkStat>,
    lockfile: Debounced<LinkStat>,
    policy: Arc<LoadPolicy>,
}

/// The result of reading the configuration and the lockfile again.
#[derive(Debug, Default)]
pub(super) struct RereadResult {
    /// Whether the policy has changed.
    pub(super) changed: bool,
    /// If the configuration was read: whether a part of it needs a restart.
    pub(super) config: Option<Result<RestartNeeded, ConfigError>>,
    /// Set if the lockfile was read.
    pub(super) lockfile: Option<Result<(), LockfileError>>,
}

/// Whether a changed configuration needs a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestartNeeded {
    /// The configuration has not changed.
    Same,
    /// All changes hold now.
    No,
    /// Some changes hold from the next start on.
    Partly,
}

impl ConfigWatcher {
    /// Begins without a known stat, so that a change between the first read and the first poll is not missed.
    pub(super) fn new(policy: Arc<LoadPolicy>, watched: &WatchedPaths, now: Instant) -> Self {
        let (config, lockfile) = (Debounced::new(None, now), Debounced::new(None, now));
        Self { file: watched.config.clone(), config, lockfile, policy }
    }

    /// The current policy.
    pub(super) fn policy(&self) -> &Arc<LoadPolicy> {
        &self.policy
    }

    pub(super) fn observe(&mut self, poll: &PollResult, now: Instant) {
        for (file, stat) in [(&mut self.config, poll.config), (&mut self.lockfile, poll.lockfile)] {
            if let Some(stat) = stat {
                file.observe(stat, now);
            }
        }
    }

    /// Has both files read again even if their stats are the same: a secret in another file may have changed.
    pub(super) fn force_reread(&mut self) {
        [&mut self.config, &mut self.lockfile].into_iter().for_each(|file| file.handled(None));
    }

    /// When the next file is due to be read.
    pub(super) fn next(&self) -> Option<Instant> {
        let changed = [&self.config, &self.lockfile].into_iter().filter(|file| !file.is_handled());
        changed.map(Debounced::stable_at).min()
    }

    /// Reads the files that have changed.
    pub(super) async fn reread(&mut self, now: Instant) -> RereadResult {
        let mut result = RereadResult::default();
        let before = Arc::clone(&self.policy);
        if self.config.is_due(now) {
            self.config.handled(self.config.seen());
            result.config = self.reread_config().await;
        }
        let mode_changed = matches!(result.config, Some(Ok(_))) && !self.policy.has_configured_mode();
        if self.lockfile.is_due(now) || mode_changed {
            self.lockfile.handled(self.lockfile.seen());
            result.lockfile = self.reread_lockfile().await;
        }
        if self.policy.config == before.config && self.policy.approval == before.approval {
            // The old policy stays, so that loads that have begun stay valid.
            self.policy = before;
        } else {
            result.changed = true;
        }
        result
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

    async fn reread_lockfile(&mut self) -> Option<Result<(), LockfileError>> {
        let policy = Arc::clone(&self.policy);
        let read = spawn_blocking(move || policy.with_current_lockfile()).await.ok()?;
        Some(read.map(|policy| self.policy = Arc::new(policy)))
    }
}
