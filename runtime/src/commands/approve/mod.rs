//! `plugport approve`: shows what is different in plugins from what was approved, and writes down that it is accepted.
//!
//! A plugin is loaded as `check` loads it, with nothing granted, since it is not approved yet. What is written down is what
//! was listed and shown, with the digest of the very bytes that listed it, so a file that is replaced meanwhile gains nothing.

mod names;
mod review;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};

use super::compiler::compiler;
use super::{Failure, console, unknown};
use crate::catalog::Lock;
use crate::cli;
use crate::config::{self, Config};
use crate::observe::{Audit, Escaped};
use crate::plugin::Loader;
use crate::reload::{Candidate, scan};
use crate::sandbox::Store;
use review::{Found, Review};

pub(super) async fn run(args: cli::Approve) -> Result<ExitCode, Failure> {
    let config = args.source.configuration()?;
    let old = read(&config.lock)?;
    let wanted = args.plugin.as_deref();
    let (candidates, files) = candidates(&config, &old, wanted)?;
    let loader = loader(&config, args.granted)?;
    let review = Review { loader: &loader, config: &config, files: &files, old: &old, granted: args.granted };
    let mut session = Session { new: old.clone(), yes: args.yes, pending: 0, failed: 0 };
    for candidate in &candidates {
        session.settle(review.look(candidate).await).await?;
    }
    for gone in gone(&old, &candidates, wanted) {
        session.forget(gone).await?;
    }
    session.finish(&old, &config.lock)
}

fn read(lock: &Path) -> Result<Lock, Failure> {
    Lock::read(lock).map_err(|error| Failure::Usage(error.into()))
}

/// The files that are meant, and all files.
fn candidates(
    config: &Config,
    old: &Lock,
    wanted: Option<&str>,
) -> Result<(Vec<Candidate>, Vec<PathBuf>), Failure> {
    let found = scan(&config.folder).map_err(|error| Failure::Usage(error.into()))?;
    let files = found.iter().map(|candidate| candidate.path.clone()).collect();
    let Some(wanted) = wanted else { return Ok((found, files)) };
    let names: Vec<String> = found.iter().filter_map(|candidate| candidate.name.clone().ok()).collect();
    let meant = |candidate: &Candidate| candidate.name.as_deref() == Ok(wanted);
    let meant: Vec<_> = found.into_iter().filter(meant).collect();
    if meant.is_empty() && old.get(wanted).is_none() {
        let none = format!("there is no plugin `{wanted}` in {}", config.folder.display());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(Failure::Usage(anyhow!(unknown(&none, "there are", wanted, &names))));
    }
    Ok((meant, files))
}

/// What was approved and is not in the folder any more.
fn gone<'l>(old: &'l Lock, candidates: &[Candidate], wanted: Option<&str>) -> Vec<&'l str> {
    let is_there = |name: &str| candidates.iter().any(|candidate| candidate.name.as_deref() == Ok(name));
    old.names().filter(|name| wanted.is_none_or(|wanted| wanted == *name) && !is_there(name)).collect()
}

fn loader(config: &Config, granted: bool) -> Result<Loader, Failure> {
    let store = if granted {
        Store::of_state(config.state.clone())
    } else {
        Store::in_memory().context("cannot keep anything in memory")?
    };
    // Nobody is asked from here, so nothing waits for an answer.
    let server = config::Server { parked_calls: 0, kept_instances: 0, ..config.server.clone() };
    Ok(Loader::new(&server, store, Audit::none(), compiler(config)).context("cannot start")?)
}

/// What came of it so far.
struct Session {
    new: Lock,
    /// Whether nobody is to be asked.
    yes: bool,
    /// Differences that were not accepted.
    pending: usize,
    /// Plugins that could not be loaded.
    failed: usize,
}

impl Session {
    /// Shows a plugin and asks.
    async fn settle(&mut self, found: Found) -> Result<(), Failure> {
        match found {
            Found::Same(notes) => notes.iter().for_each(|note| console::print(note)),
            Found::Unusable { file, why } => {
                self.failed += 1;
                console::print(&format!("{}: cannot be approved", Escaped(&file)));
                console::print(&format!("  fault: {}", Escaped(&why)));
            }
            Found::Different { name, lines, now } => {
                console::print(&lines.join("\n"));
                if self.accepts(&name).await? {
                    self.new.approve(&name, now);
                }
            }
        }
        Ok(())
    }

    /// Shows that a plugin is gone, and asks.
    async fn forget(&mut self, name: &str) -> Result<(), Failure> {
        console::print(&format!(
            "{} is not in the folder any more; its approval would be forgotten",
            Escaped(name)
        ));
        if self.accepts(name).await? {
            self.new.forget(name);
        }
        Ok(())
    }

    /// Whether what was shown of a plugin is accepted.
    async fn accepts(&mut self, name: &str) -> Result<bool, Failure> {
        let question = format!("Accept {}?", Escaped(name));
        let accepted = self.yes
            || std::io::stdin().is_terminal()
                && tokio::task::spawn_blocking(move || console::ask(&question))
                    .await
                    .context("cannot ask")?;
        self.pending += usize::from(!accepted);
        Ok(accepted)
    }

    /// Writes down what was accepted.
    fn finish(self, old: &Lock, file: &Path) -> Result<ExitCode, Failure> {
        if self.new != *old {
            // Someone may have thought about it for a while.
            self.new.write(old, file).map_err(anyhow::Error::new)?;
            console::print(&format!("wrote {}", file.display()));
        } else if self.pending + self.failed == 0 {
            console::print("nothing has changed since it was approved");
        }
        if self.pending > 0 {
            let hint = match std::io::stdin().is_terminal() {
                true => "",
                false => "; run `plugport approve` on a terminal, or with --yes",
            };
            console::remark(&format!("what was not accepted is not approved{hint}"));
        }
        Ok(if self.pending + self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
