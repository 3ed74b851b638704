//! Follows what decides about plugins: the configuration and what was approved are read again when one of the files has
//! changed and has stayed so for a moment, like a plugin's file. One with mistakes changes nothing.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::eyes::{Seen, Watched};
use super::settling::Settling;
use super::stamp::Stamp;
use super::terms::Terms;
use crate::catalog::LockError;
use crate::config::{Config, ConfigError};

/// What decides, as it was last read.
pub(super) struct Settings {
    file: PathBuf,
    config: Settling<Stamp>,
    lock: Settling<Stamp>,
    terms: Arc<Terms>,
}

/// What came of reading it again.
#[derive(Debug)]
pub(super) enum Reread {
    /// It says the same.
    Same,
    /// The configuration says something else; `restart`: a part of that holds from the next start on.
    Config { restart: bool },
    /// Something else is approved.
    Lock,
    /// The configuration has mistakes.
    BadConfig(ConfigError),
    /// What was approved cannot be read.
    BadLock(LockError),
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

    /// When it is time to read something again.
    pub(super) fn next(&self) -> Option<Instant> {
        let open = [&self.config, &self.lock].into_iter().filter(|file| !file.is_handled());
        open.map(Settling::settles).min()
    }

    /// Reads what has changed.
    pub(super) async fn reread(&mut self, now: Instant) -> Reread {
        let (config, lock) = (self.config.is_due(now), self.lock.is_due(now));
        if config {
            self.config.handled(self.config.seen());
        }
        if lock {
            self.lock.handled(self.lock.seen());
        }
        if !config && !lock {
            return Reread::Same;
        }
        let (file, terms) = (config.then(|| self.file.clone()), Arc::clone(&self.terms));
        match spawn_blocking(move || read(file, &terms)).await {
            Ok(Ok(terms)) => self.take(terms),
            Ok(Err(bad)) => bad,
            Err(_) => Reread::Same,
        }
    }

    fn take(&mut self, terms: Terms) -> Reread {
        let before = std::mem::replace(&mut self.terms, Arc::new(terms));
        if self.terms.config != before.config {
            let restart = !self.terms.config.agrees_until_restart(&before.config);
            return Reread::Config { restart };
        }
        if self.terms.pins == before.pins { Reread::Same } else { Reread::Lock }
    }
}

/// Reads what was approved, and the configuration if that is named. Blocks.
fn read(file: Option<PathBuf>, terms: &Terms) -> Result<Terms, Reread> {
    let config = match file {
        Some(file) => {
            let read = Config::read(&file, terms.config.folder.clone());
            Arc::new(read.map_err(Reread::BadConfig)?)
        }
        None => Arc::clone(&terms.config),
    };
    terms.with(config).map_err(Reread::BadLock)
}
