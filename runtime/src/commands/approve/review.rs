//! Compares one plugin with its approval.

use std::path::{Path, PathBuf};

use plugport_common::FILE_FOLDERS;

use super::super::check::APPS_CALL_TOOLS;
use super::name_conflicts;
use crate::approval::{
    ApprovedPlugin, DiffKind, DiffSubject, Difference, Lockfile, compare, item_descriptor,
};
use crate::catalog::{Item as _, PluginEntry, RejectedItem};
use crate::config::{Config, PluginConfig};
use crate::observe::{Escaped, Redactor};
use crate::plugin::{ComponentFile, ItemKind, Loader};
use crate::watch::CandidateFile;

/// A plugin compared with its approval.
pub(super) enum ReviewOutcome {
    /// Nothing differs; there may be notes on its names.
    Same(Vec<String>),
    /// The differences in lines for people, and what would be approved.
    Different { name: String, lines: Vec<String>, now: ApprovedPlugin },
    /// The plugin cannot be approved; its approval stays as it is.
    Unusable { file: String, why: String },
}

/// What a review needs.
pub(super) struct Reviewer<'r> {
    pub(super) loader: &'r Loader,
    pub(super) config: &'r Config,
    /// All files of the folder, since each of them claims a name.
    pub(super) files: &'r [PathBuf],
    pub(super) old: &'r Lockfile,
    /// Whether plugins have their grants while they are listed.
    pub(super) granted: bool,
}

impl Reviewer<'_> {
    /// Loads a plugin and compares it with its approval.
    pub(super) async fn review(&self, candidate: &CandidateFile) -> ReviewOutcome {
        match self.compare(candidate).await {
            Ok(outcome) => outcome,
            Err(why) => ReviewOutcome::Unusable { file: candidate.path.display().to_string(), why },
        }
    }

    async fn compare(&self, candidate: &CandidateFile) -> Result<ReviewOutcome, String> {
        let Self { loader, config, files, old, granted } = *self;
        let name = candidate.name.as_ref().map_err(Clone::clone)?;
        let settings = config.plugin_with_sidecar(name, &candidate.path).map_err(in_a_line)?;
        let artifact = ComponentFile::read_any(&candidate.path, settings.limits.wasm_mib)
            .and_then(|artifact| artifact.check().map(|()| artifact));
        let artifact = artifact.map_err(in_a_line)?;
        let grants = settings.grants.describe_relative_to(config.lock.parent().unwrap_or(Path::new("")));
        let before = old.get(name);
        // For the same file with the same grants, the items that it lists only with grants have been approved already.
        let approved = before.filter(|before| !granted && before.matches(&artifact.digest, &grants));
        let redactor = settings.grants.config.secrets.redactor().clone();
        let (now, notes, entry) = match list(loader, name, artifact, settings, granted).await {
            Ok(entry) => {
                let owners = name_conflicts::owners(config, files, old, name);
                let (entry, conflicting) = entry.without_name_conflicts(&owners);
                let now = entry.to_approve(grants);
                let mut notes = name_conflicts::notes(&owners, name, &now, &conflicting, old);
                notes.extend(rejected_files(&entry));
                notes.extend(entry.has_apps().then(|| format!("note: {APPS_CALL_TOOLS}")));
                notes.extend(name_conflicts::newly_withheld(&owners, config, files, old, name));
                (now, notes, entry)
            }
            Err(ListingError { ungranted: true, .. }) if approved.is_some() => {
                return Ok(ReviewOutcome::Same(Vec::new()));
            }
            Err(ListingError { why, .. }) => return Err(redactor.text(&why).into_owned()),
        };
        // Without grants a plugin knows no secret, and text that looks like one is an accident.
        if granted && contains_secret(&now, &redactor) {
            let why = "lists one of its own secrets, which every client would read; remove the secret from the listing";
            return Err(why.to_owned());
        }
        let now = match approved {
            Some(before) => now.keeping(before),
            None => now,
        };
        let notes = notes.iter().map(|note| redactor.text(note).into_owned()).collect();
        Ok(different(&entry, before, now, notes))
    }
}

fn different(
    entry: &PluginEntry,
    before: Option<&ApprovedPlugin>,
    now: ApprovedPlugin,
    notes: Vec<String>,
) -> ReviewOutcome {
    let name = entry.plugin.name();
    let mut differences = compare(before, &now);
    differences.iter_mut().for_each(|difference| show_long_text(difference, entry));
    if differences.is_empty() {
        return ReviewOutcome::Same(notes.into_iter().map(|note| format!("{name}: {note}")).collect());
    }
    let headline = if before.is_some() { "has changed since it was approved" } else { "is new" };
    let lines = differences.iter().flat_map(Difference::in_lines).map(|line| format!("  {line}"));
    let notes = notes.into_iter().map(|note| format!("  {note}"));
    let lines = std::iter::once(format!("{name} {headline}")).chain(lines).chain(notes).collect();
    ReviewOutcome::Different { name: name.to_owned(), lines, now }
}

/// Shows the text of a file that the lockfile does not record.
fn show_long_text(difference: &mut Difference, entry: &PluginEntry) {
    let (DiffSubject::Item(ItemKind::Resource, uri), DiffKind::Added | DiffKind::Changed) =
        (&difference.subject, difference.how)
    else {
        return;
    };
    let at = entry.resources.binary_search_by(|resource| resource.key().cmp(uri)).ok();
    let file = at.and_then(|at| entry.resources.get(at)?.file.as_ref());
    if let Some(text) = file.and_then(|shipped| item_descriptor::unrecorded_text(&shipped.file)) {
        difference.show(&text);
    }
}

/// Notes on the files in the component that are not published, one escaped line each. An app that asks for more than it
/// is granted is among them, so the operator sees what it asks for before granting it.
fn rejected_files(entry: &PluginEntry) -> impl Iterator<Item = String> {
    let is_file = |rejected: &&RejectedItem| {
        let folder = rejected.name.split_once('/').map(|(folder, _)| folder);
        rejected.kind == ItemKind::Resource && folder.is_some_and(|folder| FILE_FOLDERS.contains(&folder))
    };
    let notes = entry.rejected.iter().filter(is_file);
    notes.map(|RejectedItem { name, why, .. }| {
        Escaped(&format!("note: {name} is not published: {why}")).to_string()
    })
}

/// Whether a text of the plugin, which would be written to the lockfile, has a secret in it.
fn contains_secret(now: &ApprovedPlugin, redactor: &Redactor) -> bool {
    now.texts().any(|text| redactor.text(text) != text)
}

/// Why a plugin's items could not be listed.
struct ListingError {
    why: String,
    /// Whether the reason may be that the plugin was listed without its grants.
    ungranted: bool,
}

async fn list(
    loader: &Loader,
    name: &str,
    artifact: ComponentFile,
    settings: PluginConfig,
    granted: bool,
) -> Result<PluginEntry, ListingError> {
    let ungranted = settings.grants.of_no_guest();
    let lacks_grants = !granted && settings.grants != ungranted;
    let grants = if granted { settings.grants.clone() } else { ungranted };
    let settings = PluginConfig { grants, ..settings };
    let loaded = loader.load(name, artifact, settings).await.map_err(|error| {
        let ungranted = lacks_grants && error.is_listing_failure();
        let hint = match ungranted {
            true => {
                format!(
                    "; it may need its grants to list its items: run `plugport approve --with-grants {name}`"
                )
            }
            false => String::new(),
        };
        ListingError { why: format!("{}{hint}", in_a_line(error)), ungranted }
    })?;
    // Validates the listing on another thread: a listing may be large, and other tasks should not wait for it.
    let validating = tokio::task::spawn_blocking(|| PluginEntry::validate(loaded));
    let unchecked = "could not be checked; please report it with the file";
    validating.await.map_err(|_| ListingError { why: unchecked.to_owned(), ungranted: false })
}

/// An error and its causes on one line.
fn in_a_line(error: impl std::error::Error + Send + Sync + 'static) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
