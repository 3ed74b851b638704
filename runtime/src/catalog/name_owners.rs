//! Which plugin owns which names.
//!
//! Only the files of the folder and the operator's configuration decide: a plugin whose file is there owns its names
//! also while it is compiled, withheld or broken, so the order in which files come or load does not matter. A name
//! belongs to the plugin whose own name, or whose prefix from the configuration, is the longest beginning of the name.
//! Plugins whose names look alike are withheld until the configuration or an approval selects one.

use std::collections::{BTreeMap, HashMap};

use super::published_name;
use super::uri::{self, Canonical};
use crate::plugin::ItemKind;

/// A plugin whose file is in the folder, as far as names go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// Its name.
    pub plugin: String,
    /// The prefix of its names: its own name, or the prefix in the configuration.
    pub prefix: String,
    /// Whether the configuration names it.
    pub named: bool,
    /// Whether it was approved.
    pub approved: bool,
}

/// The rank of a plugin's claim to a name or URI; the highest rank wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Rank {
    /// Its file is there.
    #[default]
    Unknown,
    /// It was approved.
    Approved,
    /// The configuration names it.
    Named,
    /// The name begins with the plugin's own name or prefix.
    Owner,
    /// Several plugins have this prefix from the configuration, and it is this plugin's name.
    Namesake,
}

/// The owners of all names with one beginning.
#[derive(Debug)]
pub(super) struct Claim {
    /// The beginning, as its plugins write it.
    text: String,
    /// Several if the operator gave them one prefix.
    plugins: Vec<String>,
}

/// The owners of names, for one set of files and one configuration.
#[derive(Debug, Default)]
pub struct NameOwners {
    /// By the skeletons of the beginnings.
    claims: HashMap<String, Claim>,
    ranks: HashMap<String, Rank>,
    /// Plugins that are withheld, and why.
    withheld: HashMap<String, String>,
    prefixes: HashMap<String, String>,
}

/// Why an item is not its plugin's to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnedByOther {
    /// `None` if no plugin gets the name or URI.
    pub(super) owner: Option<String>,
    pub(super) why: String,
}

impl Claim {
    fn has(&self, plugin: &str) -> bool {
        self.plugins.iter().any(|owner| owner == plugin)
    }

    /// The rank of one of its plugins.
    fn rank(&self, plugin: &str) -> Rank {
        let shared = self.plugins.len() > 1;
        match shared && published_name::skeleton(plugin) == published_name::skeleton(&self.text) {
            true => Rank::Namesake,
            false => Rank::Owner,
        }
    }

    fn owner(&self) -> &str {
        self.plugins.first().map(String::as_str).unwrap_or_default()
    }
}

impl NameOwners {
    /// The owners with these plugins in the folder, in any order.
    #[must_use]
    pub fn new(claimants: impl IntoIterator<Item = Claimant>) -> Self {
        let claimants: BTreeMap<String, Claimant> =
            claimants.into_iter().map(|claimant| (claimant.plugin.clone(), claimant)).collect();
        let mut owners = Self { withheld: withheld(claimants.values()), ..Self::default() };
        let served = |claimant: &&Claimant| !owners.withheld.contains_key(&claimant.plugin);
        let (served, withheld): (Vec<_>, Vec<_>) = claimants.values().partition(served);
        // A plugin with another prefix still owns its own name, unless that is the prefix of another plugin.
        let renamed: Vec<_> = served.iter().copied().filter(|one| one.prefix != one.plugin).collect();
        for strength in [served.iter().map(prefix).collect(), withheld.iter().map(prefix).collect()] {
            owners.add_claims(strength);
        }
        owners.add_claims(renamed.into_iter().map(|one| (one.plugin.as_str(), one)).collect());
        for Claimant { plugin, prefix, named, approved } in claimants.into_values() {
            let rank = match (named, approved) {
                (true, _) => Rank::Named,
                (false, true) => Rank::Approved,
                (false, false) => Rank::Unknown,
            };
            owners.ranks.insert(plugin.clone(), rank);
            owners.prefixes.insert(plugin, prefix);
        }
        owners
    }

    /// Adds claims of one strength, except to what is claimed already.
    fn add_claims(&mut self, claims: Vec<(&str, &Claimant)>) {
        let mut added: HashMap<String, Claim> = HashMap::new();
        for (text, claimant) in claims.into_iter().filter(|(text, _)| !text.is_empty()) {
            let claim = added.entry(published_name::skeleton(text));
            let claim = claim.or_insert_with(|| Claim { text: text.to_owned(), plugins: Vec::new() });
            claim.plugins.push(claimant.plugin.clone());
        }
        for (skeleton, claim) in added {
            self.claims.entry(skeleton).or_insert(claim);
        }
    }

    /// Why a plugin is withheld as a whole, if it is.
    #[must_use]
    pub fn withheld(&self, plugin: &str) -> Option<&str> {
        self.withheld.get(plugin).map(String::as_str)
    }

    /// Whether a plugin of this name is in the folder.
    #[must_use]
    pub fn contains(&self, plugin: &str) -> bool {
        self.prefixes.contains_key(plugin)
    }

    /// The prefix of this plugin's names.
    #[must_use]
    pub fn prefix<'o>(&'o self, plugin: &'o str) -> &'o str {
        self.prefixes.get(plugin).map_or(plugin, String::as_str)
    }

    /// The rank of a plugin for names that nobody owns.
    pub(super) fn rank(&self, plugin: &str) -> Rank {
        self.ranks.get(plugin).copied().unwrap_or_default()
    }

    /// The claim to a key of this kind, if one covers it.
    pub(super) fn claim_of(&self, kind: ItemKind, key: &Canonical) -> Option<&Claim> {
        match kind {
            ItemKind::Tool | ItemKind::Prompt => self.find(&key.text, false),
            ItemKind::Resource | ItemKind::Template => key.names.iter().find_map(|one| self.find(one, true)),
        }
    }

    /// Whether a URI belongs to another plugin than this one.
    pub(super) fn is_owned_by_other(&self, plugin: &str, uri: &Canonical) -> bool {
        self.claim_of(ItemKind::Resource, uri).is_some_and(|claim| !claim.has(plugin))
    }

    /// The claim to the longest beginning of a text. The beginning may be the whole text only with `all`.
    fn find(&self, text: &str, all: bool) -> Option<&Claim> {
        let whole = if all { self.claims.get(text) } else { None };
        let mut ends = text.rmatch_indices('-').filter(|(at, _)| at + 1 < text.len());
        whole.or_else(|| ends.find_map(|(at, _)| self.claims.get(text.get(..at)?)))
    }

    /// The rank of a plugin's claim to a key, and the key's canonical form.
    ///
    /// # Errors
    /// When the key belongs to another plugin.
    pub(super) fn check(
        &self,
        plugin: &str,
        kind: ItemKind,
        key: &str,
    ) -> Result<(Rank, Canonical), OwnedByOther> {
        let form = canonical(kind, key);
        let rank = match self.claim_of(kind, &form) {
            None => self.rank(plugin),
            Some(claim) if claim.has(plugin) => claim.rank(plugin),
            Some(claim) => {
                let owner = Some(claim.owner().to_owned());
                return Err(OwnedByOther { owner, why: foreign(kind, key, claim) });
            }
        };
        Ok((rank, form))
    }

    /// Whether a key belongs to this plugin and not to that one.
    #[must_use]
    pub fn prefers(&self, owner: &str, other: &str, kind: ItemKind, key: &str) -> bool {
        self.claim_of(kind, &canonical(kind, key)).is_some_and(|claim| claim.has(owner) && !claim.has(other))
    }
}

/// The canonical form of a key; for a template, that of its literal beginning.
fn canonical(kind: ItemKind, key: &str) -> Canonical {
    match kind {
        ItemKind::Tool | ItemKind::Prompt => {
            Canonical { text: published_name::skeleton(key), names: Vec::new() }
        }
        ItemKind::Resource => uri::canonical(key),
        ItemKind::Template => uri::canonical_prefix(key.split('{').next().unwrap_or_default()),
    }
}

fn prefix<'c>(claimant: &&'c Claimant) -> (&'c str, &'c Claimant) {
    (claimant.prefix.as_str(), *claimant)
}

/// Why a key belongs to the plugin of a claim.
fn foreign(kind: ItemKind, key: &str, claim: &Claim) -> String {
    let (owner, text) = (claim.owner(), &claim.text);
    let word = kind.key_word();
    let prefix_note = match owner == text {
        true => String::new(),
        false => format!(", to which the configuration gives the prefix `{text}`"),
    };
    let has_prefix = match kind {
        ItemKind::Tool | ItemKind::Prompt => key.starts_with(&format!("{text}-")),
        // In the scheme or the host.
        ItemKind::Resource | ItemKind::Template => key.contains(text.as_str()),
    };
    match has_prefix {
        true => format!("the {word} `{key}` belongs to the plugin `{owner}`{prefix_note}"),
        false => format!("the {word} `{key}` looks like one of the plugin `{owner}`{prefix_note}"),
    }
}

/// Plugins whose names look alike, and why: all but those in the operator's file, else the only approved one.
fn withheld<'c>(claimants: impl Iterator<Item = &'c Claimant>) -> HashMap<String, String> {
    let mut alike: HashMap<String, Vec<&Claimant>> = HashMap::new();
    for claimant in claimants.filter(|claimant| !claimant.prefix.is_empty()) {
        alike.entry(published_name::plugin_skeleton(&claimant.prefix)).or_default().push(claimant);
    }
    let mut withheld = HashMap::new();
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let approved: Vec<_> = group.iter().filter(|one| one.approved).collect();
        let stays = |one: &Claimant| match (group.iter().any(|one| one.named), approved.as_slice()) {
            (true, _) => one.named,
            (false, [only]) => only.plugin == one.plugin,
            (false, _) => false,
        };
        for one in group.iter().filter(|one| !stays(one)) {
            let other = group.iter().find(|other| stays(other));
            let other = other.or_else(|| group.iter().find(|other| other.plugin != one.plugin));
            if let Some(other) = other {
                withheld.insert(one.plugin.clone(), alike_to(one, other, stays(other)));
            }
        }
    }
    withheld
}

fn alike_to(one: &Claimant, other: &Claimant, stays: bool) -> String {
    let Claimant { plugin, .. } = one;
    let name = match other.prefix == other.plugin {
        true => format!("that of the plugin `{}`", other.plugin),
        false => format!("the prefix `{}` of the plugin `{}`", other.prefix, other.plugin),
    };
    let own = format!("a `prefix` of its own under [plugins.{plugin}] of plugport.toml");
    match stays {
        true => format!("its name looks like {name}; rename its file, or give it {own}"),
        false => format!(
            "its name looks like {name}, and nothing says which of them is meant; remove one, or name the one that is \
             meant in plugport.toml, by a section [plugins.{plugin}] or [plugins.{}]",
            other.plugin
        ),
    }
}

#[cfg(test)]
mod tests;
