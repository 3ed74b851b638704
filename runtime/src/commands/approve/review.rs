//! One plugin, set against what was approved of it.

use std::path::{Path, PathBuf};

use super::name_conflicts;
use crate::approval::{ApprovedPlugin, Difference, Lockfile, compare};
use crate::catalog::PluginEntry;
use crate::config::{Config, Grants, PluginConfig};
use crate::observe::Redactor;
use crate::plugin::{ComponentFile, Loader};
use crate::watch::CandidateFile;

/// What a plugin is, compared with what was approved.
pub(super) enum ReviewOutcome {
    /// With what there is to say of its names all the same.
    Same(Vec<String>),
    /// What is different, for people, and all that is now.
    Different { name: String, lines: Vec<String>, now: ApprovedPlugin },
    /// Its approval stays as it is.
    Unusable { file: String, why: String },
}

/// By what plugins are reviewed.
pub(super) struct Reviewer<'r> {
    pub(super) loader: &'r Loader,
    pub(super) config: &'r Config,
    /// All that lies in the folder, since each has a name.
    pub(super) files: &'r [PathBuf],
    pub(super) old: &'r Lockfile,
    /// Whether plugins get what they are granted.
    pub(super) granted: bool,
}

impl Reviewer<'_> {
    /// Loads a plugin, with what it is granted only if that is wanted, and compares it.
    pub(super) async fn review(&self, candidate: &CandidateFile) -> ReviewOutcome {
        match self.compared(candidate).await {
            Ok(found) => found,
            Err(why) => ReviewOutcome::Unusable { file: candidate.path.display().to_string(), why },
        }
    }

    async fn compared(&self, candidate: &CandidateFile) -> Result<ReviewOutcome, String> {
        let Self { loader, config, files, old, granted } = *self;
        let name = candidate.name.as_ref().map_err(Clone::clone)?;
        let settings = config.plugin_with_sidecar(name, &candidate.path).map_err(in_a_line)?;
        let artifact = ComponentFile::read_any(&candidate.path, settings.limits.wasm_mib)
            .and_then(|artifact| artifact.check().map(|()| artifact));
        let artifact = artifact.map_err(in_a_line)?;
        let words = settings.grants.describe_relative_to(config.lock.parent().unwrap_or(Path::new("")));
        let before = old.get(name);
        // The same file with the same grants: what it lists with them alone has been approved already.
        let kept = before.filter(|before| !granted && before.matches(&artifact.digest, &words));
        let redactor = settings.grants.config.secrets.redactor().clone();
        let (now, notes) = match list(loader, name, artifact, settings, granted).await {
            Ok(entry) => {
                let owners = name_conflicts::owners(config, files, old, name);
                let (entry, taken) = entry.without_name_conflicts(&owners);
                let now = entry.to_approve(words);
                let mut notes = name_conflicts::notes(&owners, name, &now, &taken, old);
                notes.extend(name_conflicts::held_with(&owners, config, files, old, name));
                (now, notes)
            }
            Err(ListingError { ungranted: true, .. }) if kept.is_some() => {
                return Ok(ReviewOutcome::Same(Vec::new()));
            }
            Err(ListingError { why, .. }) => return Err(redactor.text(&why).into_owned()),
        };
        // Without its grants it knows none, and what looks like one is an accident.
        if granted && tells_secret(&now, &redactor) {
            let why = "says a secret of its own in what it lists, which everyone would read; take the secret from it";
            return Err(why.to_owned());
        }
        let now = match kept {
            Some(before) => now.keeping(before),
            None => now,
        };
        let notes = notes.iter().map(|note| redactor.text(note).into_owned()).collect();
        Ok(different(name, before, now, notes))
    }
}

fn different(
    name: &str,
    before: Option<&ApprovedPlugin>,
    now: ApprovedPlugin,
    notes: Vec<String>,
) -> ReviewOutcome {
    let differences = compare(before, &now);
    if differences.is_empty() {
        return ReviewOutcome::Same(notes.into_iter().map(|note| format!("{name}: {note}")).collect());
    }
    let headline = if before.is_some() { "has changed since it was approved" } else { "is new" };
    let lines = differences.iter().flat_map(Difference::in_lines).map(|line| format!("  {line}"));
    let notes = notes.into_iter().map(|note| format!("  {note}"));
    let lines = std::iter::once(format!("{name} {headline}")).chain(lines).chain(notes).collect();
    ReviewOutcome::Different { name: name.to_owned(), lines, now }
}

/// Whether the words of a plugin, which are to be committed, have a secret in them.
fn tells_secret(now: &ApprovedPlugin, redactor: &Redactor) -> bool {
    now.says().any(|says| redactor.text(says) != says)
}

/// Why a plugin did not tell what it lists.
struct ListingError {
    why: String,
    /// That may be for want of what it is granted.
    ungranted: bool,
}

async fn list(
    loader: &Loader,
    name: &str,
    artifact: ComponentFile,
    settings: PluginConfig,
    granted: bool,
) -> Result<PluginEntry, ListingError> {
    let lacks_grants = !granted && settings.grants != Grants::default();
    let grants = if granted { settings.grants.clone() } else { Grants::default() };
    let settings = PluginConfig { grants, ..settings };
    let loaded = loader.load(name, artifact, settings).await.map_err(|error| {
        let ungranted = lacks_grants && error.is_listing_failure();
        let hint = match ungranted {
            true => {
                format!(
                    "; it may need what it is granted for that: run `plugport approve --with-grants {name}`"
                )
            }
            false => String::new(),
        };
        ListingError { why: format!("{}{hint}", in_a_line(error)), ungranted }
    })?;
    // A plugin may describe a lot; other tasks should not wait while it is read.
    let validating = tokio::task::spawn_blocking(|| PluginEntry::validate(loaded));
    let unchecked = "could not be checked; please report it with the file";
    validating.await.map_err(|_| ListingError { why: unchecked.to_owned(), ungranted: false })
}

/// An error with its causes.
fn in_a_line(error: impl std::error::Error + Send + Sync + 'static) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
