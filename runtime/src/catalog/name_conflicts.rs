//! Which plugin gets a name or URI that several plugins list.
//!
//! A name or URI that names a plugin belongs to that plugin and is rejected for all others. Any other goes to the
//! plugin of the higher rank: the operator's file names it, or it was approved. Of plugins to which the operator gave
//! one prefix, the plugin with that name ranks highest. Of two plugins that the operator names, the first one by name
//! gets it. Of two other plugins of one rank neither gets it, since an attacker could prepare for every other rule.
//! Keys that can be confused count as one, and a template covers everything that begins like it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::item_list::Item;
use super::name_owners::{NameOwners, OwnedByOther, Rank};
use super::plugin_entry::RejectedItem;
use crate::plugin::ItemKind;

/// One plugin that lists a name or URI.
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
    /// Rejected items, by plugin.
    pub(super) rejected: HashMap<String, Vec<RejectedItem>>,
    /// Wholes of which a part is rejected, each with its plugin.
    incomplete: HashSet<(String, String)>,
}

/// The plugin that may serve a listed URI, by the URI's canonical form; `None` where no plugin gets it.
pub(super) type UriOwners = HashMap<String, Option<String>>;

/// An item with its plugin's rank and its canonical form.
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

    /// The plugin that gets the name or URI.
    fn winner<T: Item>(&self) -> Option<&'e str> {
        let first = self.first?;
        let loses = self.second.and_then(|second| first.loses::<T>(&second));
        if loses.is_some() { None } else { Some(first.plugin) }
    }

    /// The best contender of another plugin.
    fn against(&self, plugin: &str) -> Option<Contender<'e>> {
        self.first.filter(|first| first.plugin != plugin).or(self.second)
    }
}

impl<'e> Contender<'e> {
    fn of<T: Item>(item: &'e T, rank: Rank) -> Self {
        Self { rank, plugin: item.owner(), key: item.key() }
    }

    /// Why it loses against `other`; `None` if it does not.
    fn loses<T: Item>(&self, other: &Self) -> Option<OwnedByOther> {
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
                return Some(OwnedByOther { owner: None, why });
            }
            _ if self.plugin < other.plugin => return None,
            _ => format!("{same}, which comes first by name"),
        };
        Some(OwnedByOther { owner: Some(plugin.to_owned()), why })
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
        Self { owners, rejected: HashMap::new(), incomplete: HashSet::new() }
    }

    /// The tools or prompts that are published.
    pub(super) fn names<T: Item>(&mut self, listed: impl Iterator<Item = &'e Arc<T>>) -> Vec<Arc<T>> {
        let ranked = self.ranked(listed);
        self.resolve(ranked, |_| None).0
    }

    /// The templates that are published.
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
                Some(owned) => self.reject(&**item, owned),
            }
        }
        (passed, prefixes)
    }

    /// The resources that are published beside these templates, and the plugins that may serve URIs that look like
    /// theirs.
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
            Some(OwnedByOther { owner: Some(plugin.to_owned()), why })
        });
        let listed = groups.into_iter().map(|(form, group)| (form, group.winner::<T>().map(str::to_owned)));
        (self.whole(passed), listed.collect())
    }

    /// The items whose keys do not name another plugin; rejects the others.
    fn ranked<T: Item>(&mut self, listed: impl Iterator<Item = &'e Arc<T>>) -> Vec<RankedItem<'e, T>> {
        let mut ranked = Vec::new();
        for item in listed {
            match self.owners.check(item.owner(), T::KIND, item.key()) {
                Ok((rank, form)) => ranked.push(RankedItem { item, rank, form: form.text }),
                Err(owned) => self.reject(&**item, owned),
            }
        }
        ranked
    }

    fn resolve<T: Item>(
        &mut self,
        ranked: Vec<RankedItem<'e, T>>,
        overruled: impl Fn(&RankedItem<'e, T>) -> Option<OwnedByOther>,
    ) -> (Vec<Arc<T>>, HashMap<String, TopTwo<'e>>) {
        let mut groups: HashMap<String, TopTwo<'e>> = HashMap::with_capacity(ranked.len());
        let mut remaining = Vec::with_capacity(ranked.len());
        for one in ranked {
            match overruled(&one) {
                Some(owned) => self.reject(&**one.item, owned),
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
                Some(owned) => self.reject(&**item, owned),
            }
        }
        (passed, groups)
    }

    /// Notes for an item that was rejected for another reason that its key belongs to another plugin.
    pub(super) fn explain(&mut self, plugin: &str, rejected: &RejectedItem) {
        let Some(key) = rejected.key.as_deref() else { return };
        if let Err(OwnedByOther { owner, why }) = self.owners.check(plugin, rejected.kind, key) {
            let explained = RejectedItem { why, owner, ..rejected.clone() };
            self.rejected.entry(plugin.to_owned()).or_default().push(explained);
        }
    }

    /// The items whose wholes have no rejected part; rejects the others.
    fn whole<T: Item>(&mut self, items: Vec<Arc<T>>) -> Vec<Arc<T>> {
        let incomplete = std::mem::take(&mut self.incomplete);
        let is_whole = |item: &Arc<T>| {
            let whole = item.whole().map(|whole| (item.owner().to_owned(), whole.to_owned()));
            whole.is_none_or(|whole| !incomplete.contains(&whole))
        };
        let (whole, others): (Vec<_>, Vec<_>) = items.into_iter().partition(is_whole);
        for item in others {
            let rejected = RejectedItem::incomplete(&*item);
            self.rejected.entry(item.owner().to_owned()).or_default().push(rejected);
        }
        whole
    }

    fn reject<T: Item>(&mut self, item: &T, owned: OwnedByOther) {
        if let Some(whole) = item.whole() {
            self.incomplete.insert((item.owner().to_owned(), whole.to_owned()));
        }
        self.rejected
            .entry(item.owner().to_owned())
            .or_default()
            .push(RejectedItem::owned_by_other(item, owned));
    }
}

/// The literal prefixes of templates as a tree, so that templates with common URIs are found quickly.
pub(super) struct PrefixIndex<'e> {
    /// In order, so that all prefixes that begin with a text follow it.
    nodes: Vec<PrefixNode<'e>>,
}

struct PrefixNode<'e> {
    prefix: String,
    /// The longest other prefix with which this one begins.
    parent: Option<usize>,
    /// The contenders for this prefix and for prefixes of it.
    above: TopTwo<'e>,
    /// The contenders for this prefix and for longer ones that begin with it.
    below: TopTwo<'e>,
}

impl<'e> PrefixIndex<'e> {
    fn new(ranked: impl Iterator<Item = (String, Contender<'e>)>) -> Self {
        let mut by_prefix: HashMap<String, TopTwo<'e>> = HashMap::new();
        ranked.for_each(|(prefix, contender)| by_prefix.entry(prefix).or_default().add(contender));
        let mut by_prefix: Vec<_> = by_prefix.into_iter().collect();
        by_prefix.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut prefixes = Self { nodes: Vec::with_capacity(by_prefix.len()) };
        for (prefix, own) in by_prefix {
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

    /// From a node upwards, the first prefix of a text.
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

    /// The contenders for all prefixes of a text.
    fn above(&self, text: &str) -> Option<&TopTwo<'e>> {
        self.find(text).map(|node| &node.above)
    }

    /// The contenders for all prefixes of a prefix, and for those that begin with it.
    fn around(&self, prefix: &str) -> Option<TopTwo<'e>> {
        self.find(prefix).map(|node| node.above.join(&node.below))
    }
}

#[cfg(test)]
mod tests;
