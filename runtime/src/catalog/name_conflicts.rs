//! Which plugin gets a name or URI that several plugins list.
//!
//! A name or URI that names a plugin belongs to that plugin and is rejected for all others. Any other goes to the
//! plugin of the higher rank: the operator's file names it, or it was approved. Of plugins to which the operator gave
//! one prefix, the one of that very name ranks highest. Between two that the operator names the first one by name does,
//! since somebody knows both; between two of whom nothing is known neither does, since all else would be a guess that
//! an attacker can prepare for. Keys that could be taken for one another are one, and a template has all that begins as
//! it does.

use std::collections::HashMap;
use std::sync::Arc;

use super::item_list::Item;
use super::name_owners::{NameOwners, Rank, Taken};
use super::plugin_entry::RejectedItem;
use crate::plugin::ItemKind;

/// One plugin that wants something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Contender<'e> {
    rank: Rank,
    plugin: &'e str,
    key: &'e str,
}

/// The best contender for one name or URI, and the best one of another plugin.
#[derive(Debug, Clone, Copy, Default)]
struct TopTwo<'e> {
    first: Option<Contender<'e>>,
    second: Option<Contender<'e>>,
}

/// Resolves the conflicts of one snapshot, and collects what is rejected.
pub(super) struct NameConflicts<'e> {
    owners: &'e NameOwners,
    /// What plugins may not have, by plugin.
    pub(super) rejected: HashMap<String, Vec<RejectedItem>>,
}

/// Which plugin may answer for a URI, by how it looks; nobody, where nothing says whose it is.
pub(super) type UriOwners = HashMap<String, Option<String>>;

/// An item with what decides about it.
struct RankedItem<'e, T> {
    item: &'e Arc<T>,
    rank: Rank,
    form: String,
}

impl<'e> TopTwo<'e> {
    fn add(&mut self, one: Contender<'e>) {
        let better = |known: Contender<'_>| (one.rank, known.plugin) > (known.rank, one.plugin);
        match self.first {
            Some(first) if first.plugin == one.plugin => {
                if one.rank > first.rank {
                    self.first = Some(one);
                }
            }
            Some(first) if !better(first) => match self.second {
                Some(second) if !better(second) => {}
                _ => self.second = Some(one),
            },
            first => {
                self.first = Some(one);
                self.second = first;
            }
        }
    }

    fn join(mut self, others: &Self) -> Self {
        [others.first, others.second].into_iter().flatten().for_each(|other| self.add(other));
        self
    }

    /// Who gets it.
    fn winner<T: Item>(&self) -> Option<&'e str> {
        let first = self.first?;
        let loses = self.second.and_then(|second| first.loses::<T>(&second));
        if loses.is_some() { None } else { Some(first.plugin) }
    }

    /// The best one of another plugin.
    fn against(&self, plugin: &str) -> Option<Contender<'e>> {
        self.first.filter(|first| first.plugin != plugin).or(self.second)
    }
}

impl<'e> Contender<'e> {
    fn of<T: Item>(item: &'e T, rank: Rank) -> Self {
        Self { rank, plugin: item.owner(), key: item.key() }
    }

    /// Why it does not get what the other wants too.
    fn loses<T: Item>(&self, other: &Self) -> Option<Taken> {
        let (word, key, plugin) = (T::KIND.key_word(), self.key, other.plugin);
        let same = match (key == other.key, T::KIND) {
            (true, _) => format!("the {word} `{key}` belongs to the plugin `{plugin}`"),
            (false, ItemKind::Template) => {
                format!("the {word} `{key}` has URIs of `{}` of the plugin `{plugin}`", other.key)
            }
            (false, _) => format!("the {word} `{key}` looks like `{}` of the plugin `{plugin}`", other.key),
        };
        let why = match (self.rank, other.rank) {
            (own, others) if own > others => return None,
            (own, others) if own < others => format!("{same}, which {}", reason(others)),
            (Rank::Unknown | Rank::Approved, _) => {
                let own = self.plugin;
                let why = format!(
                    "{same} with the same right; name one of them in plugport.toml, by a section [plugins.{own}] or \
                     [plugins.{plugin}]"
                );
                return Some(Taken { owner: None, why });
            }
            _ if self.plugin < other.plugin => return None,
            _ => format!("{same}, which comes first by name"),
        };
        Some(Taken { owner: Some(plugin.to_owned()), why })
    }
}

fn reason(rank: Rank) -> &'static str {
    match rank {
        Rank::Owner | Rank::Namesake => "it names",
        Rank::Named => "the configuration names",
        Rank::Approved | Rank::Unknown => "was approved",
    }
}

impl<'e> NameConflicts<'e> {
    pub(super) fn new(owners: &'e NameOwners) -> Self {
        Self { owners, rejected: HashMap::new() }
    }

    /// Which tools or prompts are published.
    pub(super) fn names<T: Item>(&mut self, listed: impl Iterator<Item = &'e Arc<T>>) -> Vec<Arc<T>> {
        let ranked = self.ranked(listed);
        self.resolve(ranked, |_| None).0
    }

    /// Which templates are published.
    pub(super) fn templates<T: Item>(
        &mut self,
        listed: impl Iterator<Item = &'e Arc<T>>,
    ) -> (Vec<Arc<T>>, PrefixIndex<'e>) {
        let ranked = self.ranked(listed);
        let prefixes = PrefixIndex::new(ranked.iter().map(|one| {
            let contender = Contender::of(&**one.item, one.rank);
            (one.form.clone(), contender)
        }));
        let mut passed = Vec::new();
        for RankedItem { item, rank, form } in ranked {
            let own = Contender::of(&**item, rank);
            let other = prefixes.around(&form).and_then(|around| around.against(own.plugin));
            match other.and_then(|other| own.loses::<T>(&other)) {
                None => passed.push(Arc::clone(item)),
                Some(taken) => self.reject(&**item, taken),
            }
        }
        (passed, prefixes)
    }

    /// Which resources are published beside these templates, and who may answer for URIs that look like theirs.
    pub(super) fn resources<T: Item>(
        &mut self,
        listed: impl Iterator<Item = &'e Arc<T>>,
        templates: &PrefixIndex<'e>,
    ) -> (Vec<Arc<T>>, UriOwners) {
        let ranked = self.ranked(listed);
        let (passed, groups) = self.resolve(ranked, |one| {
            let own = Contender::of(&**one.item, one.rank);
            let template = templates.above(&one.form).and_then(|above| above.against(own.plugin));
            let template = template.filter(|template| template.rank > own.rank)?;
            let (key, of, plugin) = (own.key, template.key, template.plugin);
            let why = format!(
                "the URI `{key}` is one of `{of}` of the plugin `{plugin}`, which {}",
                reason(template.rank)
            );
            Some(Taken { owner: Some(plugin.to_owned()), why })
        });
        let listed = groups.into_iter().map(|(form, group)| (form, group.winner::<T>().map(str::to_owned)));
        (passed, listed.collect())
    }

    /// What of this does not belong to other plugins by what it says.
    fn ranked<T: Item>(&mut self, listed: impl Iterator<Item = &'e Arc<T>>) -> Vec<RankedItem<'e, T>> {
        let mut ranked = Vec::new();
        for item in listed {
            match self.owners.check(item.owner(), T::KIND, item.key()) {
                Ok((rank, form)) => ranked.push(RankedItem { item, rank, form: form.text }),
                Err(taken) => self.reject(&**item, taken),
            }
        }
        ranked
    }

    fn resolve<T: Item>(
        &mut self,
        ranked: Vec<RankedItem<'e, T>>,
        overruled: impl Fn(&RankedItem<'e, T>) -> Option<Taken>,
    ) -> (Vec<Arc<T>>, HashMap<String, TopTwo<'e>>) {
        let mut groups: HashMap<String, TopTwo<'e>> = HashMap::with_capacity(ranked.len());
        let mut remaining = Vec::with_capacity(ranked.len());
        for one in ranked {
            match overruled(&one) {
                Some(taken) => self.reject(&**one.item, taken),
                None => {
                    let contender = Contender::of(&**one.item, one.rank);
                    groups.entry(one.form.clone()).or_default().add(contender);
                    remaining.push(one);
                }
            }
        }
        let mut passed = Vec::with_capacity(remaining.len());
        for RankedItem { item, rank, form } in remaining {
            let own = Contender::of(&**item, rank);
            let other = groups.get(&form).and_then(|group| group.against(own.plugin));
            match other.and_then(|other| own.loses::<T>(&other)) {
                None => passed.push(Arc::clone(item)),
                Some(taken) => self.reject(&**item, taken),
            }
        }
        (passed, groups)
    }

    /// Says of what was rejected for another reason that it would be another plugin's anyway.
    pub(super) fn explain(&mut self, plugin: &str, rejected: &RejectedItem) {
        let Some(key) = rejected.key.as_deref() else { return };
        if let Err(Taken { owner, why }) = self.owners.check(plugin, rejected.kind, key) {
            let explained = RejectedItem { why, owner, ..rejected.clone() };
            self.rejected.entry(plugin.to_owned()).or_default().push(explained);
        }
    }

    fn reject<T: Item>(&mut self, item: &T, taken: Taken) {
        self.rejected.entry(item.owner().to_owned()).or_default().push(RejectedItem::name_taken(item, taken));
    }
}

/// The literal prefixes of templates, so that those with URIs in common are found quickly, however many there are.
pub(super) struct PrefixIndex<'e> {
    /// In order, so that all that begins with a text follows it.
    nodes: Vec<PrefixNode<'e>>,
}

struct PrefixNode<'e> {
    prefix: String,
    /// The longest other one that this one begins with.
    parent: Option<usize>,
    /// Who wants this or a beginning of it.
    above: TopTwo<'e>,
    /// Who wants this or something that begins with it.
    below: TopTwo<'e>,
}

impl<'e> PrefixIndex<'e> {
    fn new(ranked: impl Iterator<Item = (String, Contender<'e>)>) -> Self {
        let mut found: HashMap<String, TopTwo<'e>> = HashMap::new();
        ranked.for_each(|(prefix, contender)| found.entry(prefix).or_default().add(contender));
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut prefixes = Self { nodes: Vec::with_capacity(found.len()) };
        for (prefix, own) in found {
            let parent = prefixes.deepest(prefixes.nodes.len().checked_sub(1), &prefix);
            let above =
                parent.and_then(|at| prefixes.nodes.get(at)).map_or(own, |node| own.join(&node.above));
            prefixes.nodes.push(PrefixNode { prefix, parent, above, below: own });
        }
        for at in (0..prefixes.nodes.len()).rev() {
            let Some((below, parent)) = prefixes.nodes.get(at).map(|node| (node.below, node.parent)) else {
                continue;
            };
            if let Some(parent) = parent.and_then(|parent| prefixes.nodes.get_mut(parent)) {
                parent.below = parent.below.join(&below);
            }
        }
        prefixes
    }

    /// From this one upwards, the first that a text begins with.
    fn deepest(&self, from: Option<usize>, text: &str) -> Option<usize> {
        let mut at = from;
        while let Some(node) = at.and_then(|at| self.nodes.get(at)) {
            if text.starts_with(&node.prefix) {
                return at;
            }
            at = node.parent;
        }
        None
    }

    fn find(&self, text: &str) -> Option<&PrefixNode<'e>> {
        let after = self.nodes.partition_point(|node| node.prefix.as_str() <= text);
        self.deepest(after.checked_sub(1), text).and_then(|at| self.nodes.get(at))
    }

    /// Who wants what a text begins with, or the text itself.
    fn above(&self, text: &str) -> Option<&TopTwo<'e>> {
        self.find(text).map(|node| &node.above)
    }

    /// Who wants what this lead begins with, or what begins with it.
    fn around(&self, prefix: &str) -> Option<TopTwo<'e>> {
        self.find(prefix).map(|node| node.above.join(&node.below))
    }
}

#[cfg(test)]
mod tests;
