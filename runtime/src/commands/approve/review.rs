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
    let settings = match config.plugin_at(name, &candidate.path) {
        Ok(settings) => settings,
        Err(error) => return unusable(in_a_line(error)),
    };
    let artifact = Artifact::read_any(&candidate.path, settings.limits.wasm_mib)
        .and_then(|artifact| artifact.check().map(|()| artifact));
    let artifact = match artifact {
        Ok(artifact) => artifact,
        Err(error) => return unusable(in_a_line(error)),
    };
    let words = settings.grants.in_words_from(config.lock.parent().unwrap_or(Path::new("")));
    let before = old.get(name);
    // The same file with the same grants: what it lists with them alone has been approved already.
    let kept = before.filter(|before| !granted && before.is_of(&artifact.digest, &words));
    let mask = settings.grants.secrets.mask().clone();
    let now = match list(loader, name, artifact, settings, granted).await {
        Ok(entry) => Approved::of(&entry, words),
        Err(Unlisted { ungranted: true, .. }) if kept.is_some() => return Found::Same,
        Err(Unlisted { why, .. }) => return unusable(mask.text(&why).into_owned()),
    };
    // Without its grants it knows none, and what looks like one is an accident.
    if granted && tells_secret(&now, &mask) {
        let why =
            "says a secret of its own in what it offers, which everyone would read; take the secret from it";
        return unusable(why.to_owned());
    }
    let now = match kept {
        Some(before) => now.keeping(before),
        None => now,
    };
    different(name, before, now)
}

fn different(name: &str, before: Option<&Approved>, now: Approved) -> Found {
    let differences = compare(before, &now);
    if differences.is_empty() {
        return Found::Same;
    }
    let headline = if before.is_some() { "has changed since it was approved" } else { "is new" };
    let lines = differences.iter().flat_map(Difference::in_lines).map(|line| format!("  {line}"));
    let lines = std::iter::once(format!("{name} {headline}")).chain(lines).collect();
    Found::Different { name: name.to_owned(), lines, now }
}

/// Whether the words of a plugin, which are to be committed, have a secret in them.
fn tells_secret(now: &Approved, mask: &Mask) -> bool {
    now.says().any(|says| mask.text(says) != says)
}

/// Why a plugin did not tell what it offers.
struct Unlisted {
    why: String,
    /// That may be for want of what it is granted.
    ungranted: bool,
}

async fn list(
    loader: &Loader,
    name: &str,
    artifact: Artifact,
    settings: PluginConfig,
    granted: bool,
) -> Result<Entry, Unlisted> {
    let lacks_grants = !granted && settings.grants != Grants::default();
    let grants = if granted { settings.grants.clone() } else { Grants::default() };
    let settings = PluginConfig { grants, ..settings };
    let loaded = loader.load(name, artifact, settings).await.map_err(|error| {
        let ungranted = lacks_grants && matches!(error, LoadError::Start(_) | LoadError::Refused(_));
        let hint = match ungranted {
            true => {
                format!("; it may need what it is granted for that: run `plugport approve --granted {name}`")
            }
            false => String::new(),
        };
        Unlisted { why: format!("{}{hint}", in_a_line(error)), ungranted }
    })?;
    // A plugin may describe a lot; other tasks should not wait while it is read.
    let vetting = tokio::task::spawn_blocking(|| Entry::vet(loaded));
    let unchecked = "could not be checked; please report it with the file";
    vetting.await.map_err(|_| Unlisted { why: unchecked.to_owned(), ungranted: false })
}

/// An error with its causes.
fn in_a_line(error: impl std::error::Error + Send + Sync + 'static) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
