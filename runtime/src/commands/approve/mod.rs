//! `plugport approve`: shows how plugins differ from their approvals, and records what the operator accepts.
//!
//! A plugin is loaded as `check` loads it, without grants, since it is not approved yet. The record has the items that
//! were listed and shown, with the digest of the bytes that listed them, so replacing the file meanwhile achieves
//! nothing.

mod name_conflicts;
mod review;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};

use super::cached_compiler::compiler;
use super::{CommandError, console, unknown};
use crate::approval::Lockfile;
use crate::cli;
use crate::config::{self, Config};
use crate::observe::{Audit, Escaped};
use crate::plugin::Loader;
use crate::sandbox::KvDatabase;
use crate::watch::{CandidateFile, scan};
use review::{ReviewOutcome, Reviewer};

pub(super) async fn run(args: cli::Approve) -> Result<ExitCode, CommandError> {
    let config = args.source.configuration()?;
    let old = read(&config.lock)?;
    let selected = args.plugin.as_deref();
    let (candidates, files) = candidates(&config, &old, selected)?;
    if candidates.is_empty() && old.names().next().is_none() {
        console::print(&format!("there is no plugin in {}", config.folder.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let loader = loader(&config, args.with_grants)?;
    let reviewer =
        Reviewer { loader: &loader, config: &config, files: &files, old: &old, granted: args.with_grants };
    let (new, bytes) = (old.clone(), old.bytes());
    let mut approve_run = ApproveRun { new, bytes, yes: args.yes, pending: 0, failed: 0 };
    for candidate in &candidates {
        approve_run.process(reviewer.review(candidate).await).await?;
    }
    for name in missing_plugins(&old, &candidates, selected) {
        approve_run.forget(name).await?;
    }
    approve_run.finish(&old, &config.lock)
}

fn read(lock: &Path) -> Result<Lockfile, CommandError> {
    Lockfile::read(lock).map_err(|error| CommandError::Usage(error.into()))
}

/// The candidates to review, and all files of the folder.
fn candidates(
    config: &Config,
    old: &Lockfile,
    selected: Option<&str>,
) -> Result<(Vec<CandidateFile>, Vec<PathBuf>), CommandError> {
    let all = scan(&config.folder).map_err(|error| CommandError::Usage(error.into()))?;
    let files = all.iter().map(|candidate| candidate.path.clone()).collect();
    let Some(selected) = selected else { return Ok((all, files)) };
    let names: Vec<String> = all.iter().filter_map(|candidate| candidate.name.clone().ok()).collect();
    let is_selected = |candidate: &CandidateFile| candidate.name.as_deref() == Ok(selected);
    let candidates: Vec<_> = all.into_iter().filter(is_selected).collect();
    if candidates.is_empty() && old.get(selected).is_none() {
        let none = format!("there is no plugin `{selected}` in {}", config.folder.display());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(CommandError::Usage(anyhow!(unknown(&none, "there are", selected, &names))));
    }
    Ok((candidates, files))
}

/// Approved plugins whose files are not in the folder any more.
fn missing_plugins<'l>(
    old: &'l Lockfile,
    candidates: &[CandidateFile],
    selected: Option<&str>,
) -> Vec<&'l str> {
    let is_there = |name: &str| candidates.iter().any(|candidate| candidate.name.as_deref() == Ok(name));
    old.names().filter(|name| selected.is_none_or(|selected| selected == *name) && !is_there(name)).collect()
}

fn loader(config: &Config, granted: bool) -> Result<Loader, CommandError> {
    let store = if granted {
        KvDatabase::of_state(config.state_dir.clone())
    } else {
        KvDatabase::in_memory().context("cannot open a key-value store in memory")?
    };
    // There is no client, so no call is ever suspended.
    let server = config::ServerConfig { suspended_calls: 0, idle_instances: 0, ..config.server.clone() };
    Ok(Loader::new(&server, store, Audit::disabled(), compiler(config)).context("cannot start")?)
}

/// The decisions so far, and the next lockfile.
struct ApproveRun {
    new: Lockfile,
    /// About how many bytes it has.
    bytes: u64,
    /// Whether every difference is accepted without asking.
    yes: bool,
    /// Differences that were not accepted.
    pending: usize,
    /// Plugins that could not be loaded.
    failed: usize,
}

impl ApproveRun {
    /// Shows how a plugin differs, and asks whether to accept that.
    async fn process(&mut self, outcome: ReviewOutcome) -> Result<(), CommandError> {
        match outcome {
            ReviewOutcome::Same(notes) => notes.iter().for_each(|note| console::print(note)),
            ReviewOutcome::Unusable { file, why } => self.fail(&file, &why),
            ReviewOutcome::Different { name, lines, now } => {
                let bytes = match self.new.bytes_with(self.bytes, &name, &now) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        self.fail(&name, &error.to_string());
                        return Ok(());
                    }
                };
                console::print(&lines.join("\n"));
                if self.accepts(&name).await? {
                    self.new.approve(&name, now);
                    self.bytes = bytes;
                }
            }
        }
        Ok(())
    }

    /// Shows why a plugin cannot be approved.
    fn fail(&mut self, name: &str, why: &str) {
        self.failed += 1;
        console::print(&format!("{}: cannot be approved", Escaped(name)));
        console::print(&format!("  fault: {}", Escaped(why)));
    }

    /// Shows that a plugin is gone, and asks whether to forget its approval.
    async fn forget(&mut self, name: &str) -> Result<(), CommandError> {
        console::print(&format!(
            "{} is not in the folder any more; its approval would be forgotten",
            Escaped(name)
        ));
        if self.accepts(name).await? {
            self.new.forget(name);
        }
        Ok(())
    }

    /// Whether the operator accepts what was shown of a plugin.
    async fn accepts(&mut self, name: &str) -> Result<bool, CommandError> {
        let question = format!("Accept {}?", Escaped(name));
        let accepted = self.yes
            || std::io::stdin().is_terminal()
                && tokio::task::spawn_blocking(move || console::confirm(&question))
                    .await
                    .context("cannot ask")?;
        self.pending += usize::from(!accepted);
        Ok(accepted)
    }

    /// Writes the lockfile with what was accepted.
    fn finish(self, old: &Lockfile, file: &Path) -> Result<ExitCode, CommandError> {
        if self.new != *old {
            // `write` compares the file with `old`: it may have changed while the operator decided.
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
            console::eprint(&format!("what was not accepted is not approved{hint}"));
        }
        Ok(if self.pending + self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
