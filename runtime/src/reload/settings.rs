//! Follows what decides about plugins: the configuration and what was approved are read again when one of the files has
//! changed and has stayed so for a moment, like a plugin's file. One with mistakes changes nothing, and keeps the other from
//! nothing.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::eyes::{Seen, Watched};
use super::settling::Settling;
use super::stamp::Linked;
use super::terms::Terms;
use crate::catalog::LockError;
use crate::config::{Config, ConfigError};

/// What decides, as it was last read.
pub(super) struct Settings {
    file: PathBuf,
    config: Settling<Linked>,
    lock: Settling<Linked>,
    terms: Arc<Terms>,
}

/// What came of reading it again.
#[derive(Debug, Default)]
pub(super) struct Reread {
    /// Whether anything holds now that did not before.
    pub(super) changed: bool,
    /// The configuration, if it was read: whether a part of it holds from the next start on only.
    pub(super) config: Option<Result<Restart, ConfigError>>,
    /// What was approved, if it was read.
    pub(super) lock: Option<Result<(), LockError>>,
}

/// What a changed configuration needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Restart {
    /// It says what it said before.
    Same,
    /// All of it holds now.
    No,
    /// A part holds from the next start on.
    Partly,
}

impl Settings {
    /// Nothing has been seen yet, so that a change is not missed that came between reading and following.
    pub(super) fn new(terms: Arc<Terms>, watched: &Watched, now: Instant) -> Self {
        let (config, lock) = (Settling::new(None, now), Settling::new(None, now));
        Self { file: watched.config.clone(), config, lock, terms }
    }

    /// What holds now.
    pub(super) fn terms(&self) -> &Arc<Terms> {
        &self.terms
    }

    pub(super) fn see(&mut self, seen: &Seen, now: Instant) {
        for (known, seen) in [(&mut self.config, seen.config), (&mut self.lock, seen.lock)] {
            if let Some(seen) = seen {
                known.see(seen, now);
            }
        }
    }

    /// Reads both again, although they look the same: a secret in another file may have changed.
    pub(super) fn again(&mut self) {
        [&mut self.config, &mut self.lock].into_iter().for_each(|file| file.handled(None));
    }

    /// When it is time to read something again.
    pub(super) fn next(&self) -> Option<Instant> {
        let open = [&self.config, &self.lock].into_iter().filter(|file| !file.is_handled());
        open.map(Settling::settles).min()
    }

    /// Reads what has changed.
    pub(super) async fn reread(&mut self, now: Instant) -> Reread {
        let mut reread = Reread::default();
        let before = Arc::clone(&self.terms);
        if self.config.is_due(now) {
            self.config.handled(self.config.seen());
            reread.config = self.reread_config().await;
        }
        let stricter = matches!(reread.config, Some(Ok(_))) && !self.terms.has_its_pins();
        if self.lock.is_due(now) || stricter {
            self.lock.handled(self.lock.seen());
            reread.lock = self.reread_lock().await;
        }
        if self.terms.config == before.config && self.terms.pins == before.pins {
            // What was begun goes on.
            self.terms = before;
        } else {
            reread.changed = true;
        }
        reread
    }

    async fn reread_config(&mut self) -> Option<Result<Restart, ConfigError>> {
        let (file, folder) = (self.file.clone(), self.terms.config.folder.clone());
        let read = spawn_blocking(move || Config::reread(&file, folder)).await.ok()?;
        Some(read.map(|config| {
            let restart = match &*self.terms.config {
                before if config == *before => return Restart::Same,
                before if config.agrees_until_restart(before) => Restart::No,
                _ => Restart::Partly,
            };
            self.terms = Arc::new(self.terms.with_config(config));
            restart
        }))
    }

    async fn reread_lock(&mut self) -> Option<Result<(), LockError>> {
        let terms = Arc::clone(&self.terms);
        let read = spawn_blocking(move || terms.with_lock()).await.ok()?;
        Some(read.map(|terms| self.terms = Arc::new(terms)))
    }
}
