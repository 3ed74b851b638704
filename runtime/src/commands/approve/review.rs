//! One plugin, set against what was approved of it.

use std::path::Path;

use crate::catalog::{Approved, Difference, Entry, Lock, compare};
use crate::config::{Config, Grants, PluginConfig};
use crate::observe::Mask;
use crate::plugin::{Artifact, LoadError, Loader};
use crate::reload::Candidate;

/// What a plugin is, compared with what was approved.
pub(super) enum Found {
    Same,
    /// What is different, for people, and all that is now.
    Different {
        name: String,
        lines: Vec<String>,
        now: Approved,
    },
    /// Its approval stays as it is.
    Unusable {
        file: String,
        why: String,
    },
}

/// Loads a plugin, with what it is granted only if that is wanted, and compares it.
pub(super) async fn review(
    loader: &Loader,
    config: &Config,
    old: &Lock,
    candidate: &Candidate,
    granted: bool,
) -> Found {
    let unusable = |why: String| Found::Unusable { file: candidate.path.display().to_string(), why };
    let name = match &candidate.name {
        Ok(name) => name,
        Err(why) => return unusable(why.clone()),
    };
    let settings = config.plugin(name);
    let mask = settings.grants.secrets.mask().clone();
    let words = settings.grants.in_words_from(config.lock.parent().unwrap_or(Path::new("")));
    let now = match load(loader, name, &candidate.path, settings, granted).await {
        Ok(entry) => Approved::of(&entry, words),
        Err(why) => return unusable(mask.text(&why).into_owned()),
    };
    // Without its grants it knows none, and what looks like one is an accident.
    if granted && tells_secret(&now, &mask) {
        return unusable(
            "says a secret of its own in what it offers, which everyone would read; take the secret from it"
                .to_owned(),
        );
    }
    let before = old.get(name);
    let differences = compare(before, &now);
    if differences.is_empty() {
        return Found::Same;
    }
    let headline = if before.is_some() { "has changed since it was approved" } else { "is new" };
    let lines = std::iter::once(format!("{name} {headline}"))
        .chain(differences.iter().flat_map(Difference::in_lines).map(|line| format!("  {line}")))
        .collect();
    Found::Different { name: name.clone(), lines, now }
}

/// Whether the words of a plugin, which are to be committed, have a secret in them.
fn tells_secret(now: &Approved, mask: &Mask) -> bool {
    now.says().any(|says| mask.text(says) != says)
}

/// Why it could not be is one line.
async fn load(
    loader: &Loader,
    name: &str,
    file: &Path,
    settings: PluginConfig,
    granted: bool,
) -> Result<Entry, String> {
    let has_grants = settings.grants != Grants::default();
    let grants = if granted { settings.grants.clone() } else { Grants::default() };
    let settings = PluginConfig { grants, ..settings };
    let artifact = Artifact::read(file, settings.limits.wasm_mib);
    let artifact = artifact.map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
    let loaded = loader.load(name, artifact, settings).await.map_err(|error| {
        let unlisted = matches!(error, LoadError::Start(_) | LoadError::Refused(_));
        let why = format!("{:#}", anyhow::Error::new(error));
        match unlisted && has_grants && !granted {
            true => format!(
                "{why}; it may need what it is granted for that: run `plugport approve --granted {name}`"
            ),
            false => why,
        }
    })?;
    // A plugin may describe a lot; other tasks should not wait while it is read.
    let vetting = tokio::task::spawn_blocking(|| Entry::vet(loaded));
    vetting.await.map_err(|_| "could not be checked; please report it with the file".to_owned())
}
