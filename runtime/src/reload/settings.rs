//! Follows what the operator says: the configuration file is read again when it has changed and has stayed so for a moment,
//! like a plugin's file. One with mistakes changes nothing.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::eyes::{Seen, Watched};
use super::settling::Settling;
use super::stamp::Stamp;
use super::terms::Terms;
use crate::config::{Config, ConfigError};

/// What the operator says, as it was last read.
pub(super) struct Settings {
    file: PathBuf,
    config: Settling<Stamp>,
    terms: Arc<Terms>,
}

/// What came of reading it again.
#[derive(Debug)]
pub(super) enum Reread {
    /// It says the same.
    Same,
    /// It says something else; `restart`: a part of that holds from the next start on.
    Changed { restart: bool },
    /// It has mistakes.
    Bad(ConfigError),
}

impl Settings {
    /// It has not been seen yet, so that a change is not missed that came between reading and following it.
    pub(super) fn new(terms: Arc<Terms>, watched: &Watched, now: Instant) -> Self {
        Self { file: watched.config.clone(), config: Settling::new(None, now), terms }
    }

    /// What holds now.
    pub(super) fn terms(&self) -> &Arc<Terms> {
        &self.terms
    }

    pub(super) fn see(&mut self, seen: &Seen, now: Instant) {
        if let Some(config) = seen.config {
            self.config.see(config, now);
        }
    }

    /// When it is time to read something again.
    pub(super) fn next(&self) -> Option<Instant> {
        (!self.config.is_handled()).then(|| self.config.settles())
    }

    /// Reads what has changed.
    pub(super) async fn reread(&mut self, now: Instant) -> Reread {
        if !self.config.is_due(now) {
            return Reread::Same;
        }
        self.config.handled(self.config.seen());
        let (file, folder) = (self.file.clone(), self.terms.config.folder.clone());
        match spawn_blocking(move || Config::read(&file, folder)).await {
            Ok(Ok(config)) if config == *self.terms.config => Reread::Same,
            Ok(Ok(config)) => {
                let restart = !config.agrees_until_restart(&self.terms.config);
                self.terms = Arc::new(self.terms.with(config));
                Reread::Changed { restart }
            }
            Ok(Err(error)) => Reread::Bad(error),
            Err(_) => Reread::Same,
        }
    }
}
